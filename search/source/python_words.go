package source

import "strings"

// word takes the identifier, keyword or string prefix at pos. True: it can only
// begin a statement although brackets are open, so the scan starts afresh there.
func (p *python) word() bool {
	start := p.pos
	end := wordEnd(p.src, start)
	word := p.src[start:end]
	if end < len(p.src) && (p.src[end] == '"' || p.src[end] == '\'') && len(word) <= 3 {
		if format, ok := prefix(word); ok {
			p.pos = end
			p.text(end, format)
			return false
		}
	}
	if len(p.open) > 0 && onlyStatement(word) && p.firstOfLine(start) {
		return p.recover(start)
	}
	p.pos, p.last = end, p.line
	switch word {
	case "lambda":
		p.lambdas = append(p.lambdas, len(p.open))
		return false
	case "if":
		if p.pattern >= 0 && p.guard < 0 && len(p.open) == 0 {
			p.guard = len(p.refs)
		}
		return false
	}
	p.chain(start, "")
	return false
}

// prefix says whether word before a quote is a string prefix, and of an f-string.
// Python 2 has "ur", 3.14 has "t" and "rt".
func prefix(word string) (format, ok bool) {
	for i := range len(word) {
		switch word[i] | 0x20 {
		case 'f', 't':
			format = true
		case 'r', 'b', 'u':
		default:
			return false, false
		}
	}
	return format, len(word) <= 2
}

// onlyStatement says that word is a keyword which no expression can hold.
func onlyStatement(word string) bool {
	switch word {
	case "def", "class", "return", "import", "raise", "while", "with", "try", "except",
		"finally", "elif", "del", "pass", "break", "continue", "global", "assert":
		return true
	}
	return false
}

// firstOfLine says that only white space precedes at on its line.
func (p *python) firstOfLine(at int) bool {
	for at > 0 {
		at--
		switch p.src[at] {
		case ' ', '\t', '\f':
		default:
			return p.src[at] == '\n'
		}
	}
	return true
}

// recover drops the brackets that were never closed and goes on with the line of
// at. False: it was an f-string that went wrong, which is read as plain text.
func (p *python) recover(at int) bool {
	if len(p.formats) > 0 {
		p.unformat()
		return false
	}
	p.broken = true
	p.open, p.lambdas = p.open[:0], p.lambdas[:0]
	p.pos = strings.LastIndexByte(p.src[:at], '\n') + 1
	return true
}

// chain follows a dotted name, read from start to pos, and notes a call if one is
// made of it. With a dot in front it belongs to an expression: ".join". name is
// not empty if its parts stand apart, with white space between them.
func (p *python) chain(start int, name string) {
	src := p.src
	for p.pos < len(src) {
		switch src[p.pos] {
		case '.':
			if p.pos+1 < len(src) && startsWord(src[p.pos+1]) {
				next := wordEnd(src, p.pos+1)
				if name != "" {
					name = join(name, src[p.pos+1:next])
				}
				p.pos = next
				continue
			}
		case '(':
			if name == "" {
				name = src[start:p.pos]
			}
			p.call(name)
			return
		case ' ', '\t', '\f', '\\':
		case '\n', '#':
			if len(p.open) == 0 {
				return
			}
		default:
			return
		}
		// White space: what follows it may go on with the name.
		joined := name
		if joined == "" {
			joined = src[start:p.pos]
		}
		if !p.resume(&joined) {
			return
		}
		name = joined
	}
}

// member takes a dot that no name precedes: of a number, an ellipsis, or before
// a member of an expression's value.
func (p *python) member() {
	start := p.pos
	p.pos++
	p.space(len(p.open) > 0)
	name := p.identifier()
	switch {
	case name == "":
	case p.pos-start == 1+len(name):
		p.chain(start, "")
	default:
		p.chain(start, "."+name)
	}
}

// resume skips white space after a name. True: at pos is a parenthesis, or one
// more part was added to name. False: nothing was skipped.
func (p *python) resume(name *string) bool {
	pos, line, last := p.pos, p.line, p.last
	p.space(len(p.open) > 0)
	if p.pos < len(p.src) {
		switch p.src[p.pos] {
		case '(':
			return true
		case '.':
			p.pos++
			p.space(len(p.open) > 0)
			if part := p.identifier(); part != "" {
				*name = join(*name, part)
				return true
			}
		}
	}
	p.pos, p.line, p.last = pos, line, last
	return false
}

// call notes a call of name, unless it is a keyword; at pos is its parenthesis,
// the line of its last part is p.last.
func (p *python) call(name string) {
	if isKeyword(name) {
		return
	}
	for _, constant := range []string{"True.", "False.", "None."} {
		if strings.HasPrefix(name, constant) {
			name = name[len(constant)-1:]
		}
	}
	p.refs = append(p.refs, Ref{Kind: Invokes, From: p.current, Name: name, Line: p.last})
	if name == "super" {
		p.open = append(p.open, superCall)
		p.pos++
		p.last = p.line
	}
}

// afterSuper notes "super().save" after the parenthesis of super has closed.
func (p *python) afterSuper() {
	before, closed := len(p.refs), p.pos
	pos, line, last := p.pos, p.line, p.last
	p.space(len(p.open) > 0)
	if p.at(p.pos) != '.' {
		p.pos, p.line, p.last = pos, line, last
		return
	}
	start := p.pos
	p.member()
	if len(p.refs) == before {
		return
	}
	name := &p.refs[before].Name
	from, end := closed-len("super()"), start+len(*name)
	if start == closed && p.src[from:start] == "super()" && p.src[start:end] == *name {
		*name = p.src[from:end]
	} else {
		*name = "super()" + *name
	}
}

// isKeyword tells the words that can stand before a parenthesis without a call.
func isKeyword(word string) bool {
	switch word {
	case "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
		"continue", "def", "del", "elif", "else", "except", "finally", "for", "from",
		"global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass",
		"raise", "return", "try", "while", "with", "yield":
		return true
	}
	return false
}

// maxName bounds a dotted name whose parts stand apart, so that joining them
// takes linear time.
const maxName = 1 << 10

func join(name, part string) string {
	if len(name) > maxName {
		return name
	}
	return name + "." + part
}
