package ui

import (
	"fmt"
	"strings"
	"time"

	"rollbench/sessions"
)

// columns of the list at some width. last takes what is left; where there is
// little room the tokens lose their budget, then time goes, then the tokens.
type columns struct{ w, last, tokens, time int }

// fixed is the width of everything but tokens, time and the last tool: marker
// 1, id 4, state 13, turn 5, gap 2, reward 7, marks 4.
const fixed = 1 + 4 + 13 + 5 + 2 + 7 + 4

// Widths of tokens and time, and the room the last tool keeps before the
// budget (the longest finish reason is one longer) or another column goes.
const (
	tokensCol = 7
	budgetCol = 12
	timeCol   = 5
	lastCol   = 22
	lastMin   = 6
)

func columnsFor(w int) columns {
	switch {
	case w >= fixed+budgetCol+timeCol+lastCol:
		return columns{w, w - fixed - budgetCol - timeCol, budgetCol, timeCol}
	case w >= fixed+tokensCol+timeCol+lastMin:
		return columns{w, w - fixed - tokensCol - timeCol, tokensCol, timeCol}
	case w >= fixed+tokensCol+lastMin:
		return columns{w, w - fixed - tokensCol, tokensCol, 0}
	}
	return columns{w: w, last: max(w-fixed, 0)}
}

// names has the same widths as memberRow.
func (c columns) names() line {
	return line{{dim, " " + padLeft("#", 3) + " " + pad("state", 13) + padLeft("turn", 5) + padLeft("tokens", c.tokens) +
		padLeft("time", c.time) + "  " + pad("last/finish", c.last) + padLeft("reward", 7)}}
}

func (p *listPane) row(r listRow, c columns, now time.Time) line {
	g := p.groups[r.group]
	if r.member < 0 {
		return p.groupRow(g, c)
	}
	l := memberRow(g.members[r.member], c, now)
	if p.marks[g.members[r.member].Key] {
		l[1] = seg{call, padLeft(fmt.Sprint(g.members[r.member].ID), 3) + "•"}
	}
	return l
}

// memberRow has fixed columns, so that the eye can run down one of them.
func memberRow(t sessions.Trajectory, c columns, now time.Time) line {
	look := looks(t)
	l := line{{plain, " "}}
	if t.Fork != nil {
		l[0] = seg{person, forkGlyph}
	}
	l.add(plain, fmt.Sprintf("%3d ", t.ID))
	l.add(look.role, pad(look.glyph+" "+look.word, 13))
	turn := "–"
	if t.Turn > 0 {
		turn = fmt.Sprint(t.Turn)
		if t.MaxTurns > 0 && t.MaxTurns < 100 && !t.State.Ended() {
			turn = fmt.Sprintf("%d/%d", t.Turn, t.MaxTurns)
		}
	}
	tokens := "–"
	if t.Turn > 0 {
		tokens = short(float64(t.Tokens))
		if c.tokens == budgetCol && t.Budget > 0 {
			tokens += "/" + short(float64(t.Budget))
		}
	}
	l.add(plain, padLeft(turn, 5)+padLeft(tokens, c.tokens))
	l.add(dim, padLeft(inState(t, now), c.time))
	l.add(plain, "  ")
	last, extra, r := lastOf(t, now)
	if from := forkNote(t); from != "" && c.last >= lastCol {
		last = from + " " + last
	}
	if width(last)+width(extra)+1 <= c.last {
		last += " " + extra
	}
	l = append(l, withTags(last, r, t.Tags, c.last)...)
	rr := plain
	if t.Reward == nil {
		rr = dim
	} else if *t.Reward >= 1 {
		rr = good
	}
	l.add(rr, padLeft(reward(t.Reward), 7))
	if len(t.Tampering) > 0 {
		l.add(warn, tamperGlyph)
	} else {
		l.add(plain, " ")
	}
	return append(l, marks(t)...)
}

// withTags puts as much of the tags behind a text as w columns hold.
func withTags(text string, r role, tags []string, w int) line {
	room := w - width(text) - 2
	if len(tags) == 0 || room < 4 {
		return line{{r, pad(text, w)}}
	}
	return line{{r, text}, {person, pad(" #"+cut(cleanLine(strings.Join(tags, " #")), room), w-width(text))}}
}

