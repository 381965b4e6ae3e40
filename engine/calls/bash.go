package calls

import (
	"slices"
	"strings"
)

// fenced is a fenced block of a text.
type fenced struct {
	info             string // what the opening fence says behind its backticks
	start, end       int    // with its fences
	body, bodyEnd    int
	closed, lastLine bool // lastLine: no line break follows the closing fence
}

// blocks reads bash blocks. Each is a call of the shell tool; as scaffolds that
// use this format ask for exactly one, several are answered and none runs.
func (p *parser) blocks(text string) []found {
	var list []found
	shell := p.shell()
	for _, b := range fences(text) {
		if !isBash(b.info) {
			continue
		}
		c := Call{Name: shell, Arguments: `{"command": ` + quote(text[b.body:b.bodyEnd]) + "}"}
		open := !b.closed || b.lastLine && p.cut // a cut line may go on: ```python
		if open {
			c = p.broken(c.Name, text[b.start:b.end], true, "the bash block has no end ```, so it was not run. Send the whole block again.")
		}
		list = append(list, found{c, b.start, b.end})
	}
	for i, c := range list {
		if len(list) > 1 && !c.Cut {
			list[i].Call = p.broken(c.Name, text[c.start:c.end], false, "the reply has more than one bash block, so none was run. Send exactly one.")
		}
	}
	return list
}

func isBash(info string) bool { return info == "bash" || info == "mswea_bash_command" }

// endsInBlock is whether a text ends with a bash block, or within one.
func endsInBlock(text string) bool {
	list := fences(text)
	if len(list) == 0 {
		return false
	}
	b := list[len(list)-1]
	return isBash(b.info) && space(text, b.end) == len(text)
}

// shell is the tool that takes a bash block: the first whose one required
// argument is a text named command, else one named bash, which the registry
// answers if there is none.
func (p *parser) shell() string {
	for _, t := range p.tools {
		s := readSchema(t.Parameters)
		kinds := readSchema(s.Properties["command"]).kinds()
		if len(s.Required) == 1 && s.Required[0] == "command" && slices.Contains(kinds, "string") {
			return t.Name
		}
	}
	return "bash"
}

// fences lists the fenced blocks of a text in order. A fence stands on a line
// of its own. One that says something opens a block, within another too; one
// of backticks alone closes the innermost, if it is as long as the outer's.
func fences(text string) []fenced {
	var list []fenced
	length, depth := 0, 0 // of the open block's fence; blocks open within it
	for at := 0; at < len(text); {
		end := strings.IndexByte(text[at:], '\n') + at + 1
		if end == at {
			end = len(text)
		}
		ticks, info := fence(text[at:end])
		switch last := len(list) - 1; {
		case ticks < 3 || depth > 0 && ticks < length:
		case depth == 0:
			list = append(list, fenced{info: info, start: at, end: len(text), body: end, bodyEnd: len(text)})
			length, depth = ticks, 1
		case info != "":
			depth++
		default:
			if depth--; depth == 0 {
				b := &list[last]
				b.closed, b.lastLine = true, text[end-1] != '\n'
				b.bodyEnd, b.end = max(at-1, b.body), end
			}
		}
		at = end
	}
	return list
}

// fence is how many backticks a line begins with, and what it says behind
// them; 0 when it is no fence.
func fence(line string) (ticks int, info string) {
	line = strings.TrimRight(line, " \t\r\n")
	text := strings.TrimLeft(line, " ")
	info = strings.TrimLeft(text, "`")
	if ticks = len(text) - len(info); len(line)-len(text) > 3 || strings.Contains(info, "`") {
		return 0, ""
	}
	return ticks, strings.TrimSpace(info)
}
