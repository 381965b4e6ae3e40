package cli

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A sitting over two finished runs at 80x24: mark two siblings, see where they part, go
// to that turn and back, the group's matrix, the other run and an instance of it.
func TestCompareSitting(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.run("run", "--headless", "--limit", "2", "--sandbox", "local", "--set", "simulated.seed=1")
	first := s.runID()
	s.run("run", "--headless", "--limit", "2", "--sandbox", "local", "--set", "simulated.seed=2")
	tm := s.terminal(80, 24, "open")
	tm.sees("finish_tool", "read only")
	tm.keys("g", "Down")
	tm.keys("Space", "Space")
	tm.sees("2 marked", "0•", "1•")
	tm.keys("v")
	tm.sees("compare ", "2 trajectories", "parts from #0", "patches")
	at := regexp.MustCompile(`▌ [≠+~] .*`).FindString(tm.screen())
	if at == "" {
		t.Fatalf("the cursor is at no difference:\n%s", tm.screen())
	}
	tm.keys("n")
	within(t, 20*time.Second, "n goes to the next difference", func() bool {
		next := regexp.MustCompile(`▌ [≠+~] .*`).FindString(tm.screen())
		return next != "" && next != at
	})
	at = regexp.MustCompile(`▌ [≠+~] .*`).FindString(tm.screen())
	tm.keys("Enter")
	turn := regexp.MustCompile(`\d+`).FindString(at)
	tm.sees("turn "+turn, "text·patch")
	tm.keys("v")
	tm.sees(at)
	tm.keys("Escape")
	tm.sees("text·patch")
	tm.keys("M")
	tm.sees("matrix ", "all tools", "baseline", "mean")
	tm.keys(">")
	tm.sees("by reward")
	tm.keys("Enter")
	tm.sees("text·patch")
	tm.keys("D")
	tm.sees("with which run?", first)
	tm.keys("-l", first[:4])
	tm.keys("Enter")
	tm.sees("against B "+first, "simulated_seed", "pass@1", "2 instances in both")
	tm.keys("Escape")
	tm.sees("text·patch")
	tm.keys("q")
	tm.sees("left with 0")
	if out := s.run("compare", first, "latest"); !strings.Contains(out, "pass@4") {
		t.Error(out)
	}
}

// runID of the newest run.
func (s *shop) runID() string {
	s.t.Helper()
	id := regexp.MustCompile(`"run":"([^"]+)"`).FindStringSubmatch(s.run("ls", "--json"))
	if id == nil {
		s.t.Fatal(fmt.Errorf("no run is listed"))
	}
	return id[1]
}
