package calls

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const objectForm = `Send it as one JSON object with "name" and "arguments" between <tool_call> and </tool_call>.`

// object reads the JSON objects behind the <tool_call> that is tag i and
// returns where they end. A JSON object says itself where it ends, so a missing
// </tool_call> behind one is forgiven.
func (t *tagged) object(i int) int {
	start, at := t.tags[i].pos, space(t.text, t.tags[i].end)
	if !t.json || !strings.HasPrefix(t.text[at:], "{") {
		return t.noCall(i)
	}
	for {
		end, whole := objectEnd(t.text, at)
		switch {
		case whole:
		case t.cut && end == len(t.text):
			return t.add(start, end, t.broken("", t.text[start:], true, ""))
		default:
			return t.malformed(i, start, at, at, nil)
		}
		c, err := t.read(t.text[at:end])
		if err != nil {
			return t.malformed(i, start, at, end, err)
		}
		at = space(t.text, end)
		const shut = "</tool_call>"
		switch rest := t.text[at:]; {
		case strings.HasPrefix(rest, shut):
			return t.add(start, at+len(shut), c)
		case strings.HasPrefix(shut, rest):
			return t.add(start, len(t.text), c)
		case strings.HasPrefix(rest, "<tool_call>"):
			return t.add(start, end, c)
		case rest[0] != '{':
			return t.malformed(i, start, end, end, errors.New("there is more text behind the object"))
		}
		start = t.add(start, at, c) // several objects in one tag
	}
}

// noCall answers a <tool_call> that begins no call of the format.
func (t *tagged) noCall(i int) int {
	form := objectForm
	if !t.json {
		form = functionForm
	}
	g, n := t.tags[i], i+1
	for t.json && n < len(t.tags) && t.tags[n].kind != callOpen && t.tags[n].kind != callClose {
		n++
	}
	problem := "the tool call could not be read, so it was not run. " + form
	switch {
	case n < len(t.tags) && t.tags[n].kind == callClose:
		end := t.tags[n].end
		return t.add(g.pos, end, t.broken("", t.text[g.pos:end], false, problem))
	case t.cut || space(t.text, g.end) == len(t.text):
		return t.add(g.pos, len(t.text), t.broken("", t.text[g.pos:], true, problem))
	}
	return g.end
}

// malformed adds a call whose JSON, from at on, is none because of err (nil: it
// has no end). The call ends at the </tool_call> that belongs to it, counted
// from position from on; whole calls in its text are part of it.
func (t *tagged) malformed(i, start, at, from int, err error) int {
	depth, end, stop := 1, len(t.text), len(t.text)
	for _, g := range t.tags[i+1:] {
		switch {
		case g.pos < from:
		case g.kind == callOpen:
			depth++
		case g.kind == callClose:
			depth--
		}
		if depth == 0 {
			end, stop = g.end, g.pos
			break
		}
	}
	if err == nil {
		var object json.RawMessage
		err = json.Unmarshal([]byte(t.text[at:stop]), &object)
	}
	return t.add(start, end, t.broken("", t.text[start:end], depth > 0, fmt.Sprintf("the JSON of the tool call is malformed: %s. It was not run. "+
		"Inside strings write line breaks as \\n, quotes as \\\" and backslashes as \\\\. ", where(err))+objectForm))
}

func where(err error) string {
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("%s (at character %d)", s.Error(), s.Offset)
	}
	return fmt.Sprint(err)
}

// read is the call in a JSON object. An error says that it is not JSON.
func (t *tagged) read(body string) (Call, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &fields); err != nil {
		return Call{}, err
	}
	var name, inner string
	if json.Unmarshal(fields["name"], &name) != nil || name == "" {
		return t.broken("", body, false, "the tool call has no name, so it was not run. "+objectForm), nil
	}
	args := string(fields["arguments"])
	if args == "" || args == "null" {
		args = "{}"
	}
	if json.Unmarshal([]byte(args), &inner) == nil { // an object written as a string
		args = inner
	}
	args = strings.ToValidUTF8(strings.TrimSpace(args), "\uFFFD")
	if !strings.HasPrefix(args, "{") || !json.Valid([]byte(args)) {
		return t.broken(name, body, false, `the "arguments" of the tool call are not a JSON object, so it was not run. `+objectForm), nil
	}
	return Call{Name: name, Arguments: args}, nil
}

// objectEnd is the end of the JSON object at position at. Not ok, it is the
// text's, or where it gave up: at what no JSON can hold, at the latest at a tag
// outside a string. Readings that overlap see each other's strings as what is
// outside of them, so two at most get past a tag, and a text full of tags is
// still read in linear time.
func objectEnd(text string, at int) (end int, ok bool) {
	depth, quoted := 0, false
	for i := at; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted && c < ' ' || !quoted && (c == '<' || c == '\\'):
			return i, false
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(text), false
}
