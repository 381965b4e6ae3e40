package engine

import (
	"strings"
	"testing"
	"time"

	"rollbench/engine/task"
	"rollbench/sandbox"
	"rollbench/sandbox/local"
)

// A policy that leaves a fork bomb and a writer behind: the patch is what it had
// changed, and neither room for git's processes nor a file that is still being
// written is missing. The bomb runs only where a limit of processes is seen to hold.
func TestLeftoversDoNotSpoilThePatch(t *testing.T) {
	p, err := local.New(local.Options{Home: t.TempDir(), Pids: 100})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	all, err := task.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	in := &all[0]
	for i := range all {
		if all[i].ID == "pager-last-page" {
			in = &all[i]
		}
	}
	sb, err := p.Open(t.Context(), in.Spec(sandbox.Local))
	if err != nil {
		t.Skip(err)
	}
	if r, err := sb.Exec(t.Context(), sandbox.Command{Script: "grep -E '(^0::|:pids:).*/" + sb.ID() + "$' /proc/self/cgroup"}); err != nil || r.ExitCode != 0 {
		t.Skip("no cgroup limits processes here")
	}
	if err := in.Prepare(t.Context(), sb); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{
		"echo changed > mine.txt",
		"(while :; do date >> written.txt; done) >/dev/null 2>&1 &",
		"(b() { b | b & }; b) >/dev/null 2>&1 &",
	} {
		r, err := sb.Exec(t.Context(), sandbox.Command{Script: script, Timeout: 20 * time.Second})
		if err != nil || r.End != sandbox.Exited {
			t.Fatal(script, r, err)
		}
	}
	patch, _, err := sweptPatch(t.Context(), in, sb)
	if err != nil || !strings.Contains(string(patch), "+++ b/mine.txt\n@@ -0,0 +1 @@\n+changed\n") {
		t.Errorf("%v\n%.2000s", err, patch)
	}
	r, err := sb.Exec(t.Context(), sandbox.Command{Script: "ls -d /proc/[0-9]* | wc -l"})
	if err != nil || len(strings.TrimSpace(string(r.Output))) > 1 {
		t.Errorf("%s processes are left, %v", r.Output, err)
	}
}
