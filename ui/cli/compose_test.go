package cli

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// volumesOf a process that are still there.
func (s *shop) volumesOf(pid string) []string {
	s.t.Helper()
	out, err := exec.Command("docker", "volume", "ls", "--filter", "label=rollbench=1", "--format", `{{.Name}} {{.Label "rollbench.owner"}}`).Output()
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		name, owner, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(owner, pid+"/") {
			names = append(names, name)
		}
	}
	return names
}

// volumes that processes of this shop made and that are still there.
func (s *shop) volumes() (names []string) {
	s.t.Helper()
	for _, pid := range s.pids {
		names = append(names, s.volumesOf(pid)...)
	}
	return names
}

// greeting are the arguments for a Harbor task whose main service, and whose verifier,
// ask a companion for what another companion has put into a shared volume.
func greeting(t *testing.T) []string {
	t.Helper()
	tasks, err := filepath.Abs(filepath.Join("testdata", "compose"))
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--tasks", tasks, "--set", "sandbox.build_args.BASE=" + testImage(t), "--set", "sandbox.memory_mb=256"}
}

// The whole life of such a task: both sandboxes have companions, and none stays.
func TestComposeInDocker(t *testing.T) {
	t.Parallel()
	args := greeting(t)
	s := newShop(t)
	if out := s.run(append([]string{"validate"}, args...)...); !strings.Contains(out, "1 of 1 tasks are sound") {
		t.Errorf("validate: %s", out)
	}
	before, err := networks()
	if err != nil {
		t.Fatal(err)
	}
	var o outcome
	text := s.run(append([]string{"run", "--headless", "--json", "--set", "generator.num_trajectories=4"}, args...)...)
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	if o.Trajectories != 4 || o.Done != 4 || o.Solved == 0 {
		t.Errorf("outcome %+v, want 4 done and some solved", o)
	}
	if left := append(s.containers(), s.volumes()...); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if after, err := networks(); err != nil || len(after) > len(before) {
		t.Errorf("networks %v, then %v, %v", before, after, err)
	}
}

// kill -9 leaves companions and their volumes; clean removes them.
func TestKillOfCompanionsInDocker(t *testing.T) { // not in parallel: each start of a rollbench reaps
	args := greeting(t)
	s := newShop(t)
	s.killAfter(1, "] done", slices.Concat([]string{"run", "--headless", "--set", "generator.num_trajectories=4"}, args, slow)...)
	if c, v := s.containers(), s.volumes(); len(c) < 3 || len(v) == 0 {
		t.Errorf("the kill left %v and %v: the test shows nothing", c, v)
	}
	out := s.run("clean")
	if left := append(s.containers(), s.volumes()...); len(left) != 0 {
		t.Errorf("left: %v\n%s", left, out)
	}
	if !strings.Contains(out, "volume rollbench-greeting.") {
		t.Errorf("clean does not name the volumes: %s", out)
	}
}
