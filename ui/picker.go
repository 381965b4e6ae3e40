package ui

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// repliesMsg brings all replies to one prompt.
type repliesMsg struct {
	key     sessions.Key
	replies []sessions.Turn
	err     error
}

// loadReplies reads the replies to the last prompt, with their logprobs.
func (w *Workbench) loadReplies(t sessions.Trajectory) tea.Cmd {
	turn := w.turns.last
	return w.job(func(ctx context.Context) tea.Msg {
		list, err := w.opt.Reader.Turns(ctx, t.Key, t.Attempt, turn, turn, true)
		return repliesMsg{t.Key, list, err}
	})
}

// applyReplies opens the picker, unless something else was opened meanwhile.
func (w *Workbench) applyReplies(m repliesMsg) {
	t, ok := w.list.chosen()
	if m.err != nil {
		w.complain(m.err)
		return
	}
	if w.dialog != nil || !ok || t.Key != m.key || len(m.replies) == 0 {
		return
	}
	p := &picker{name: "Replies of " + cleanLine(m.key.String()) + " to one prompt", replies: m.replies}
	for i, r := range m.replies {
		s := &section{}
		s.reply(strconv.Itoa(r.Version), r)
		p.pages, p.scrolls = append(p.pages, onePage(s)), append(p.scrolls, &scroller{})
		if !r.Superseded {
			p.now = i
		}
	}
	p.at = p.now
	if n := len(m.replies); n > 1 { // the newest beside the one in effect
		p.at = n - 1 - boolInt(p.now == n-1)
	}
	p.pick = func(version int) tea.Cmd {
		return w.verb(fmt.Sprintf("reply %d of %s is picked: c runs it", version, m.key), func(c Commands) error { return c.Pick(m.key, version) })
	}
	p.more = func() { w.askReplies(t) }
	w.dialog = p
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// picker shows replies to one prompt: the one in effect beside another where
// there is room, else one after the other.
type picker struct {
	name    string
	replies []sessions.Turn
	pages   []*page
	scrolls []*scroller
	now     int // in effect
	at      int // looked at
	w, h    int // of the last frame's texts
	pick    func(version int) tea.Cmd
	more    func()
}

func (p *picker) title() string { return p.name }

// key: a letter or enter acts on the reply that is looked at.
func (p *picker) key(m tea.KeyMsg) (tea.Cmd, bool) {
	n := len(p.replies)
	switch k := m.String(); {
	case key.Matches(m, closeKey), k == "q":
		return nil, true
	case k == "right", key.Matches(m, nextKey):
		p.at = (p.at + 1) % n
	case k == "left", key.Matches(m, beforeKey):
		p.at = (p.at + n - 1) % n
	case key.Matches(m, takeKey):
		return p.pick(p.replies[p.at].Version), true
	case k == "r":
		p.more()
	default:
		p.scrolls[p.at].key(p.pages[p.at], k, max(p.w, 1), max(p.h, 1))
	}
	return nil, false
}

// pickerBeside is the width from which two replies stand side by side.
const pickerBeside = 100

func (p *picker) render(t *theme, w, h int) []string {
	body := max(h-4, 1)
	shown := []int{p.at}
	if w >= pickerBeside && p.at != p.now {
		shown = []int{p.now, p.at}
	}
	cols := (w - 3*(len(shown)-1)) / len(shown)
	p.w, p.h = cols, body
	rows := make([]string, body+1)
	for i, n := range shown {
		if i > 0 {
			for j := range rows {
				rows[j] += t.text(dim, " │ ")
			}
		}
		texts := p.scrolls[n].render(t, p.pages[n], cols, body, n == p.at)
		rows[0] += t.fit(p.head(n), cols)
		for j := range body {
			if j < len(texts) {
				rows[j+1] += texts[j]
			} else {
				rows[j+1] += spaces(cols)
			}
		}
	}
	for i := range rows {
		rows[i] += spaces(w - cols*len(shown) - 3*(len(shown)-1))
	}
	for len(rows) > 2 && p.blank(shown, len(rows)-2) {
		rows = rows[:len(rows)-1]
	}
	return append(rows, spaces(w), t.fit(line{{dim, "The turn has mask 0 whichever is picked: a person chose it."}}, w),
		t.fit(line{{strong, "enter"}, {dim, " picks it  "}, {strong, "← →"}, {dim, fmt.Sprintf(" reply %d/%d  ", p.at+1, len(p.replies))}, {strong, "↑ ↓"}, {dim, " scroll  "}, {strong, "r"}, {dim, " more  "}, {strong, "esc"}, {dim, " decides later"}}, w))
}

// blank reports whether no shown reply has text in that row.
func (p *picker) blank(shown []int, row int) bool {
	return !slices.ContainsFunc(shown, func(n int) bool {
		s := p.scrolls[n]
		end := p.pages[n].sections[0].total
		return s.top.row > 0 || row < end
	})
}

// head of a reply: which it is, what it cost, how likely it was.
func (p *picker) head(n int) line {
	r := p.replies[n]
	l := line{{strong, fmt.Sprintf("reply %d", r.Version)}}
	switch {
	case n == p.now:
		l.add(good, " ● in effect")
	case r.Source == sessions.FromModel:
		l.add(dim, " ○")
	}
	if r.Source == sessions.FromOperator {
		l.add(person, " ✎ by a person")
	}
	l.add(dim, fmt.Sprintf("  %s tok", short(float64(r.OutputTokens))))
	if r.Logprobs == nil {
		l.add(dim, "  Σ logprob N/A")
		return l
	}
	sum := 0.0
	for _, p := range r.Logprobs {
		sum += p
	}
	l.add(plain, fmt.Sprintf("  Σ logprob %.2f", sum))
	return l
}
