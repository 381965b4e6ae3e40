package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
)

// palette is a prompt with every verb above it. A verb is a row of the key table,
// or of typedVerbs, some of which take an argument.
type palette struct {
	w      *Workbench
	input  textinput.Model
	rows   []offered // what fits, the best first
	at     int       // chosen
	top    int       // first drawn
	moved  bool      // a person has chosen the row
	failed string
	back   int // how far into the past the prompt is; 0: not
	drawn  box // where the rows were drawn last
}

// offered is a row above the prompt: a verb, or a value of its argument.
type offered struct {
	name, keys, help string
	why              string // it does not apply now
	marks            []int  // characters of the name that fit what is typed
	verb             *verb  // nil for a value
	score, order     int
}

// keptVerbs bounds what ↑ goes back to.
const keptVerbs = 200

// comfortKeys are the rows of the key table that open the palette.
func comfortKeys() []binding {
	return []binding{
		{Binding: on("the palette: every verb by its name, also those that have no key", ":", "ctrl+p"), name: "palette", scope: anywhere, over: true, can: canPalette, do: doPalette},
	}
}

// canPalette: a prompt that nobody sees must not take keys.
func canPalette(w *Workbench) string {
	if w.arrange().mode == tiny {
		return "the terminal is too small for the palette"
	}
	return ""
}

func doPalette(w *Workbench) tea.Cmd {
	p := &palette{w: w, input: newFilter("")}
	p.input.CharLimit = longestQuestion
	p.refresh()
	w.dialog = p
	return nil
}

func (p *palette) title() string { return "palette" }

// split what is typed into the verb and its argument.
func (p *palette) split() (name, arg string, begun bool) {
	name, arg, begun = strings.Cut(strings.TrimLeft(p.input.Value(), " "), " ")
	return name, arg, begun
}

// verbNamed is the verb of that name, else the one that fits best.
func (p *palette) verbNamed(name string) *verb {
	verbs := p.w.verbs()
	for i := range verbs {
		if verbs[i].name == name {
			return &verbs[i]
		}
	}
	if rows := fitting(verbs, name); len(rows) > 0 && rows[0].score > fitsHelp {
		return rows[0].verb
	}
	return nil
}

// fitsHelp is the fit of a verb by the words of its help.
const fitsHelp = 100

// fitting verbs, the best first; of equal ones those that apply now.
func fitting(verbs []verb, typed string) []offered {
	var rows []offered
	for i := range verbs {
		v := &verbs[i]
		score, marks := fits(typed, v.name)
		if score == 0 && mentions(typed, v.help) {
			score = fitsHelp
		}
		if v.why != "" && score > fitsHelp && score < fitsStart-100 {
			score = min(score, fitsHelp+99) // what applies is meant rather, unless the name says so
		}
		if score > 0 {
			rows = append(rows, offered{name: v.name, keys: v.keys, help: v.help, why: v.why, marks: marks, verb: v, score: score, order: i})
		}
	}
	slices.SortStableFunc(rows, func(a, b offered) int {
		switch {
		case typed != "" && a.score/100 != b.score/100: // another kind of fit
			return b.score - a.score
		case (a.why == "") != (b.why == ""):
			return boolInt(b.why == "") - boolInt(a.why == "")
		case typed != "" && a.score != b.score:
			return b.score - a.score
		}
		return a.order - b.order
	})
	return rows
}

// refresh what is offered for what is typed.
func (p *palette) refresh() {
	p.at, p.top, p.moved = 0, 0, false
	name, arg, begun := p.split()
	if !begun {
		p.rows = fitting(p.w.verbs(), name)
		return
	}
	p.rows = nil
	v := p.verbNamed(name)
	if v == nil || v.arg == nil || v.arg.offer == nil {
		return
	}
	last := v.arg.last(arg)
	for i, o := range v.arg.offer(p.w, arg) {
		score, marks := fits(last, o.value)
		if score == 0 && mentions(last, o.help) {
			score = fitsHelp
		}
		if score > 0 {
			p.rows = append(p.rows, offered{name: o.value, help: o.help, marks: marks, score: score, order: i})
		}
	}
	if last != "" {
		slices.SortStableFunc(p.rows, func(a, b offered) int { return b.score - a.score })
	}
}

// key types, chooses, completes and runs.
func (p *palette) key(m tea.KeyMsg) (tea.Cmd, bool) {
	k := m.String()
	p.failed = ""
	switch k {
	case "esc", "ctrl+c":
		return nil, true
	case "enter":
		return p.enter()
	case "tab":
		p.complete()
	case "shift+tab":
		p.choose(p.at - 1)
	case "up":
		if p.at == 0 && (p.input.Value() == "" || p.back > 0) {
			p.recall(p.back + 1)
		} else {
			p.choose(p.at - 1)
		}
	case "down":
		if p.back > 0 {
			p.recall(p.back - 1)
		} else {
			p.choose(p.at + 1)
		}
	case "pgup":
		p.choose(p.at - paletteRows)
	case "pgdown":
		p.choose(p.at + paletteRows)
	case "backspace":
		if p.input.Value() == "" { // as vim does
			return nil, true
		}
		fallthrough
	default:
		before := p.input.Value()
		var cmd tea.Cmd
		if p.input, cmd = p.input.Update(m); p.input.Value() != before {
			p.back = 0
			p.refresh()
		}
		return cmd, false
	}
	return nil, false
}

