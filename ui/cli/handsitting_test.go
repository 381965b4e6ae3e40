package cli

import (
	"strings"
	"testing"

	"rollbench/sessions"
)

// pagerFix repairs the bundled task pager-last-page and runs its visible tests.
const pagerFix = `sed -i 's/return self.number \* self.size/return min(self.number * self.size, self.total)/; s|return total // size + 1|return max(1, -(-total // size))|' shelf/paging.py; ` +
	`sed -i 's/^            yield page$/&\n            if not page.has_next:\n                return/' shelf/query.py; python3 -m unittest -q`

// A sitting without much of a model, at 80x24: stop a model call at once, take the turns
// over, look around in a shell, solve the task with calls from the form; then the palette,
// the matrix, another run beside this one, and all of it once more as a replay.
func TestHandSitting(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	args := []string{"--instances", "pager-last-page", "--sandbox", "local", "--set", "generator.num_trajectories=1"}
	s.run(append([]string{"run", "--headless"}, args...)...)
	first := s.runID()

	tm := s.terminal(80, 24, append([]string{"run", "--set", "simulated.latency=5s"}, args...)...)
	tm.sees("the policy is replying")
	tm.keys("j", "S")
	tm.sees("was stopped after", "With exactly 40 results", "held at before-model")
	tm.keys("A")
	tm.sees("This turn is yours.")
	tm.keys("$")
	tm.sees("Open a shell for pager-last-page#0", "Do not")
	tm.keys("l")
	tm.sees("A copy of the sandbox", "bash-")
	tm.keys("-l", "echo seen in $(basename $PWD); exit")
	tm.keys("Enter")
	tm.sees("is left", "This turn is yours.")

	tm.keys("a")
	tm.sees("Write turn 1 of pager-last-page#0", "→ execute_bash")
	tm.keys("-l", "exe")
	tm.keys("Right", "Tab")
	tm.sees("command *")
	tm.keys("-l", pagerFix)
	tm.keys("C-s")
	tm.sees("paused for your", "1/30", "OK")
	tm.keys("a")
	tm.sees("Write turn 2 of")
	tm.keys("-l", "fin")
	tm.keys("Right", "Tab")
	tm.sees("message")
	tm.keys("-l", "Paged as the issue asks.")
	tm.keys("C-s")
	tm.sees("held at before-eval")
	tm.keys("c")
	tm.sees("done 1/1 ✔1", "reward 1 · ✎ by a person")

	tm.keys(":")
	tm.keys("-l", "matr")
	tm.sees("▌matrix", "the group's matrix")
	tm.keys("Enter")
	tm.sees("matrix pager-last-page", "baseline", "intervened #0")
	tm.escape("text·patch")
	tm.keys("D")
	tm.sees("with which run?", first)
	tm.keys("Enter")
	tm.sees("against B "+first, "left out of rewards: 1 intervened")
	tm.keys("a")
	tm.sees("with intervened")
	tm.escape("text·patch")
	tm.keys("q")
	tm.sees("left with 0", "1 solved", "seen in testbed")
	for _, row := range strings.Split(tm.screen(), "\n") { // nothing is written over what the shell showed
		if strings.Contains(row, "left with") && strings.TrimSpace(row) != "left with 0" {
			t.Errorf("a row has two texts: %q", row)
		}
	}
	tm.tmux("kill-server")

	row := s.row(0)
	if row.State != sessions.Done || row.Reward == nil || *row.Reward != 1 || !row.Intervened || row.Turn != 2 {
		t.Errorf("%+v", row)
	}
	tm = s.terminal(80, 24, "replay", "latest", "--speed", "100")
	tm.sees("end of the recording", "done 1/1 ✔1 ✘0 ✎1", "Paged as the issue asks.")
	tm.keys("q")
	tm.sees("left with 0")
}
