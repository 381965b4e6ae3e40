package ui

import (
	"math"
	"strconv"
	"strings"
	"time"

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

// term of a filter: a word that a trajectory has to have, or must not; a word that
// one of its fields has to have; or a bound on one of its numbers.
type term struct {
	not   bool
	word  string // of a bound the number's name
	field string // where the word is looked for, "": everywhere
	than  string // >, <, >=, <=, =; "" for a word
	bound float64
}

// parseTerms reads a filter. "tokens>8k" is a bound, "tool=bash" is of a field; what
// is neither is a word.
func parseTerms(filter string) []term {
	var list []term
	for _, f := range strings.Fields(strings.ToLower(filter)) {
		t := term{word: f}
		if not, ok := strings.CutPrefix(f, "!"); ok && not != "" {
			t.not, t.word = true, not
		}
		if !t.readBound() {
			t.readField()
		}
		list = append(list, t)
	}
	return list
}

func (t *term) readBound() bool {
	i := strings.IndexAny(t.word, "<>=")
	if i < 0 || numberOf(sessions.Trajectory{}, t.word[:i], time.Time{}) == nil {
		return false
	}
	than, rest := t.word[i:i+1], t.word[i+1:]
	if than != "=" && strings.HasPrefix(rest, "=") {
		than, rest = than+"=", rest[1:]
	}
	n, ok := amountOf(rest)
	if ok {
		t.word, t.than, t.bound = t.word[:i], than, n
	}
	return ok
}

// amountOf a bound: 8k tokens, 80% of a budget, 5m of time (in seconds).
func amountOf(text string) (float64, bool) {
	for suffix, scale := range map[string]float64{"k": 1000, "%": 0.01, "s": 1, "m": 60, "h": 3600, "d": 86400} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			n, err := strconv.ParseFloat(rest, 64)
			return n * scale, err == nil
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

// readField takes tool=bash for a word of the field tool.
func (t *term) readField() {
	if name, word, ok := strings.Cut(t.word, "="); ok {
		if _, known := fieldOf(sessions.Trajectory{}, name); known {
			t.field, t.word = name, word
		}
	}
}

// fieldOf a trajectory by its name in filters.
func fieldOf(t sessions.Trajectory, name string) (text string, known bool) {
	switch name {
	case "state":
		return looks(t).word, true
	case "instance":
		return t.Instance, true
	case "tool":
		return t.Tool, true
	case "finish":
		return t.Finish, true
	case "mask":
		return t.Mask(), true
	case "held":
		return string(t.Held) + " " + string(t.HeldAt), true
	case "tag":
		return strings.Join(t.Tags, " "), true
	case "note":
		return t.Note, true
	}
	return "", false
}

// numberOf a trajectory by its name in filters; nil for a name that is none, NaN
// for a number that it has not.
func numberOf(t sessions.Trajectory, name string, now time.Time) *float64 {
	v := math.NaN()
	switch name {
	case "turns", "turn":
		v = float64(t.Turn)
	case "tokens":
		v = float64(t.Tokens)
	case "sampled":
		v = float64(t.Sampled)
	case "budget":
		if t.Budget > 0 {
			v = budgetShare(t)
		}
	case "time":
		if inState(t, now) != "–" {
			v = spent(t, now).Seconds()
		}
	case "drift", "breaks":
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
	case "=":
		return v == t.bound
	}
	return v <= t.bound
}

// matches reports whether every term is true of the trajectory. An absent number
// is within no bound.
func matches(t sessions.Trajectory, terms []term, now time.Time) bool {
	if len(terms) == 0 {
		return true
	}
	text := strings.ToLower(haystack(t))
	for _, x := range terms {
		has := false
		switch {
		case x.than != "":
			has = x.within(*numberOf(t, x.word, now))
		case x.field != "":
			field, _ := fieldOf(t, x.field)
			has = strings.Contains(strings.ToLower(field), x.word)
		default:
			has = strings.Contains(text, x.word)
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
