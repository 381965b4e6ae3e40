package ui

import (
	"fmt"
	"time"
)

// level of a message.
type level uint8

const (
	note level = iota
	ok
	caution
	trouble
)

// toast is a message to the person. All are kept for the messages pane.
type toast struct {
	at    time.Time
	level level
	text  string
	quiet bool // never shown by itself
}

// toastFor is how long a message is shown; trouble stays until a key.
const toastFor = 4 * time.Second

// welcome is what somebody new has to know of the keys.
const welcome = "new here? ↑ ↓ choose, enter reads along, esc comes back, p pauses one (then n steps, e edits its call, c goes on), ? shows all keys"

// keptToasts bounds the messages pane.
const keptToasts = 500

// toasts are the messages so far, and the one shown now.
type toasts struct {
	all   []toast
	last  toast     // the one shown
	until time.Time // of the last one; zero: not shown
	stays bool      // until a key
	// clock by which a message is shown, where the screen has another one; nil: that.
	clock func() time.Time
}

// add cleans the text: errors quote what models and tools wrote.
func (ts *toasts) add(now time.Time, l level, text string) {
	ts.last = toast{at: now, level: l, text: cleanLine(text)}
	ts.append(ts.last)
	ts.until = ts.moment(now).Add(toastFor)
	ts.stays = l == trouble
}

// open with what there was to tell before the screen: the first is shown, and where
// the others are.
func (ts *toasts) open(now time.Time, notices []string) {
	if len(notices) == 0 {
		return
	}
	ts.add(now, note, notices[0])
	for _, text := range notices[1:] {
		ts.append(toast{at: now, text: cleanLine(text)})
	}
	if more := len(notices) - 1; more > 0 {
		ts.last.text += fmt.Sprintf(" (%d more: m)", more)
	}
}

// moment by which messages come and go.
func (ts *toasts) moment(now time.Time) time.Time {
	if ts.clock != nil {
		return ts.clock()
	}
	return now
}

// keep a message without showing it. Of several in a row the newest stays.
func (ts *toasts) keep(now time.Time, text string) {
	if n := len(ts.all); n > 0 && ts.all[n-1].quiet {
		ts.all = ts.all[:n-1]
	}
	ts.append(toast{now, note, cleanLine(text), true})
}

func (ts *toasts) append(t toast) {
	ts.all = append(ts.all, t)
	if len(ts.all) > keptToasts {
		ts.all = append([]toast{}, ts.all[len(ts.all)-keptToasts:]...)
	}
}

// dismiss what waits for a key.
func (ts *toasts) dismiss() {
	if ts.stays {
		ts.stays = false
		ts.until = time.Time{}
	}
}

// shown is the message on the screen now.
func (ts *toasts) shown(now time.Time) (toast, bool) {
	if !ts.stays && !ts.moment(now).Before(ts.until) {
		return toast{}, false
	}
	return ts.last, true
}

func (t toast) look() (string, role) {
	switch t.level {
	case ok:
		return "✔", good
	case caution:
		return "▲", warn
	case trouble:
		return "✘", fail
	}
	return "·", plain
}

// page of all messages, newest last.
func (ts *toasts) page() *page {
	s := &section{}
	for i, t := range ts.all {
		glyph, r := t.look()
		s.add(block{id: fmt.Sprint(i), label: wallClock(t.at), labelRole: dim, body: r, text: glyph + " " + t.text})
	}
	if len(ts.all) == 0 {
		s.note("No messages yet.")
	}
	return onePage(s)
}

// toastRows bounds a message on the screen; all of it is in the messages pane.
const toastRows = 4

// toastBox is where messages stand: whole rows of a pane from its title on, which
// has no keys. grow is the way they grow: −1 up, over the list.
type toastBox struct{ x, y, w, grow int }

func (w *Workbench) toastBox(rows int) toastBox {
	a := w.arrange()
	switch {
	case a.mode == tiny || w.sheet != nil: // the title of a sheet tells how to close it
		return toastBox{0, rows - 2, w.w, -1}
	case a.view.h == 0:
		return toastBox{a.list.x, a.list.y + w.typedRow(a.list), a.list.w, 1}
	case a.mode == stacked && a.list.h > 0:
		return toastBox{a.view.x, a.view.y - w.typedRow(a.view), a.view.w, -1}
	}
	return toastBox{a.view.x, a.view.y + w.typedRow(a.view), a.view.w, 1}
}

// typedRow is 1 where the title of a pane is what a person types.
func (w *Workbench) typedRow(b box) int {
	a := w.arrange()
	if w.find.typing && b == a.view || w.filtering && b == a.list {
		return 1
	}
	return 0
}

// draw the message over whole rows, so that nothing of what they held is left.
func (t toast) draw(th *theme, rows []string, b toastBox, cols int) {
	glyph, r := t.look()
	wrapped := wrap(t.text, max(b.w-4, 1))
	wrapped = wrapped[:min(len(wrapped), toastRows)]
	first := b.y
	if b.grow < 0 {
		first -= len(wrapped) - 1
	}
	over := make([]string, len(wrapped))
	for i, p := range wrapped {
		l := line{{r, " " + glyph + " "}, {strong, t.text[p.from:p.to]}}
		if i > 0 {
			l[0] = seg{plain, "   "}
		}
		if i == toastRows-1 && p.to < len(t.text) {
			l[1].text = cutForced(l[1].text, max(b.w-3, 1))
		}
		over[i] = th.fit(l, b.w)
	}
	if len(rows) >= 2 { // the bottom line is never covered
		overlay(rows[:len(rows)-1], over, b.x, first, cols)
	}
}
