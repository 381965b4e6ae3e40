package calls

import "fmt"

// tagged reads the formats that are made of tags.
type tagged struct {
	*parser
	text    string
	tags    []tag
	json    bool // <tool_call> holds JSON
	wrapped bool // <tool_call> begins a call; else it is tolerated around one
	list    []found
}

// calls reads all calls. An opening tag that begins none is taken for prose,
// unless the reply was cut off: then what follows may be part of it.
func (t *tagged) calls() []found {
	if !t.json {
		pair(t.tags)
	}
	for i, at := 0, 0; i < len(t.tags); i++ {
		g := t.tags[i]
		switch {
		case g.pos < at:
		case g.kind == callOpen && !t.json && next(t.tags, i) == functionOpen:
			at = t.block(i+1, g.pos)
		case g.kind == callOpen && t.wrapped:
			at = t.object(i)
		case g.kind == functionOpen && !t.json:
			at = t.block(i, g.pos)
		case g.kind == functionClose && !t.json && closes(t.tags, i):
			at = t.doubt(g.end)
		}
	}
	return t.list
}

// doubt answers a call behind which another end of a call stands, at position
// end: one of its values may hold the end taken for the call's own.
func (t *tagged) doubt(end int) int {
	if n := len(t.list); n > 0 {
		c := &t.list[n-1]
		c.end = end
		c.Call = t.broken(c.Name, t.text[c.start:end], false, "the tool call has two ends, so where its last value ends is not known, and it was not run. "+
			"Send it again without </parameter> and </function> in a value.")
	}
	return end
}

// add appends a call and returns its end.
func (t *tagged) add(start, end int, c Call) int {
	t.list = append(t.list, found{c, start, end})
	return end
}

// block reads the functions that follow each other from tag i on, and returns
// the end of the last one, a closing </tool_call> included. Start is where the
// first one's wrapper begins.
func (t *tagged) block(i, start int) int {
	for {
		c, last, end, ok := t.function(i)
		if !ok {
			return t.tags[i].end
		}
		at := t.add(start, end, c)
		switch next(t.tags, last) {
		case callClose:
			at = t.tags[last+1].end
			t.list[len(t.list)-1].end = at
			return at
		case functionOpen:
			i = last + 1
			start = t.tags[i].pos
		default:
			return at
		}
	}
}

// function reads the call that begins at tag i. Last is its last tag, the
// text's where it has no end. Not ok is a tag in prose.
func (t *tagged) function(i int) (c Call, last, end int, ok bool) {
	open := t.tags[i]
	args := arguments{schema: t.schema(open.name)}
	bad := func(problem string) (Call, int, int, bool) {
		if k := open.close; k > 0 {
			end := t.tags[k].end
			return t.broken(open.name, t.text[open.pos:end], false, problem), k, end, true
		}
		return t.broken(open.name, t.text[open.pos:], true, problem), len(t.tags) - 1, len(t.text), true
	}
	for last = i; ; {
		switch follows := next(t.tags, last); {
		case follows == functionClose:
			end = t.tags[last+1].end
			if args.problem != "" {
				return t.broken(open.name, t.text[open.pos:end], false, args.problem), last + 1, end, true
			}
			return Call{Name: open.name, Arguments: args.text()}, last + 1, end, true
		case follows == paramOpen:
			p := last + 1
			if last = t.valueEnd(p); last == 0 {
				return bad(t.unclosed(p))
			}
			args.add(t.tags[p].name, t.text[t.tags[p].end:t.tags[last].pos])
		case space(t.text, t.tags[last].end) == len(t.text):
			return bad(noFunctionEnd)
		case open.close == 0 && last == i && !t.cut:
			return Call{}, 0, 0, false
		default:
			return bad(otherText)
		}
	}
}

const (
	noFunctionEnd = "the tool call has no end </function>, so it was not run. Send the whole call again."
	otherText     = "in the tool call stands text outside its parameters, so it was not run. " + functionForm
	functionForm  = "Send it as <function=NAME>, then each argument as <parameter=NAME>VALUE</parameter>, then </function>."
)

// valueEnd is the index of the tag that ends the value of parameter tag i, or
// 0. Where the tags in the value do not pair up, it is the first closing tag
// after which the call goes on.
func (t *tagged) valueEnd(i int) int {
	if !t.tags[i].lost {
		return t.tags[i].close
	}
	for k := i + 1; k < len(t.tags); k++ {
		if follows := next(t.tags, k); t.tags[k].kind == paramClose && (follows == paramOpen || follows == functionClose) {
			return k
		}
	}
	return 0
}

// unclosed says why the value of parameter tag i has no end.
func (t *tagged) unclosed(i int) string {
	for _, g := range t.tags[i+1:] {
		switch {
		case g.kind != paramClose:
		case space(t.text, g.end) == len(t.text):
			return noFunctionEnd
		default:
			return otherText
		}
	}
	return fmt.Sprintf("the parameter %q of the tool call has no end </parameter>, so the call was not run. Send the whole call again.", clip(t.tags[i].name))
}
