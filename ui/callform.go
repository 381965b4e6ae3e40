package ui

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/engine"
	"rollbench/sessions"
)

// callForm edits calls by the schemas of their tools: a field for each parameter, or
// all arguments as one JSON text. A turn that a person writes has a text as well.
type callForm struct {
	tools []engine.Tool
	text  *string // of the turn; nil: calls alone
	calls []*draft
	json  bool   // arguments are shown as JSON
	check string // of the JSON view: schema, or anyway
	// spots say of each of the form's fields what it is.
	spots []spot
}

// draft of a call. Values are kept as they are typed, by parameter.
type draft struct {
	name  string
	order []string // arguments that were there from the start
	typed map[string]string
	asIs  map[string]bool // the value is JSON text, whatever the schema says
	raw   string          // of the JSON view
}

// spot of a field: call −1 is the text of the turn or the check.
type spot struct {
	call  int
	param string // "" for the tool's name
	what  fieldKind
}

type fieldKind uint8

const (
	textField fieldKind = iota
	toolField
	paramField
	rawField
	checkField
)

func newDraft(name, arguments string) (*draft, bool) {
	d := &draft{name: name, typed: map[string]string{}, asIs: map[string]bool{}, raw: arguments}
	args, ok := splitArgs(arguments)
	for _, a := range args {
		d.order = append(d.order, a.name)
		d.typed[a.name], d.asIs[a.name] = a.text, a.json
	}
	return d, ok
}

func (c *callForm) params(d *draft) []param {
	i := slices.IndexFunc(c.tools, func(t engine.Tool) bool { return t.Name == strings.TrimSpace(d.name) })
	if i < 0 {
		return nil
	}
	return paramsOf(c.tools[i])
}

// fields of the drafts as they stand, and where each comes from.
func (c *callForm) fields() (out []field) {
	c.spots = nil
	add := func(p spot, f field) { c.spots, out = append(c.spots, p), append(out, f) }
	if c.text != nil {
		add(spot{-1, "", textField}, field{name: "text", editor: newEditor(*c.text, false), ext: ".txt", hint: "what the policy says beside its calls, or its answer; may stay empty"})
	}
	for i, d := range c.calls {
		name := "tool"
		if len(c.calls) > 1 {
			name = fmt.Sprintf("tool %d", i+1)
		}
		add(spot{i, "", toolField}, field{name: name, editor: newEditor(d.name, true), ext: ".txt", options: toolNames(c.tools), hint: c.about(d)})
		if c.json {
			add(spot{i, "", rawField}, field{name: "arguments", editor: newEditor(d.raw, false), ext: ".json"})
			continue
		}
		for _, p := range c.ofDraft(d) {
			f := field{name: p.name, editor: newEditor(d.typed[p.name], p.single()), ext: argExt(d, p), options: p.enum, must: p.required}
			if len(c.tools) > 0 {
				f.hint = p.hint()
			}
			add(spot{i, p.name, paramField}, f)
		}
	}
	if c.json && len(c.tools) > 0 {
		add(spot{-1, "", checkField}, field{name: "check", editor: newEditor(c.check, true), ext: ".txt", options: []string{"schema", "anyway"},
			hint: "anyway sends a call that its tool will refuse"})
	}
	return out
}

// about the tool of a draft, in its own first line.
func (c *callForm) about(d *draft) string {
	for _, t := range c.tools {
		if t.Name == strings.TrimSpace(d.name) {
			first, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
			return cleanLine(first)
		}
	}
	return ""
}

// ofDraft are the parameters to show: those given first, as they were written, then
// what else the schema has.
func (c *callForm) ofDraft(d *draft) (out []param) {
	known := c.params(d)
	for _, name := range d.order {
		i := slices.IndexFunc(known, func(p param) bool { return p.name == name })
		switch {
		case i >= 0:
			out = append(out, known[i])
		case d.asIs[name]:
			out = append(out, param{name: name, kinds: nil, about: strange(c.tools)})
		default:
			out = append(out, param{name: name, kinds: []string{"string"}, about: strange(c.tools)})
		}
	}
	for _, p := range known {
		if !slices.Contains(d.order, p.name) {
			out = append(out, p)
		}
	}
	return out
}

