package docker

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"

	"rollbench/sandbox"
)

// Reap never touches what is not known to be a dead rollbench's: containers of other
// clients of the engine, ours of another machine, boot or pid namespace, and ours
// whose owner cannot be read.
func TestReapLeavesOthers(t *testing.T) {
	p := engine(t, Options{})
	dead := p.opt.Owner
	dead.Start--
	elsewhere := func(change func(*sandbox.Owner)) string { o := dead; change(&o); return o.String() }
	// None is started: to exist is enough.
	made := map[string]string{}
	for name, labels := range map[string]map[string]string{
		"no label":        nil,
		"owner only":      {labelOwner: dead.String()},
		"ours, no owner":  {labelOurs: "1"},
		"another's value": {labelOurs: "yes", labelOwner: dead.String()},
		"not readable":    {labelOurs: "1", labelOwner: "0/1/2/3/4"},
		"another machine": {labelOurs: "1", labelOwner: elsewhere(func(o *sandbox.Owner) { o.Machine = "x" })},
		"another boot":    {labelOurs: "1", labelOwner: elsewhere(func(o *sandbox.Owner) { o.Boot = "x" })},
		"another ns":      {labelOurs: "1", labelOwner: elsewhere(func(o *sandbox.Owner) { o.PidNS = "1" })},
		"living":          {labelOurs: "1", labelOwner: p.opt.Owner.String()},
		"dead":            {labelOurs: "1", labelOwner: dead.String()},
	} {
		c, err := p.engine.ContainerCreate(t.Context(), &container.Config{Image: testImage(), Cmd: []string{"true"}, Labels: labels}, nil, nil, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		made[name] = c.ID
		t.Cleanup(func() {
			if err := p.remove(context.Background(), c.ID); err != nil {
				t.Error(err)
			}
		})
	}
	removed, err := p.Reap(t.Context())
	if err != nil || len(removed) == 0 {
		t.Errorf("%q, %v", removed, err)
	}
	list, err := p.engine.ContainerList(t.Context(), container.ListOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, id := range made {
		there := slices.ContainsFunc(list, func(c container.Summary) bool { return c.ID == id })
		if there == (name == "dead") {
			t.Errorf("%s: there %t; removed %s", name, there, strings.Join(removed, ", "))
		}
	}
}
