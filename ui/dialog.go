package ui

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// dialog takes all keys while it is open.
type dialog interface {
	// key handles a key; done closes the dialog.
	key(m tea.KeyMsg) (cmd tea.Cmd, done bool)
	// title, and the rows for at most w×h inside the frame.
	title() string
	render(t *theme, w, h int) []string
}

// choice is a button of a question.
type choice struct {
	key  string // letter that chooses it at once, "" for none
	also string // another one that people try
	text string
	do   func() tea.Cmd // nil: just close
}

// question asks before something that cannot be taken back. The first choice
// is the harmless one and has the focus.
type question struct {
	name    string
	text    []line
	choices []choice
	at      int
	brief   string // all of it in one line, for a terminal that has one; "" has none
}

func (q *question) title() string { return q.name }

// A letter acts at once, wherever the focus is; enter takes the focus.
func (q *question) key(m tea.KeyMsg) (tea.Cmd, bool) {
	k := m.String()
	for _, c := range q.choices {
		if c.key != "" && (c.key == k || c.also == k) {
			return q.take(c)
		}
	}
	switch {
	case k == "left", k == "up", key.Matches(m, beforeKey):
		q.at = (q.at + len(q.choices) - 1) % len(q.choices)
	case k == "right", k == "down", key.Matches(m, nextKey):
		q.at = (q.at + 1) % len(q.choices)
	case key.Matches(m, takeKey):
		return q.take(q.choices[q.at])
	case key.Matches(m, closeKey):
		return nil, true
	}
	return nil, false
}

func (q *question) take(c choice) (tea.Cmd, bool) {
	if c.do == nil {
		return nil, true
	}
	return c.do(), true
}

func (q *question) render(t *theme, w, _ int) []string {
	rows := []string{}
	for _, l := range q.text {
		text := ""
		for _, s := range l {
			text += s.text
		}
		if len(l) == 1 { // a paragraph
			for _, row := range Wrap(text, w) {
				rows = append(rows, t.fit(line{{l[0].r, row}}, w))
			}
			continue
		}
		rows = append(rows, t.fit(l, w))
	}
	rows = append(rows, spaces(w), t.fit(q.buttons(), w))
	return rows
}

func (q *question) buttons() line {
	l := line{}
	for i, c := range q.choices {
		text := " " + c.text + " "
		if c.key != "" {
			text = " " + c.key + "  " + c.text + " "
		}
		r := plain
		if i == q.at {
			r = chosen
		}
		l.add(dim, "[")
		l.add(r, text)
		l.add(dim, "] ")
	}
	return l
}

// drawDialog in the middle of the screen's rows, above the bottom line.
func drawDialog(t *theme, rows []string, d dialog, w int) {
	rows = rows[:len(rows)-1]
	h := len(rows)
	if p, ok := d.(*palette); ok {
		p.draw(t, rows, w)
		return
	}
	bw := min(w-4, 76)
	if f, ok := d.(*form); ok {
		bw = min(w-4, max(76, w*2/3))
		f.room = max(h-6, 3)
	}
	if _, ok := d.(*runPicker); ok {
		bw = min(w-4, 116)
	}
	if _, ok := d.(*picker); ok {
		bw = w - 4
	}
	body := d.render(t, bw-4, h-2)
	body = body[max(len(body)-(h-2), 0):]
	for i := range body {
		body[i] = " " + body[i] + " "
	}
	b := box{w: bw, h: len(body) + 2}
	framed := t.frame(b, focused, caption{title: line{{strong, d.title()}}}, body)
	overlay(rows, framed, (w-bw)/2, max((h-b.h)/2, 0), w)
}
