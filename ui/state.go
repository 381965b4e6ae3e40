package ui

import (
	"strings"
	"time"

	"rollbench/sessions"
)

// look is how a state is shown: never by colour alone.
type look struct {
	glyph string
	word  string
	role  role
}

// stopped is the state of what was under way in a run that no process writes any
// more. It is made here: the session has the state it was in.
const stopped sessions.State = "stopped"

// stop what was under way.
func stop(ts []sessions.Trajectory) {
	for i := range ts {
		if t := &ts[i]; !t.State.Ended() && t.State != sessions.Queued {
			t.State, t.ToolSince = stopped, time.Time{}
		}
	}
}

// looks of a trajectory's state. A done one looks like its reward.
func looks(t sessions.Trajectory) look {
	switch t.State {
	case sessions.Queued:
		return look{"·", "queued", dim}
	case sessions.Init:
		return look{"◔", "init", live}
	case sessions.Ready:
		return look{"○", "ready", plain}
	case sessions.Running:
		return look{"▶", "running", live}
	case sessions.Held:
		return look{"◆", "held", warn}
	case sessions.Ran:
		return look{"◇", "ran", plain}
	case sessions.Evaluating:
		return look{"◕", "evaluating", live}
	case stopped:
		return look{"◌", "stopped", warn}
	case sessions.Failed:
		return look{"!", "failed", fail}
	case sessions.Cancelled:
		return look{"×", "cancelled", dim}
	}
	return outcome(t)
}

// outcome of a done trajectory: its reward is its colour.
func outcome(t sessions.Trajectory) look {
	switch {
	case t.Reward == nil:
		return look{"–", "done", dim}
	case *t.Reward >= 1:
		return look{"✔", "done", good}
	}
	return look{"✘", "done", plain}
}

// marks are what is special about a trajectory, in fixed places: masked,
// intervened, prefix broken.
func marks(t sessions.Trajectory) line {
	l := line{}
	put := func(on bool, r role, glyph string) {
		if on {
			l.add(r, glyph)
		} else {
			l.add(plain, " ")
		}
	}
	put(t.Mask() != "", warn, "⊘")
	put(t.Intervened, person, "✎")
	put(t.Breaks > 0, warn, "≠")
	return l
}

// heldText is why and where a trajectory is held: "breakpoint #2 tool=bash at after-reply".
func heldText(t sessions.Trajectory) string {
	if t.HeldAt != "" {
		return heldWhy(t) + " at " + cleanLine(string(t.HeldAt))
	}
	return heldWhy(t)
}

// heldWhy is the reason with its detail, which may repeat it.
func heldWhy(t sessions.Trajectory) string {
	s := string(t.Held)
	switch {
	case strings.HasPrefix(t.HeldWhy, s):
		s = t.HeldWhy
	case t.HeldWhy != "":
		s += " " + t.HeldWhy
	}
	return cleanLine(s)
}

// tally is how many trajectories are in each state, and their outcomes. Forks are
// outside the set: they are no outcome of the run.
type tally struct {
	all, ended, running, held, queued    int
	solved, unsolved, absent, masked     int
	failed, cancelled, intervened, still int
	starting, evaluating                 int // on the way to their first gate; past their last
	forks                                int // beside them; of what is above they are in running, held, queued and still
}

// count is taken anew from all rows: they are few, and a running count could
// drift from what the list shows.
func count(ts []sessions.Trajectory) tally {
	c := tally{}
	for _, t := range ts {
		if !t.State.Ended() {
			c.still++
		}
		switch t.State {
		case sessions.Running:
			c.running++
		case sessions.Held:
			c.held++
		case sessions.Queued:
			c.queued++
		case sessions.Init, sessions.Ready:
			c.starting++
		case sessions.Ran, sessions.Evaluating:
			c.evaluating++
		}
		if t.Fork != nil {
			c.forks++
			continue
		}
		c.all++
		switch t.State {
		case sessions.Failed:
			c.failed++
		case sessions.Cancelled:
			c.cancelled++
		}
		if t.Mask() != "" {
			c.masked++
		}
		if t.Intervened {
			c.intervened++
		}
		if !t.State.Ended() {
			continue
		}
		c.ended++
		switch {
		case t.Reward == nil:
			c.absent++
		case *t.Reward >= 1:
			c.solved++
		default:
			c.unsolved++
		}
	}
	return c
}
