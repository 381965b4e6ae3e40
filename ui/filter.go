package ui

import (
	"math"
	"strconv"
	"strings"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// newFilter is the line that a filter is typed into. The input keeps the text
// and the cursor; the title of the list draws them in the screen's roles.
func newFilter(text string) textinput.Model {
	in := textinput.New()
	in.KeyMap.Paste = key.NewBinding() // asks for programs of the desktop; what a terminal pastes comes as keys
	in.Cursor.SetMode(cursor.CursorStatic)
	in.SetValue(text)
	in.CursorEnd()
	in.Focus()
	return in
}

// term of a filter: a word that a trajectory has to have, or must not; or a bound
// on one of its numbers.
type term struct {
	not   bool
	word  string
	than  string // >, <, >=, <=; "" for a word
	bound float64
}

// parseTerms reads a filter. "tokens>8k" is a bound; what is none is a word.
func parseTerms(filter string) []term {
	var list []term
	for _, f := range strings.Fields(strings.ToLower(filter)) {
		t := term{word: f}
		if not, ok := strings.CutPrefix(f, "!"); ok && not != "" {
			t.not, t.word = true, not
		}
		t.readBound()
		list = append(list, t)
	}
	return list
}

func (t *term) readBound() {
	i := strings.IndexAny(t.word, "<>")
	if i < 0 || numberOf(sessions.Trajectory{}, t.word[:i]) == nil {
		return
	}
	than, rest := t.word[i:i+1], t.word[i+1:]
	if strings.HasPrefix(rest, "=") {
		than, rest = than+"=", rest[1:]
	}
	scale := 1.0
	if k, ok := strings.CutSuffix(rest, "k"); ok {
		rest, scale = k, 1000
	}
	if n, err := strconv.ParseFloat(rest, 64); err == nil {
		t.word, t.than, t.bound = t.word[:i], than, n*scale
	}
}

// numberOf a trajectory by its name in filters; nil for a name that is none, NaN
// for a number that it has not.
func numberOf(t sessions.Trajectory, name string) *float64 {
	v := math.NaN()
	switch name {
	case "turns", "turn":
		v = float64(t.Turn)
	case "tokens":
		v = float64(t.Tokens)
	case "sampled":
		v = float64(t.Sampled)
	case "breaks":
		v = float64(t.Breaks)
	case "reward":
		if t.Reward != nil {
			v = *t.Reward
		}
	default:
		return nil
	}
	return &v
}

func (t term) within(v float64) bool {
	switch t.than {
	case ">":
		return v > t.bound
	case "<":
		return v < t.bound
	case ">=":
		return v >= t.bound
	}
	return v <= t.bound
}

// matches reports whether every term is true of the trajectory. An absent number
// is within no bound.
func matches(t sessions.Trajectory, terms []term) bool {
	if len(terms) == 0 {
		return true
	}
	text := strings.ToLower(haystack(t))
	for _, x := range terms {
		has := false
		if x.than == "" {
			has = strings.Contains(text, x.word)
		} else {
			has = x.within(*numberOf(t, x.word))
		}
		if has == x.not {
			return false
		}
	}
	return true
}

// filterKey types into the filter, which acts at once.
func (w *Workbench) filterKey(m tea.KeyMsg) (cmd tea.Cmd) {
	switch m.String() {
	case "enter", "tab", "up", "down":
		w.filtering = false
		return nil
	case "esc", "ctrl+c":
		w.filtering = false
		w.filter.SetValue("")
	default:
		w.filter, cmd = w.filter.Update(m)
	}
	w.list.filter = w.filter.Value()
	w.list.rebuild()
	return cmd
}

// filterLine is the filter while it is typed.
func (w *Workbench) filterLine() line { return inputLine(w.filter) }

// inputLine is a line while it is typed, with its cursor.
func inputLine(in textinput.Model) line {
	text, at := []rune(in.Value()), in.Position()
	l := line{{strong, "/"}, {plain, cleanLine(string(text[:at]))}}
	if at == len(text) {
		return append(l, seg{chosen, " "})
	}
	return append(l, seg{chosen, cellText(text[at], 0)}, seg{plain, cleanLine(string(text[at+1:]))})
}
