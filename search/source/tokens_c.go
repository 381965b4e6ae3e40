package source

import "strings"

// condition is an #if whose #endif is still to come.
type condition struct {
	floor  int // of the stack outside
	branch int
	height int // of the stack when the first branch ended
}

// rawCpp takes R"x(…)x", whose prefix ends at pos.
func (l *lexer) rawCpp(start int) bool {
	switch l.src[start:l.pos] {
	case "R", "LR", "uR", "UR", "u8R":
	default:
		return false
	}
	n := l.pos + 1
	for n < len(l.src) && n-l.pos <= 17 && strings.IndexByte("()\\ \t\n\"", l.src[n]) < 0 {
		n++
	}
	if l.at(n) != '(' {
		return false
	}
	l.raw(start, n+1, ")"+l.src[l.pos+1:n]+"\"")
	return true
}

// directive takes a line of the preprocessor with its continuations.
func (l *lexer) directive() {
	start, line := l.pos, l.line
	l.logicalLine()
	l.emit(directive, start, line)
	name, rest := directiveName(l.src[start:l.pos])
	switch name {
	case "if", "ifdef", "ifndef":
		l.conds = append(l.conds, condition{floor: l.floor})
		if name == "if" && strings.TrimSpace(rest) == "0" {
			l.dead()
		}
	case "elif", "else", "elifdef", "elifndef":
		l.branch()
	case "endif":
		l.endif()
	}
}

// logicalLine goes to the end of a line that backslashes and comments prolong.
func (l *lexer) logicalLine() {
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; c {
		case '\n':
			if l.src[l.pos-1] != '\\' && !strings.HasSuffix(l.src[:l.pos], "\\\r") {
				return
			}
			l.line++
		case '/':
			switch l.at(l.pos + 1) {
			case '/':
				n := strings.IndexByte(l.src[l.pos:], '\n')
				if n < 0 {
					n = len(l.src) - l.pos
				}
				l.pos += n
				continue
			case '*':
				l.comment()
				continue
			}
		case '"', '\'':
			// A comment sign inside a string is none. An apostrophe may stand alone.
			n := 1
			for l.at(l.pos+n) != c && l.at(l.pos+n) != '\n' && l.pos+n < len(l.src) {
				if l.at(l.pos+n) == '\\' && l.at(l.pos+n+1) != '\n' {
					n++
				}
				n++
			}
			if l.at(l.pos+n) == c && l.pos+n < len(l.src) {
				l.pos += n
			} else if n > 1 {
				l.pos += n - 1
				if l.pos >= len(l.src) {
					l.pos = len(l.src)
					return
				}
			}
		}
		l.pos++
	}
	l.pos = min(l.pos, len(l.src))
}

// directiveName splits "#  define X 1".
func directiveName(line string) (name, rest string) {
	line = strings.TrimLeft(line[1:], " \t")
	n := 0
	for n < len(line) && isWord[line[n]] {
		n++
	}
	return line[:n], line[n:]
}

// dead skips the first branch of "#if 0".
func (l *lexer) dead() {
	depth := 0
	for l.pos < len(l.src) {
		l.pos++ // the line end
		l.line++
		start := l.pos
		for l.at(l.pos) == ' ' || l.at(l.pos) == '\t' {
			l.pos++
		}
		if l.at(l.pos) == '#' {
			end := strings.IndexByte(l.src[l.pos:], '\n')
			if end < 0 {
				end = len(l.src) - l.pos
			}
			switch name, _ := directiveName(l.src[l.pos : l.pos+end]); name {
			case "if", "ifdef", "ifndef":
				depth++
			case "endif":
				depth--
				if depth < 0 {
					l.pos, l.fresh = start, true
					return
				}
			case "else", "elif":
				if depth == 0 {
					// What follows counts as the first branch.
					l.conds[len(l.conds)-1].branch = -1
					l.pos, l.fresh = start, true
					return
				}
			}
		}
		n := strings.IndexByte(l.src[l.pos:], '\n')
		if n < 0 {
			l.pos = len(l.src)
			return
		}
		l.pos += n
	}
}

// branch begins an #else or #elif. The brackets that the first branch left open
// stay so; those of further branches are paired among themselves only.
func (l *lexer) branch() {
	if len(l.conds) == 0 {
		l.broken = true
		return
	}
	c := &l.conds[len(l.conds)-1]
	c.branch++
	switch {
	case c.branch <= 0:
		return
	case c.branch == 1:
		c.height = len(l.stack)
	default:
		l.drop(c.height)
	}
	l.floor = c.height
}

func (l *lexer) endif() {
	if len(l.conds) == 0 {
		l.broken = true
		return
	}
	c := l.conds[len(l.conds)-1]
	l.conds = l.conds[:len(l.conds)-1]
	if c.branch > 0 {
		l.drop(c.height)
	}
	l.floor = c.floor
}

// drop forgets brackets above height: they end at the directive.
func (l *lexer) drop(height int) {
	for len(l.stack) > height {
		l.pop(len(l.toks) - 1)
	}
}
