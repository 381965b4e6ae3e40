package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollbench/sessions"
)

// A run that is killed while a separate verifier works goes on with what was collected:
// no policy acts again, and no sandbox of a policy is opened again.
func TestResumeOfASeparateVerdictInDocker(t *testing.T) {
	t.Parallel()
	image := testImage(t)
	t.Cleanup(func() { removeBuilt(t, "rollbench/env-late", "rollbench/env-late-verifier") })
	tasks := filepath.Join(t.TempDir(), "tasks")
	if err := os.CopyFS(filepath.Join(tasks, "late"), os.DirFS("../../engine/task/testdata/harbor/apart")); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(tasks, "late", "tests", "test.sh")
	old, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	slow := strings.Replace(string(old), "\n", "\nsleep 10\n", 1) // time to be killed in
	if err := os.WriteFile(script, []byte(slow), 0o755); err != nil {
		t.Fatal(err)
	}
	s := newShop(t)
	kept := filepath.Join(s.home, "*", "*", "artifacts", "late.0.a1.tar")
	s.killWhen(func() bool {
		found, err := filepath.Glob(kept)
		return err == nil && len(found) == 1
	}, "run", "--headless", "--tasks", tasks, "--set", "sandbox.build_args.BASE="+image, "--set", "generator.num_trajectories=1")
	before := s.rows()[sessions.Key{Instance: "late"}]
	if before.Reward != nil || before.Turn == 0 {
		t.Fatalf("killed too late or too early: %+v", before)
	}
	s.run("resume", "--headless", "latest")
	after := s.rows()[sessions.Key{Instance: "late"}]
	if after.State != sessions.Done || after.Reward == nil || after.Attempt != 1 || after.Turn != before.Turn || after.Finish != before.Finish {
		t.Errorf("resumed: %+v\nbefore: %+v", after, before)
	}
	opened := map[string]int{}
	for _, e := range s.events() {
		var c sessions.SandboxChange
		if e.Kind != sessions.KindSandbox {
			continue
		}
		if err := json.Unmarshal(e.Data, &c); err != nil {
			t.Fatal(err)
		}
		if c.Open {
			opened[c.Purpose]++
		}
	}
	if opened["run"] != 1 || opened["eval"] == 0 {
		t.Errorf("sandboxes opened: %v, want one for the policy", opened)
	}
	if left, err := filepath.Glob(filepath.Join(s.home, "*", "*", "artifacts", "*")); err != nil || len(left) != 0 {
		t.Errorf("artifacts left: %v, %v", left, err)
	}
	if left := s.containers(); len(left) != 0 {
		t.Errorf("containers left: %v", left)
	}
}

// killWhen starts the program and kills it once that has happened.
func (s *shop) killWhen(happened func() bool, args ...string) {
	s.t.Helper()
	cmd := s.command(args...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !happened() {
		select {
		case <-tick.C:
		case err := <-ended:
			s.t.Fatalf("the program ended before it was to be killed: %v\n%s", err, out.String())
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		s.t.Error(err)
	}
	<-ended
}