// lastOf is what the trajectory did last: why it ended, where it is held, or
// the tool it runs; extra is shown where there is room for all of it.
func lastOf(t sessions.Trajectory, now time.Time) (last, extra string, r role) {
	switch {
	case t.State.Ended() && t.Finish != "":
		return cleanLine(t.Finish), "", plain
	case t.State.Ended() && len(t.Causes) > 0:
		return cleanLine(t.Causes[0]), "", plain
	case t.State.Ended():
		return "", "", plain
	case t.State == sessions.Held && t.HeldAt != "":
		return string(t.HeldAt), "", warn
	case t.State == sessions.Running && !t.ToolSince.IsZero():
		return toolLabel(t.Tool), age(now.Sub(t.ToolSince)), plain
	case t.State == sessions.Running && t.Tool != "":
		return toolLabel(t.Tool), "→ model", dim
	case t.State == sessions.Running:
		return "model", "", dim
	}
	return "", "", dim
}

// inState is how long a trajectory has been in its state, of an ended one how
// long it took in all.
func inState(t sessions.Trajectory, now time.Time) string {
	switch {
	case !t.State.Ended() && !t.Since.IsZero():
		return age(now.Sub(t.Since))
	case t.State.Ended() && !t.Started.IsZero() && !t.Ended.IsZero():
		return age(t.Ended.Sub(t.Started))
	}
	return "–"
}

// groupRow is a group's heading: how its members stand at a glance.
func (p *listPane) groupRow(g group, c columns) line {
	glyph := "▾"
	if p.folded[g.instance] {
		glyph = "▸"
	}
	right := line{}
	set := ofSet(g.members)
	if len(set) <= 16 {
		for _, t := range set {
			look := looks(t)
			right.add(look.role, look.glyph)
		}
	} else {
		n := count(set)
		right.add(good, fmt.Sprintf("✔%d ", n.solved))
		right.add(plain, fmt.Sprintf("✘%d ", n.unsolved))
		right.add(dim, fmt.Sprintf("of %d", n.all))
	}
	mean := "–"
	if m, n := meanReward(set); n > 0 {
		mean = reward2(m)
	}
	if n := len(g.members) - len(set); n > 0 {
		right.add(person, fmt.Sprintf(" %s%d", forkGlyph, n))
	}
	right.add(plain, padLeft(mean, 7)+"    ")
	l := line{{plain, " "}, {dim, glyph + " "}}
	name := cleanLine(g.instance)
	if len(g.shown) < len(g.members) {
		name += fmt.Sprintf(" (%d of %d)", len(g.shown), len(g.members))
	}
	l.add(strong, pad(name, max(c.w-4-right.width(), 0)))
	l.add(plain, " ")
	return append(l, right...)
}

func reward2(m float64) string { return fmt.Sprintf("%.2f", m) }

// haystack is the words a filter can match: state, reason, tool, and masked,
// intervened, drift, tampered, fork, parent=N, dropped, solved, wrong, tag=WORD, and the note.
func haystack(t sessions.Trajectory) string {
	parts := []string{t.Key.String(), looks(t).word, string(t.Held), t.HeldWhy, string(t.HeldAt), t.Tool, t.Finish, "reward=" + reward(t.Reward)}
	if t.Mask() != "" {
		parts = append(parts, "masked")
	}
	if t.Intervened {
		parts = append(parts, "intervened")
	}
	if t.Fork != nil {
		parts = append(parts, "fork", fmt.Sprintf("parent=%d", t.Fork.Parent))
	}
	if t.State == sessions.Done && t.Reward != nil {
		if *t.Reward >= 1 {
			parts = append(parts, "solved")
		} else {
			parts = append(parts, "wrong")
		}
	}
	if t.Dropped {
		parts = append(parts, "dropped")
	}
	if t.Breaks > 0 {
		parts = append(parts, "drift")
	}
	if len(t.Tampering) > 0 {
		parts = append(parts, "tampered")
	}
	for _, tag := range t.Tags {
		parts = append(parts, "tag="+tag)
	}
	return strings.Join(append(parts, t.Note), " ")
}
