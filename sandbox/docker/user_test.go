package docker

import (
	"errors"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
)

// Commands run as the spec's user, files belong to that one, and a command may name
// another.
func TestUser(t *testing.T) {
	p := engine(t, Options{})
	c := open(t, p, sandbox.Spec{Workdir: "/made", User: "nobody"})
	for user, want := range map[string]string{"": "nobody", sandbox.ImageUser: "root", sandbox.Root: "root", "daemon": "daemon", "65534": "nobody"} {
		r, err := c.Exec(t.Context(), sandbox.Command{Argv: []string{"id", "-un"}, User: user})
		if got := strings.TrimSpace(string(r.Output)); err != nil || got != want {
			t.Errorf("user %q runs as %q, %v; want %s", user, got, err, want)
		}
	}
	if err := c.WriteFile(t.Context(), "a.txt", []byte("a"), 0); err != nil {
		t.Fatal(err)
	}
	r, err := c.Exec(t.Context(), sandbox.Command{Script: "stat -c %U . a.txt; touch b.txt && echo made"})
	if err != nil || string(r.Output) != "nobody\nnobody\nmade\n" {
		t.Errorf("files: %q, %v", r.Output, err)
	}
	if _, err := p.Open(t.Context(), sandbox.Spec{Image: testImage(), User: "nosuchuser"}); err == nil || !strings.Contains(err.Error(), `who is user "nosuchuser"`) {
		t.Errorf("a user that is not there: %v", err)
	}
}

// A compose file's user stands in the place of the image's: for what the task starts,
// and for commands unless the spec names another. Files that were changed stay so in
// what is opened from a snapshot; what runs beside the commands is in none.
func TestUserBeside(t *testing.T) {
	p := engine(t, Options{})
	id := func(c sandbox.Sandbox, user string) string {
		r, err := c.Exec(t.Context(), sandbox.Command{Argv: []string{"id", "-un"}, User: user})
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(r.Output))
	}
	b := &sandbox.Beside{Key: "user", User: "daemon", Files: []sandbox.File{{Target: "/etc/own.conf", One: true, Tar: streamOf(map[string]string{"x": "own"})}}}
	c := open(t, p, sandbox.Spec{Beside: b})
	for user, want := range map[string]string{"": "daemon", sandbox.ImageUser: "daemon", sandbox.Root: "root", "nobody": "nobody"} {
		if got := id(c, user); got != want {
			t.Errorf("user %q runs as %s, want %s", user, got, want)
		}
	}
	run(t, c, sandbox.Command{Script: "echo changed >/etc/own.conf"}) // it is its user's
	snap, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := snap.Close(); err != nil {
			t.Error(err)
		}
	})
	again := open(t, p, sandbox.Spec{From: snap.ID(), Beside: b})
	if got := run(t, again, sandbox.Command{Script: "id -un; cat /etc/own.conf"}); got != "daemon\nchanged\n" {
		t.Errorf("from the snapshot: %q", got)
	}
	serving := *b
	serving.Start = &sandbox.Program{Command: []string{"sh", "-c", "id -un >/tmp/who; exec sleep 600"}}
	serving.Health = &sandbox.Health{Test: []string{"CMD-SHELL", `[ "$(id -un) $(cat /tmp/who)" = "daemon daemon" ]`}, Interval: time.Second}
	other := open(t, p, sandbox.Spec{User: "nobody", Beside: &serving})
	if got := id(other, "") + " " + id(other, sandbox.ImageUser); got != "nobody daemon" {
		t.Errorf("of the spec's user: %s", got)
	}
	if _, err := other.Snapshot(t.Context()); !errors.Is(err, sandbox.ErrNoSnapshot) {
		t.Errorf("a snapshot of what serves: %v", err)
	}
}
