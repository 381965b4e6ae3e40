package docker

import (
	"strings"
	"testing"

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
