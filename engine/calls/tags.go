package calls

import "strings"

// kind of a tag.
type kind int

const (
	noTag kind = iota
	callOpen
	callClose
	functionOpen
	functionClose
	paramOpen
	paramClose
)

var spelled = []struct {
	kind  kind
	text  string
	named bool // a name and > follow
}{
	{callOpen, "<tool_call>", false},
	{callClose, "</tool_call>", false},
	{functionOpen, "<function=", true},
	{functionClose, "</function>", false},
	{paramOpen, "<parameter=", true},
	{paramClose, "</parameter>", false},
}

// tag is one tag of a reply. Whether it is markup of a call or only text in
// one is found out later.
type tag struct {
	kind     kind
	pos, end int    // of the tag itself
	name     string // of a function or parameter; "" when the text ends within it
	adjacent bool   // nothing but white space up to the next tag
	close    int    // index of the tag that closes it, 0 when none does
	lost     bool   // a parameter whose function was closed before it
}

// scan lists the tags of a text in order.
func scan(text string) []tag {
	var tags []tag
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '<')
		if i < 0 {
			return tags
		}
		at += i
		t, ok := tagAt(text, at)
		if !ok {
			at++
			continue
		}
		if n := len(tags); n > 0 {
			tags[n-1].adjacent = space(text, tags[n-1].end) >= t.pos
		}
		tags = append(tags, t)
		at = t.end
	}
}

func tagAt(text string, at int) (tag, bool) {
	for _, s := range spelled {
		if !strings.HasPrefix(text[at:], s.text) {
			continue
		}
		t := tag{kind: s.kind, pos: at, end: at + len(s.text)}
		if !s.named {
			return t, true
		}
		n := strings.IndexAny(text[t.end:], "<>\n")
		if n < 0 {
			t.end = len(text)
			return t, true
		}
		t.name = strings.TrimSpace(text[t.end : t.end+n])
		t.end += n + 1
		return t, text[t.end-1] == '>'
	}
	return tag{}, false
}

// next is the kind of the tag that follows tag i with only white space
// between, or noTag.
func next(tags []tag, i int) kind {
	if i < 0 || i+1 >= len(tags) || !tags[i].adjacent {
		return noTag
	}
	return tags[i+1].kind
}

// space is the first position from at on that is not white space.
func space(text string, at int) int {
	for at < len(text) && strings.IndexByte(" \t\r\n", text[at]) >= 0 {
		at++
	}
	return at
}

// closes is whether </function>, tag i, follows the end of a parameter.
func closes(tags []tag, i int) bool {
	return i > 0 && tags[i-1].adjacent && tags[i-1].kind == paramClose
}

// pair finds the closing tag of each function and parameter. A value may hold
// tags too, even whole calls: what is nested is paired first, and a closing tag
// counts only where the grammar has one: </parameter> before another parameter
// or the function's end, </function> after a parameter or the opening tag. A
// </parameter> elsewhere can at most close one that was opened within a value.
func pair(tags []tag) {
	var open []int
	params := 0 // in open
	pop := func() int {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		if tags[i].kind == paramOpen {
			params--
		}
		return i
	}
	for i, t := range tags {
		switch t.kind {
		case functionOpen:
			open = append(open, i)
		case paramOpen:
			open = append(open, i)
			params++
		case paramClose:
			follows := next(tags, i)
			if follows != paramOpen && follows != functionClose {
				if n := len(open); n > 1 && tags[open[n-1]].kind == paramOpen && tags[open[n-2]].kind == paramOpen {
					tags[pop()].close = i // of one within a value
				}
				continue
			}
			for params > 0 {
				if j := pop(); tags[j].kind == paramOpen {
					tags[j].close = i
					break
				}
			}
		case functionClose:
			if !closes(tags, i) && (i == 0 || !tags[i-1].adjacent || tags[i-1].kind != functionOpen) {
				continue
			}
			for len(open) > params {
				j := pop()
				if tags[j].kind == functionOpen {
					tags[j].close = i
					break
				}
				tags[j].lost = true
			}
		}
	}
}