func strange(tools []engine.Tool) string {
	if len(tools) == 0 {
		return ""
	}
	return "not a parameter of the tool"
}

// argExt names the ending of a file by content, so that $EDITOR highlights it.
func argExt(d *draft, p param) string {
	switch {
	case !p.text():
		return ".json"
	case p.name == "command" && d.name != "str_replace_editor" && len(p.enum) == 0:
		return ".sh"
	}
	return ".txt"
}

// take what stands in the fields into the drafts.
func (c *callForm) take(values []string) {
	for i, p := range c.spots {
		switch v := values[i]; p.what {
		case textField:
			*c.text = v
		case toolField:
			c.calls[p.call].name = v
		case paramField:
			c.calls[p.call].typed[p.param] = v
		case rawField:
			c.calls[p.call].raw = v
		case checkField:
			c.check = strings.TrimSpace(v)
		}
	}
}

// arguments of a draft as JSON, from its fields or its text.
func (c *callForm) arguments(d *draft) (string, error) {
	if c.json {
		return d.raw, checkArgs(d.raw)
	}
	var out []arg
	for _, p := range c.ofDraft(d) {
		typed := d.typed[p.name]
		odd := p.about != "" && p.about == strange(c.tools)
		given := slices.Contains(d.order, p.name) && (len(c.tools) == 0 || p.text() && !odd)
		if typed == "" && !given {
			if p.required {
				return "", fmt.Errorf("%s is required", p.name)
			}
			continue
		}
		if len(c.tools) == 0 || odd { // no schema says what it is
			out = append(out, arg{p.name, typed, d.asIs[p.name]})
			continue
		}
		text, err := p.value(typed)
		if err != nil {
			return "", err
		}
		out = append(out, arg{p.name, text, true})
	}
	return joinArgs(out)
}

