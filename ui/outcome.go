package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rollbench/sessions"
	"rollbench/sessions/stats"
)

// verdicts are what the trajectories that ended add up to, beside their tally.
type verdicts struct {
	reasons []reasonCount // why they are masked, most first
	whole   []stats.Tries // of the groups that have ended
	groups  int
	n       int // trajectories of a group
	// mean reward of those that count, as in pass@k.
	mean    float64
	counted int
}

type reasonCount struct {
	reason string
	n      int
}

// judge the rows of a run with n trajectories of each instance.
func judge(ts []sessions.Trajectory, n int) verdicts {
	by := map[string]int{}
	for _, t := range ts {
		if m := t.Mask(); m != "" && t.Fork == nil {
			by[m]++
		}
	}
	v := verdicts{n: n}
	for reason, count := range by {
		v.reasons = append(v.reasons, reasonCount{reason, count})
	}
	slices.SortFunc(v.reasons, func(a, b reasonCount) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.reason, b.reason))
	})
	v.whole, v.groups = stats.WholeGroups(ts, n)
	v.mean, v.counted = meanReward(ts)
	return v
}

// pass is "pass@1 0.52" with the groups that it is over, – while there is none.
func (v *verdicts) pass(k int) (text string, over int) {
	mean, over := stats.PassAt(k, v.whole)
	if over == 0 {
		return fmt.Sprintf("pass@%d –", k), 0
	}
	return fmt.Sprintf("pass@%d %.2f", k, mean), over
}

// passes are pass@1 and pass@N so far: pass@1 0.52  pass@4 0.83 over 5 of 6 groups.
func (v *verdicts) passes() line {
	if v.n < 1 {
		return nil
	}
	text, over := v.pass(1)
	l := line{{plain, "  " + text}}
	if v.n > 1 {
		last, some := v.pass(v.n)
		if some != over { // where a reward is absent there are fewer tries
			l.add(dim, fmt.Sprintf(" over %d", over))
		}
		l.add(plain, "  "+last)
		over = some
	}
	l.add(dim, fmt.Sprintf(" over %d of %d groups", over, v.groups))
	return l
}

// masked says why trajectories are masked, in w columns: 2 context_window_exceeded,
// 1 cancelled. Where that is too long in the first words of the reasons, and where
// that is too long as many as fit.
func (v *verdicts) masked(w int) line {
	whole, short := make([]string, len(v.reasons)), make([]string, len(v.reasons))
	for i, r := range v.reasons {
		word := cleanLine(r.reason)
		whole[i] = fmt.Sprintf("%d %s", r.n, word)
		short[i] = fmt.Sprintf("%d %s", r.n, cmp.Or(shortReasons[r.reason], word))
	}
	if len(whole) == 0 {
		return nil
	}
	if text := strings.Join(whole, ", "); width(text) <= w {
		return line{{warn, text}}
	}
	for n := len(short); n > 0; n-- {
		text := strings.Join(short[:n], ", ")
		if n < len(short) {
			text += " …"
		}
		if width(text) <= w {
			return line{{warn, text}}
		}
	}
	return nil
}

// shortReasons are mask reasons where there is little room.
var shortReasons = map[string]string{
	string(sessions.ContextWindowExceeded): "context", string(sessions.MaxIterationsReached): "iterations", string(sessions.TrajectoryTimeout): "timeout",
	string(sessions.StuckInALoop): "loop", string(sessions.BadLLMResponse): "bad reply", string(sessions.ErrorInitialization): "init",
	string(sessions.SandboxLost): "sandbox", string(sessions.EndpointLost): "endpoint", string(sessions.ErrorEvaluation): "eval",
	string(sessions.ForceFinished): "forced", sessions.MaskedByPerson: "by a person",
}

// outcomes counts what has ended. Masked ones are counted on both sides: a
// masked trajectory may carry a reward.
func (p *gaugePane) outcomes() line {
	c := p.tally
	l := line{{dim, "done "}, {plain, fmt.Sprintf("%d/%d", c.ended, c.all)}}
	l.add(good, fmt.Sprintf(" ✔%d", c.solved))
	l.add(plain, fmt.Sprintf(" ✘%d", c.unsolved))
	if c.absent > 0 {
		l.add(dim, fmt.Sprintf(" –%d", c.absent))
	}
	if c.intervened > 0 {
		l.add(person, fmt.Sprintf(" ✎%d", c.intervened))
	}
	if c.forks > 0 {
		l.add(person, fmt.Sprintf(" %s%d", forkGlyph, c.forks))
	}
	l.add(warn, fmt.Sprintf(" ⊘%d", c.masked))
	return l
}

// mean reward of those that count, – while none does.
func (p *gaugePane) meanReward(name string) line {
	l := line{{dim, "  " + name + " "}}
	if p.verdicts.counted == 0 {
		l.add(plain, "–")
		return l
	}
	l.add(plain, reward2(p.verdicts.mean))
	return l
}

// outcome line of wide screens: done, solved, masked and why, the mean reward, pass@k.
func (p *gaugePane) outcome(w int) line {
	l, rest := append(line{{plain, " "}}, p.outcomes()...), append(p.meanReward("mean reward"), p.verdicts.passes()...)
	if why := p.verdicts.masked(w - l.width() - rest.width() - 3); why != nil {
		l = append(append(l, seg{warn, ": "}), why...)
	}
	return append(l, rest...)
}

// scores are the outcome in short, for small screens: mean 0.46  pass@4 0.83.
func (p *gaugePane) scores() line {
	if p.verdicts.counted == 0 {
		return nil
	}
	l := p.meanReward("mean")
	if p.verdicts.n > 0 {
		text, _ := p.verdicts.pass(p.verdicts.n)
		l.add(plain, "  "+text)
	}
	return l
}
