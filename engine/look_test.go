package engine

import (
	"encoding/json"
	"os"
	"testing"

	"rollbench/sandbox"
	"rollbench/sandbox/docker"
)

// A command that only looks runs in a copy of the container: it sees what is
// there, and nothing that it does stays. A copy that could not
// be removed would be an error.
func TestLookInACopy(t *testing.T) {
	d, err := docker.New(t.Context(), docker.Options{})
	if err == nil {
		t.Cleanup(func() { _ = d.Close() })
	}
	const image = "rollbench-test/base:1"
	there := false
	if err == nil {
		there, err = d.HasImage(t.Context(), image)
	}
	if err != nil || !there {
		if os.Getenv("ROLLBENCH_REQUIRE_DOCKER") == "1" {
			t.Fatalf("no docker with %s: %v", image, err)
		}
		t.Skipf("no docker with %s: %v", image, err)
	}
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "look", Image: image, Workdir: "/testbed", Labels: map[string]string{"run": "r-look"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sb.Close() })
	r := setup(t, 1, nil).engine()
	r.opt.Providers[sandbox.Docker] = d
	it := r.items[0]
	it.kind, it.place = sandbox.Docker, &place{sb: sb}
	hand := r.hand(it)
	for _, c := range []struct {
		script string
		look   bool
		exit   int
		output string
	}{
		{"echo one > a; cat a", false, 0, "one\n"},
		{"cat a; rm a; echo two > b; exit 7", true, 7, "one\n"},
		{"ls", false, 0, "a\n"},
	} {
		got, err := hand(t.Context(), c.script, c.look)
		if err != nil || got.Exit != c.exit || got.Output != c.output {
			data, _ := json.Marshal(got)
			t.Errorf("%s: %v, %s", c.script, err, data)
		}
	}
	it.place = nil
}
