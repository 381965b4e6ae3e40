package docker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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

// A container that a dead owner had asked for, and that the engine finishes only
// after the next start, is waited for and removed.
func TestReapWaitsForWhatIsBeingMade(t *testing.T) {
	dir := t.TempDir()
	p := engine(t, Options{Pending: dir})
	dead := p.opt.Owner
	dead.Start--
	name := containerName(t.Name())
	forget, err := engine(t, Options{Owner: dead, Pending: dir}).expect(name)
	if err != nil {
		t.Fatal(err)
	}
	living, err := p.expect(containerName("living"))
	if err != nil {
		t.Fatal(err)
	}
	made := make(chan error, 1)
	go func() {
		<-time.After(500 * time.Millisecond)
		_, err := p.engine.ContainerCreate(context.Background(), &container.Config{Image: testImage(), Cmd: []string{"true"},
			Labels: map[string]string{labelOurs: "1", labelOwner: dead.String()}}, nil, nil, nil, name)
		made <- err
	}()
	removed, err := p.Reap(t.Context())
	if err != nil || !strings.Contains(strings.Join(removed, " "), name) {
		t.Errorf("%q, %v", removed, err)
	}
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || !strings.Contains(left[0].Name(), "living") {
		t.Errorf("notes left: %v, %v", left, err)
	}
	if err := errors.Join(forget(nil), living(nil)); err != nil {
		t.Error(err)
	}
	// One that nobody makes any more: the note is old.
	if _, err := engine(t, Options{Owner: dead, Pending: dir}).expect(name); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, name+pendingEnd), old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Reap(t.Context()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("notes left: %v, %v", left, err)
	}
}

func TestPendingLeft(t *testing.T) {
	asked := time.Unix(1_700_000_000, 0)
	for passed, want := range map[time.Duration]time.Duration{
		0:                15 * time.Second,
		4 * time.Second:  11 * time.Second,
		time.Hour:        -3585 * time.Second, // it, or the clock, is an hour on
		-time.Hour:       15 * time.Second,    // the clock was set back
		15 * time.Second: 0,
	} {
		if got := pendingLeft(asked, asked.Add(passed)); got != want {
			t.Errorf("%v later: %v, want %v", passed, got, want)
		}
	}
}
