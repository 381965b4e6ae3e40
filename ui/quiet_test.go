package ui

import (
	"os"
	"os/exec"
	"testing"
)

// The variable that keeps the terminal from being asked is gone again: neither
// the person's editor nor a tool may see it.
func TestQuietLeavesNoTrace(t *testing.T) {
	if restored != nil {
		t.Fatal(restored)
	}
	if os.Getenv("ROLLBENCH_UI_QUIET") == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestQuietLeavesNoTrace$")
		cmd.Env = []string{"ROLLBENCH_UI_QUIET=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	if v, ok := os.LookupEnv("CI"); ok {
		t.Errorf("CI is left at %q", v)
	}
}
