package docker

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"

	"rollbench/sandbox"
)

// dead is an owner whose pid lives, but as another process.
func dead(t testing.TB) sandbox.Owner {
	t.Helper()
	o, err := sandbox.ThisOwner()
	if err != nil {
		t.Fatal(err)
	}
	o.Start--
	return o
}

// mortal is an owner that lives until dies is called: another start on this machine,
// of a test that runs at the same time, would remove what a dead one has at once.
func mortal(t *testing.T) (o sandbox.Owner, dies func()) {
	t.Helper()
	o = dead(t)
	nap := exec.Command("sleep", "600")
	if err := nap.Start(); err != nil {
		t.Fatal(err)
	}
	dies = sync.OnceFunc(func() { nap.Process.Kill(); nap.Wait() })
	t.Cleanup(dies)
	var err error
	o.Pid = nap.Process.Pid
	if o.Start, err = sandbox.StartTime(o.Pid); err != nil {
		t.Fatal(err)
	}
	return o, dies
}

// stranger makes a container as another client of the engine would.
func stranger(t *testing.T, p *Provider, name, image string, labels map[string]string) string {
	t.Helper()
	made, err := p.engine.ContainerCreate(t.Context(), &container.Config{Image: image, Entrypoint: []string{"sleep", "600"}, Cmd: []string{}, Labels: labels},
		&container.HostConfig{NetworkMode: "none"}, nil, nil, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.remove(context.Background(), made.ID); err != nil {
			t.Error(err)
		}
	})
	return made.ID
}

// Only what a dead owner of this machine, boot and pid namespace left is removed,
// and nothing that others made of it.
func TestReap(t *testing.T) {
	p := engine(t, Options{})
	owner, dies := mortal(t)
	gone := engine(t, Options{Owner: owner})
	lost := open(t, gone, sandbox.Spec{Name: "lost"})
	if err := lost.Claim(t.Context(), "claimed"); err != nil {
		t.Fatal(err)
	}
	named := open(t, gone, sandbox.Spec{Name: "named"})
	mine := fmt.Sprintf("my-own-%s", named.key[:4])
	if err := p.engine.ContainerRename(t.Context(), named.id, mine); err != nil {
		t.Fatal(err)
	}
	kept := map[string]string{"living": open(t, p, sandbox.Spec{}).id, "renamed by a person": named.id}
	for what, change := range map[string]func(*sandbox.Owner){
		"other boot":      func(o *sandbox.Owner) { o.Boot = "another" },
		"other machine":   func(o *sandbox.Owner) { o.Machine = "another" },
		"other namespace": func(o *sandbox.Owner) { o.PidNS = "1" },
	} {
		o := dead(t)
		change(&o)
		kept[what] = stranger(t, p, containerName("far", "0123456789ab"+what[6:8]), testImage(), map[string]string{labelOurs: "1", labelOwner: o.String(), labelKey: "0123456789ab" + what[6:8]})
	}
	for name, labels := range map[string]map[string]string{
		"no-labels":      nil,
		"unreadable":     {labelOurs: "1", labelOwner: "1//", labelKey: "unreadable"},
		"not-ours":       {labelOwner: dead(t).String(), labelKey: "not-ours"},
		"without-a-key":  {labelOurs: "1", labelOwner: dead(t).String()},
		"another-s-name": {labelOurs: "1", labelOwner: dead(t).String(), labelKey: "0123456789ab"},
	} {
		kept[name] = stranger(t, p, "rollbench-"+testRun+"-"+name, testImage(), labels)
	}
	dies()
	removed, err := p.Reap(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(removed) // not judged: another start may have been faster
	if _, err := lost.Exec(t.Context(), sandbox.Command{Script: "true"}); !errors.Is(err, sandbox.ErrLost) {
		t.Errorf("the dead owner's container: %v", err)
	}
	for what, id := range kept {
		if _, err := p.engine.ContainerInspect(t.Context(), id); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A dead owner's snapshot goes; what a person made of it, and a container that a
// person runs from it, stay, though both have inherited its labels.
func TestReapSnapshots(t *testing.T) {
	p := engine(t, Options{})
	gone := engine(t, Options{})
	c := open(t, gone, sandbox.Spec{})
	owner, dies := mortal(t)
	gone.opt.Owner = owner
	snap := func(c *Container) string {
		t.Helper()
		s, err := c.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.ID()
	}
	left, used, kept := snap(c), snap(c), snap(open(t, p, sandbox.Spec{}))
	own := "rollbench-test/" + testRun + ":own"
	if err := p.engine.ImageTag(t.Context(), used, own); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := p.engine.ImageRemove(context.Background(), own, image.RemoveOptions{}); err != nil {
			t.Error(err)
		}
	})
	theirs := stranger(t, p, "rollbench-"+testRun+"-theirs", own, nil)
	dies()
	if _, err := p.Reap(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{left: false, used: false, kept: true, own: true} {
		if have, err := p.HasImage(t.Context(), name); err != nil || have != want {
			t.Errorf("%s: present %t, want %t, %v", name, have, want, err)
		}
	}
	if _, err := p.engine.ContainerInspect(t.Context(), theirs); err != nil {
		t.Error(err)
	}
}

// After a provider's Close nothing of it is left, snapshots in use included.
func TestCloseRemovesSnapshots(t *testing.T) {
	p, look := engine(t, Options{}), engine(t, Options{})
	s, err := open(t, p, sandbox.Spec{}).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	open(t, p, sandbox.Spec{From: s.ID()})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if have, err := look.HasImage(t.Context(), s.ID()); err != nil || !have {
		t.Errorf("removed while a sandbox runs from it: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if have, err := look.HasImage(t.Context(), s.ID()); err != nil || have {
		t.Errorf("still there: %t %v", have, err)
	}
	out, err := exec.Command("docker", "images", "-q", "--filter", "dangling=true", "--filter", "label="+labelSnapshot+"="+strings.TrimPrefix(s.ID(), snapshotName)).Output()
	if err != nil || len(out) > 0 {
		t.Errorf("images without a name: %s %v", out, err)
	}
}