// made calls of the drafts; those that a tool would refuse are an error, unless the
// person said anyway.
func (c *callForm) made() ([]sessions.Call, error) {
	var out []sessions.Call
	if c.json && len(c.tools) > 0 && c.check != "schema" && c.check != "anyway" {
		return nil, fmt.Errorf("check is %q: write schema or anyway", c.check)
	}
	for i, d := range c.calls {
		which := ""
		if len(c.calls) > 1 {
			which = fmt.Sprintf("call %d: ", i+1)
		}
		name := strings.TrimSpace(d.name)
		if name == "" {
			if len(c.calls) == 1 && c.text != nil {
				return nil, nil // a text alone
			}
			return nil, errors.New(which + "the call needs a tool's name")
		}
		text, err := c.arguments(d)
		if err == nil && !(c.json && c.check == "anyway") {
			err = checkCall(c.tools, name, text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s%w", which, err)
		}
		out = append(out, sessions.Call{Name: name, Arguments: text})
	}
	return out, nil
}

// form of the drafts; its fields follow what is typed.
func (c *callForm) form(f *form) *form {
	f.fields = c.fields()
	f.changed = func(f *form) { c.follow(f) }
	f.swap = func(f *form) error { return c.swap(f) }
	if c.text != nil {
		f.more = func(f *form) { c.more(f) }
		f.less = func(f *form) { c.less(f) }
	}
	return f
}

// follow a tool's name: another tool has other parameters.
func (c *callForm) follow(f *form) {
	if c.json || c.spots[f.at].what != toolField {
		return
	}
	d := c.calls[c.spots[f.at].call]
	before := c.shown(d)
	c.take(f.values())
	if slices.Equal(before, c.shown(d)) {
		return
	}
	x := f.fields[f.at].x
	f.fields = c.fields()
	f.fields[f.at].x = x
}

// shown are the names of a draft's parameters.
func (c *callForm) shown(d *draft) (names []string) {
	for _, p := range c.ofDraft(d) {
		names = append(names, p.name)
	}
	return names
}

// swap shows the arguments as JSON, or as fields again.
func (c *callForm) swap(f *form) error {
	c.take(f.values())
	call := max(c.spots[f.at].call, 0)
	for i, d := range c.calls {
		if c.json {
			next, ok := newDraft(d.name, d.raw)
			if !ok {
				return errors.New("the arguments are not a JSON object")
			}
			c.calls[i] = next
			continue
		}
		text, err := c.arguments(d)
		if err != nil && strings.TrimSpace(d.name) != "" && len(c.tools) == 0 {
			return err
		}
		if err != nil || text == "" { // what is there so far, to be mended as JSON
			text = c.soFar(d)
		}
		d.raw = text
	}
	c.json, c.check = !c.json, "schema"
	c.show(f, call, 1)
	return nil
}

// soFar is what was typed, without what is missing or wrong.
func (c *callForm) soFar(d *draft) string {
	var out []arg
	for _, p := range c.ofDraft(d) {
		if typed := d.typed[p.name]; typed != "" {
			text, err := p.value(typed)
			if err != nil {
				text = quote(typed)
			}
			out = append(out, arg{p.name, text, true})
		}
	}
	text, err := joinArgs(out)
	if err != nil { // each is JSON
		return "{}"
	}
	return text
}

// show the fields anew with the keys in the nth field of a call.
func (c *callForm) show(f *form, call, n int) {
	f.fields = c.fields()
	f.at = 0
	for i, p := range c.spots {
		if p.call == call && p.what == toolField {
			f.at = min(i+n, len(f.fields)-1)
		}
	}
}

// more adds a call behind the others.
func (c *callForm) more(f *form) {
	c.take(f.values())
	d, _ := newDraft("", "{}")
	c.calls = append(c.calls, d)
	c.show(f, len(c.calls)-1, 0)
}

// less takes the call with the keys out.
func (c *callForm) less(f *form) {
	c.take(f.values())
	if at := c.spots[f.at].call; at >= 0 && len(c.calls) > 1 {
		c.calls = slices.Delete(c.calls, at, at+1)
		c.show(f, max(at-1, 0), 0)
	}
}

// doWrite opens the turn that is held as a form.
func doWrite(w *Workbench) tea.Cmd {
	t, _ := w.list.chosen()
	d, _ := newDraft("", "{}")
	text := ""
	c := &callForm{tools: w.opt.Tools, text: &text, calls: []*draft{d}}
	f := c.form(&form{edit: w.external, at: 1})
	said := "the turn of " + t.Key.String() + " is written: it runs, and is held before the next one"
	f.name = fmt.Sprintf("Write turn %d of %s", t.Turn+1, cleanLine(t.Key.String()))
	f.help = "Instead of the model, which is not asked: a text, calls, or both. It is marked as made by a person, is not trained on, and the trajectory counts as intervened."
	if t.HeldAt == sessions.AfterReply {
		said = "the reply of " + t.Key.String() + " is replaced: c goes on"
		f.name = fmt.Sprintf("Replace the reply of turn %d of %s", t.Turn, cleanLine(t.Key.String()))
		f.help = "The reply that waits is kept as superseded; a text, calls, or both stand in its place. They are marked as made by a person and are not trained on."
	}
	f.send = func(v []string) (tea.Cmd, error) {
		c.take(v)
		calls, err := c.made()
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(text) == "" && len(calls) == 0 {
			return nil, errors.New("the turn is empty: write a text, or name a tool")
		}
		return w.verb(said, func(cmd Commands) error { return cmd.Write(t.Key, text, calls) }), nil
	}
	w.dialog = f
	return nil
}
