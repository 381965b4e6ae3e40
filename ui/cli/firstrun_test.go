package cli

import (
	"os"
	"strings"
	"testing"
	"time"
)

// The first run of a home tells what to press, at a pace that can be read along; the
// next one does not.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for n, want := range []bool{true, false} {
		tm := s.terminal(80, 24, "--limit", "1", "--sandbox", "local", "--set", "generator.num_trajectories=1")
		tm.sees("the policy is replying", "▶ running")
		if got := strings.Contains(tm.screen(), "new here? ↑ ↓ choose"); got != want {
			t.Errorf("run %d tells what to press: %v\n%s", n+1, got, tm.screen())
		}
		if want {
			tm.keys("Down")
			within(t, 40*time.Second, "a key takes it away", func() bool { return !strings.Contains(tm.screen(), "new here?") })
		}
		tm.sees("the run has finished: E exports its transitions")
		tm.keys("q")
		tm.sees("look at it:  rollbench open r-", "left with 0")
	}
	if runs, err := os.ReadDir(s.home + "/runs"); err != nil || len(runs) != 2 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}
