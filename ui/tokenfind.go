package ui

import (
	"fmt"
	"sort"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// tokenFind looks for a text in the tokens, as far as their texts are known. It may
// go over the borders of tokens, not over those of prompt and reply. One turn is
// looked through at a time; where it has no further place the next turn is read.
type tokenFind struct {
	step    int // way to go, 0: there
	entered int // turn that the search has come to: all of it is looked through
	looked  int // turns without a further place, since the last one
	home    int // token that it began at, in the turn it comes back to
	// places are the tokens where one begins, in what is shown.
	places []int
	query  string
	have   int
}

// beginTokenFind looks for a text from the cursor on.
func (w *Workbench) beginTokenFind(text string, step int) tea.Cmd {
	w.find.tokens = tokenFind{step: step, entered: w.tokens.turn}
	if step > 0 && w.tokens.at > 0 {
		w.find.tokens.entered = 0
	}
	w.goToken()
	return nil
}

// placesOf the text in the turn that is shown.
func (v *tokenView) placesOf(f finder) []int {
	var list []int
	for i := range v.spans {
		s := &v.spans[i]
		var b strings.Builder
		starts := make([]int, len(s.ids))
		for k, id := range s.ids {
			starts[k] = b.Len()
			if text, known := v.texts[id]; known {
				b.WriteString(text)
			} else {
				b.WriteByte(0) // no text that is typed goes over it
			}
		}
		text := b.String()
		if f.fold {
			text = lowerBytes(text)
		}
		for from := 0; ; {
			at := strings.Index(text[from:], f.query)
			if at < 0 {
				break
			}
			at += from
			from = at + len(f.query)
			list = append(list, s.start+sort.SearchInts(starts, at+1)-1)
		}
	}
	return list
}

// lowerBytes keeps each byte where it is, also of what is no UTF-8: a token may be
// a part of a character.
func lowerBytes(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// goToken goes to the place that was asked for, or on to the turn that may have it.
// What is not read yet is waited for.
func (w *Workbench) goToken() {
	v, f := &w.tokens, &w.find.tokens
	if w.find.query == "" || w.find.tab != tokensTab || !v.shows() || v.stale {
		return
	}
	if f.query != w.find.query || f.have != v.have {
		f.places, f.query, f.have = v.placesOf(newFinder(w.find.query)), w.find.query, v.have
	}
	if f.step == 0 {
		return
	}
	from := v.at
	if f.entered == v.turn {
		if from = -1; f.step < 0 {
			from = v.n
		}
	}
	if n, ok := f.next(from); ok {
		v.at, v.follow = n, false
		f.step, f.entered, f.looked = 0, 0, 0
		return
	}
	if f.looked == 0 {
		f.home = v.at
	}
	if f.looked++; f.looked > v.last {
		f.step, v.at = 0, f.home
		w.toasts.add(w.now, caution, "no known text of the tokens here matches "+cleanLine(w.find.query))
		return
	}
	turn := v.turn + f.step
	if turn < 1 || turn > v.last {
		turn = map[bool]int{true: 1, false: v.last}[f.step > 0]
		w.toasts.add(w.now, note, "the search went on from the other end")
	}
	f.entered = turn
	v.toTurn(turn, false)
	if turn == v.have { // there is one turn only
		w.goToken()
	}
}

// next place behind a token, or before it.
func (f *tokenFind) next(from int) (n int, ok bool) {
	i := sort.SearchInts(f.places, from+1)
	if f.step < 0 {
		i = sort.SearchInts(f.places, from) - 1
	}
	if i < 0 || i >= len(f.places) {
		return 0, false
	}
	return f.places[i], true
}

// title says which of the places in this turn the cursor is at.
func (f *tokenFind) title(v *tokenView) string {
	if f.step != 0 || !v.shows() {
		return " …"
	}
	if i := sort.SearchInts(f.places, v.at); i < len(f.places) && f.places[i] == v.at {
		return fmt.Sprintf(" %d/%d in turn %d", i+1, len(f.places), v.turn)
	}
	return fmt.Sprintf(" %d in turn %d", len(f.places), v.turn)
}
