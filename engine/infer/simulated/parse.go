package simulated

import (
	"encoding/json"
	"slices"
	"strings"
)

// part of a reply's ids: [from, to) is text of that kind. Streaming sends
// parts as their tokens come.
type part struct {
	kind     partKind
	call     int // of callText
	from, to int
}

type partKind int

const (
	reasoningText partKind = iota
	contentText
	callText // the arguments of a call
)

// call of a reply; Arguments verbatim.
type call struct {
	name      string
	arguments string
}

// reply as the server parses what was sampled.
type reply struct {
	reasoning string
	content   string
	calls     []call
	parts     []part
	broken    bool // call markers that could not be parsed stand in the content
}

func (r reply) message() message {
	m := message{Role: "assistant", Content: content(r.content), Reasoning: r.reasoning}
	for _, c := range r.calls {
		var w messageCall
		w.Function.Name, w.Function.Arguments = c.name, arguments(c.arguments)
		m.ToolCalls = append(m.ToolCalls, w)
	}
	return m
}

// parseReply splits sampled ids, without the end of the turn. Only what
// renders back to the same ids is split off: a malformed or cut reply is
// content with its markers spelled out, so no token is ever lost.
func parseReply(ids []int32) reply {
	reasoning, rest := splitThinking(ids)
	whole := func(r reply) bool { return slices.Equal(appendReply(nil, r.message()), ids) }
	if calls, ok := splitCalls(ids, rest); ok {
		r := reply{reasoning: reasoning.text(ids), content: calls.body.text(ids), calls: calls.list}
		r.parts = append(nonEmpty(reasoning, calls.body), calls.parts...)
		if whole(r) {
			return r
		}
	}
	broken := slices.Contains(ids, idCall) || slices.Contains(ids, idCallEnd)
	body := part{kind: contentText, from: rest, to: len(ids)}
	r := reply{reasoning: reasoning.text(ids), content: body.text(ids), parts: nonEmpty(reasoning, body), broken: broken}
	if whole(r) {
		return r
	}
	body.from = 0
	return reply{content: body.text(ids), parts: nonEmpty(body), broken: broken}
}

func (p part) text(ids []int32) string { return decode(ids[p.from:p.to]) }

func nonEmpty(parts ...part) []part {
	return slices.DeleteFunc(parts, func(p part) bool { return p.from >= p.to })
}

// splitThinking finds a leading thinking block; rest is the index after it.
func splitThinking(ids []int32) (thinking part, rest int) {
	if len(ids) < 2 || ids[0] != idThink || ids[1] != '\n' {
		return part{}, 0
	}
	end := slices.Index(ids, idThinkEnd)
	if end < 4 || ids[end-1] != '\n' || len(ids) < end+3 || ids[end+1] != '\n' || ids[end+2] != '\n' {
		return part{}, 0
	}
	return part{kind: reasoningText, from: 2, to: end - 1}, end + 3
}

type callList struct {
	body  part
	list  []call
	parts []part
}

// splitCalls reads content and the calls after it. ok is false when the calls
// are not whole, or followed by something else.
func splitCalls(ids []int32, at int) (out callList, ok bool) {
	out.body = part{kind: contentText, from: at, to: len(ids)}
	first := slices.Index(ids[at:], idCall)
	if first < 0 {
		return out, true
	}
	pos := at + first
	out.body.to = pos
	if pos > at {
		out.body.to-- // the line end before the first call
	}
	for {
		size := slices.Index(ids[pos:], idCallEnd)
		if size < 3 {
			return out, false
		}
		text := decode(ids[pos+1 : pos+size])
		c, argsAt, ok := parseCall(text)
		if !ok {
			return out, false
		}
		from := pos + 1 + argsAt
		out.parts = append(out.parts, part{callText, len(out.list), from, pos + size - 2}) // up to the closing brace
		out.list = append(out.list, c)
		pos += size + 1
		if pos == len(ids) {
			return out, true
		}
		if pos+1 >= len(ids) || ids[pos] != '\n' || ids[pos+1] != idCall {
			return out, false
		}
		pos++
	}
}

// parseCall reads "\n{…}\n"; argsAt is where the arguments begin.
func parseCall(text string) (c call, argsAt int, ok bool) {
	body, found := strings.CutPrefix(text, "\n")
	body, ends := strings.CutSuffix(body, "\n")
	var shape struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if !found || !ends || json.Unmarshal([]byte(body), &shape) != nil {
		return c, 0, false
	}
	head := callHead(shape.Name)
	if !strings.HasPrefix(body, head) || len(body) <= len(head) {
		return c, 0, false
	}
	return call{shape.Name, body[len(head) : len(body)-1]}, 1 + len(head), true
}
