package calls

import "strings"

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// think splits the thinking off a reply. Thought is whether there was any.
func (p *parser) think(text string) (reasoning, rest string, thought bool) {
	if body, opened := strings.CutPrefix(text[space(text, 0):], thinkOpen); opened {
		if reasoning, rest, closed := strings.Cut(body, thinkClose); closed {
			return reasoning, rest, true
		}
		at := p.lastRun(body)
		return body[:at], body[at:], true
	}
	if at := p.thoughtEnd(text); at >= 0 {
		return text[:at], text[at+len(thinkClose):], true
	}
	return "", text, false
}

// thoughtEnd is where the thinking ends whose opening tag is in the prompt: at
// the first closing tag that is not part of a call's arguments, or -1. A call
// without an end proves nothing, unless the reply was cut off in it.
func (p *parser) thoughtEnd(text string) int {
	at := strings.Index(text, thinkClose)
	if at < 0 {
		return -1
	}
	for _, c := range p.find(text) {
		if at < c.start {
			break
		}
		if at >= c.end || c.Problem != "" && !p.cut {
			continue
		}
		more := strings.Index(text[c.end:], thinkClose)
		if more < 0 {
			return -1
		}
		at = c.end + more
	}
	return at
}

// lastRun is where the calls begin with which a reply ends that never closed
// its thinking (some models act from within it), or the text's length.
func (p *parser) lastRun(text string) int {
	at := len(text)
	if p.cut {
		return at
	}
	list := p.find(text)
	for i := len(list) - 1; i >= 0; i-- {
		c := list[i]
		if c.Problem != "" || space(text, c.end) < at {
			break
		}
		at = c.start
	}
	return at
}