func (p *palette) choose(i int) {
	p.at, p.moved = max(min(i, len(p.rows)-1), 0), true
}

func (p *palette) set(text string) {
	p.input.SetValue(text)
	p.input.CursorEnd()
	p.refresh()
}

// recall what was run n before; 0 is the empty prompt.
func (p *palette) recall(n int) {
	past := p.w.ran
	if n = min(n, len(past)); n <= 0 {
		p.back = 0
		p.set("")
		return
	}
	p.set(past[len(past)-n])
	p.back = n
}

// complete what is typed by the chosen row; what is complete goes to the next one.
func (p *palette) complete() {
	if len(p.rows) == 0 {
		return
	}
	if to := p.completed(p.rows[p.at]); to != p.input.Value() {
		p.set(to)
		return
	}
	p.choose((p.at + 1) % len(p.rows))
}

// completed is what is typed with the row in its place.
func (p *palette) completed(o offered) string {
	if o.verb != nil {
		if o.verb.arg != nil {
			return o.name + " "
		}
		return o.name
	}
	name, arg, _ := p.split()
	if v := p.verbNamed(name); v != nil {
		return v.name + " " + v.arg.replaceLast(arg, o.name)
	}
	return p.input.Value()
}

// enter runs the verb. One that needs an argument asks for it first.
func (p *palette) enter() (tea.Cmd, bool) {
	name, arg, begun := p.split()
	if n, err := strconv.Atoi(name); err == nil && n > 0 && !begun { // as in editors
		name, arg, begun = "turn", name, true
	}
	if !begun {
		if len(p.rows) == 0 || name == "" && !p.moved {
			return p.fail("type the name of a verb, or choose one with ↓; esc closes")
		}
		v := p.rows[p.at].verb
		if v.arg != nil && v.arg.needed && v.why == "" {
			p.set(v.name + " ")
			return nil, false
		}
		return p.run(v, "")
	}
	v := p.verbNamed(name)
	switch {
	case v == nil:
		return p.fail(fmt.Sprintf("there is no verb %q", name))
	case v.arg == nil && strings.TrimSpace(arg) != "":
		return p.fail(v.name + " takes no argument")
	case v.arg == nil:
		return p.run(v, "")
	}
	if p.moved && len(p.rows) > 0 {
		arg = v.arg.replaceLast(arg, p.rows[p.at].name)
		if !v.arg.closed {
			p.set(v.name + " " + arg)
			return nil, false
		}
	} else if v.arg.closed && strings.TrimSpace(arg) != "" && !p.offers(arg) {
		if len(p.rows) == 0 || p.rows[0].score <= fitsHelp {
			return p.fail(fmt.Sprintf("%s: there is no %s %q", v.name, v.arg.name, strings.TrimSpace(arg)))
		}
		arg = v.arg.replaceLast(arg, p.rows[0].name)
	}
	return p.run(v, strings.TrimSpace(arg))
}

// offers reports whether a row is exactly that.
func (p *palette) offers(arg string) bool {
	return slices.ContainsFunc(p.rows, func(o offered) bool { return o.name == strings.TrimSpace(arg) })
}

func (p *palette) run(v *verb, arg string) (tea.Cmd, bool) {
	if v.why != "" {
		return p.fail(v.name + ": " + v.why)
	}
	if v.arg != nil && v.arg.needed && arg == "" {
		return p.fail(v.name + " needs " + v.arg.name)
	}
	cmd, err := v.run(arg)
	if err != nil {
		return p.fail(err.Error())
	}
	p.w.remember(strings.TrimSpace(v.name + " " + arg))
	return cmd, true
}

func (p *palette) fail(why string) (tea.Cmd, bool) {
	p.failed = cleanLine(why)
	return nil, false
}

// remember what was run, for ↑.
func (w *Workbench) remember(text string) {
	w.ran = append(slices.DeleteFunc(w.ran, func(s string) bool { return s == text }), text)
	w.ran = w.ran[max(len(w.ran)-keptVerbs, 0):]
}

// argument of a verb.
type argument struct {
	name   string // what it is, for the prompt and for errors
	needed bool
	closed bool // only what is offered is one
	// words: it is words of which each is completed by itself; one behind sign too.
	words bool
	offer func(w *Workbench, typed string) []offer
}

// offer is a value of an argument.
type offer struct{ value, help string }

// last is the part of an argument that is being typed.
func (a *argument) last(arg string) string {
	if a.words {
		return arg[strings.LastIndexFunc(arg, unicode.IsSpace)+1:]
	}
	return strings.TrimLeft(arg, " ")
}

func (a *argument) replaceLast(arg, by string) string {
	return arg[:len(arg)-len(a.last(arg))] + by
}
