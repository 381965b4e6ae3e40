// Package calls reads tool calls out of the text of a model's reply, for
// endpoints that do not do it themselves. Its input is the text, the tools and
// the finish reason; its output the thinking, what was said, and the calls.
//
// What a call needs to run is not checked here but by the tools' registry, for
// calls read here and by the server alike: whether the tool exists, whether its
// required arguments are there, whether an argument is known to it and one of
// the allowed values. A Problem is only what the registry could not see any
// more: text that is no call, a call without its end, a value that is not of
// the parameter's type, and a parameter given twice (of two equal keys in JSON
// the last one counts, as for calls read by the server).
//
// A call runs only when its own end is there. Where a reply was cut off
// (finish reason length), or a reading would need a guess, nothing runs.
package calls

import (
	"encoding/json"
	"strings"
)

// Format is how a model writes tool calls into its text.
type Format string

// The formats. docs/calls.md shows an example of each.
const (
	Hermes     Format = "hermes"      // <tool_call>{"name": …, "arguments": {…}}</tool_call>
	Function   Format = "function"    // <function=…><parameter=…>…</parameter></function>
	Qwen3Coder Format = "qwen3_coder" // <tool_call><function=…>…</function></tool_call>
	Bash       Format = "bash"        // a fenced block marked bash: one call of the shell tool
	Auto       Format = "auto"        // one of the above, by what the reply holds
	None       Format = "none"        // the text is left as it is, thinking included
)

// Formats are all formats. Parse takes any other as None.
func Formats() []Format { return []Format{Hermes, Function, Qwen3Coder, Bash, Auto, None} }

// Tool is what must be known of a tool: its name and the JSON schema of its
// arguments.
type Tool struct {
	Name       string
	Parameters json.RawMessage
}

// Reply is a reply taken apart. Content is the text outside the thinking and
// the calls: byte for byte where there are neither; after thinking without its
// leading line breaks; with calls the pieces around them, each without its
// outer white space, with a line break between them. Reasoning is without its
// outer line breaks.
type Reply struct {
	Reasoning, Content string
	Calls              []Call
}

// Call is one tool call. Arguments is the text of a JSON object. Problem says
// in words for the model why the call cannot run, "" when it can; Arguments is
// then the call as the model wrote it. Cut says that the reply was cut off
// within the call, which is then a Problem too, but not the model's mistake.
type Call struct {
	Name, Arguments, Problem string
	Cut                      bool
}

// Parse takes a reply apart. Finish is the endpoint's finish reason: "length"
// says that the reply was cut off. It takes time linear in the text, and any
// text.
//
// Thinking ends at </think>; its opening tag may stand in the prompt. Where it
// does, put it in front of text: only so is thinking without an end known as
// such.
func Parse(f Format, text string, tools []Tool, finish string) Reply {
	if !known(f) {
		return Reply{Content: text}
	}
	p := &parser{format: f, tools: tools, cut: finish == "length"}
	reasoning, rest, thought := p.think(text)
	found := p.find(rest)
	r := Reply{Reasoning: strings.Trim(reasoning, "\r\n"), Content: outside(rest, found)}
	if thought {
		r.Content = strings.TrimLeft(r.Content, "\r\n")
	}
	for _, c := range found {
		r.Calls = append(r.Calls, c.Call)
	}
	return r
}

func known(f Format) bool {
	switch f {
	case Hermes, Function, Qwen3Coder, Bash, Auto:
		return true
	}
	return false
}

// parser holds what does not change while a reply is read.
type parser struct {
	format Format
	tools  []Tool
	cut    bool                                  // the reply was cut off
	params map[string]map[string]json.RawMessage // schemas by tool and parameter, of the tools called so far
}

// found is a call and where it stands, markup included.
type found struct {
	Call
	start, end int
}

// find reads the calls of a text without thinking, in order.
func (p *parser) find(text string) []found {
	tags := scan(text)
	f := p.format
	if f == Auto {
		f = pick(text, tags)
	}
	switch f {
	case Hermes, Function, Qwen3Coder:
		t := tagged{parser: p, text: text, tags: tags, json: f == Hermes, wrapped: f != Function}
		return t.calls()
	case Bash:
		return p.blocks(text)
	}
	return nil
}

// pick is the format of a text: that of the first tag which begins a call,
// else of any tag that could, else bash when the text ends with a bash block.
func pick(text string, tags []tag) Format {
	f := None
	for i, t := range tags {
		here := next(tags, i)
		switch {
		case t.kind == callOpen && strings.HasPrefix(text[space(text, t.end):], "{"):
			return Hermes
		case t.kind == callOpen && here == functionOpen:
			return Qwen3Coder
		case t.kind == functionOpen && (here == paramOpen || here == functionClose):
			return Function
		case t.kind == callOpen && f == None:
			f = Hermes
		case t.kind == functionOpen && f == None:
			f = Function
		}
	}
	if f == None && endsInBlock(text) {
		return Bash
	}
	return f
}

// outside is the text around the calls.
func outside(text string, calls []found) string {
	if len(calls) == 0 {
		return text
	}
	var pieces []string
	at := 0
	add := func(piece string) {
		if piece = strings.TrimSpace(piece); piece != "" {
			pieces = append(pieces, piece)
		}
	}
	for _, c := range calls {
		add(text[at:c.start])
		at = c.end
	}
	add(text[at:])
	return strings.Join(pieces, "\n")
}

// broken is a call that cannot run. Open says that it reaches the end of the
// reply without an end of its own: where the reply was cut off, that is why.
func (p *parser) broken(name, raw string, open bool, problem string) Call {
	c := Call{Name: name, Arguments: raw, Problem: "ERROR: " + problem}
	if open && p.cut {
		c.Cut = true
		c.Problem = "ERROR: the tool call was cut off before it was complete, so it was not run. Send the whole call again, with less text in it."
	}
	return c
}

// clip shortens a name for a message.
func clip(name string) string {
	const most = 60
	if len(name) > most {
		name = name[:most] + "…"
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}
