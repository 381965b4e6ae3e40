package source

import "strings"

// statement reads one statement, or the head of a compound one up to its colon.
func (p *python) statement() event {
	p.space(false)
	if p.pos >= len(p.src) {
		return atEnd
	}
	c := p.src[p.pos]
	switch c {
	case '\n':
		p.pos++
		p.line++
		return atLine
	case ';':
		p.pos++
		return atSemicolon
	}
	doc := p.doc
	p.doc = -2
	if c == '@' {
		return p.decorate()
	}
	word := ""
	if startsWord(c) {
		word = p.src[p.pos:wordEnd(p.src, p.pos)]
	}
	line := p.line
	switch word {
	case "class":
		p.skipWord(word)
		return p.define(Class, p.pos-len(word), line)
	case "def":
		p.skipWord(word)
		return p.define(Function, p.pos-len(word), line)
	case "async":
		if start := p.pos; p.asyncDef() {
			return p.define(Function, start, line)
		}
	}
	p.decorated = 0
	switch word {
	case "import":
		p.skipWord(word)
		p.imports()
	case "from":
		p.skipWord(word)
		p.importsFrom()
	case "if", "elif", "else", "for", "while", "try", "except", "finally", "with", "async":
		return p.head()
	}
	if doc != -2 {
		p.docstring(doc, word)
	}
	return p.simple(word)
}

// skipWord goes past a keyword.
func (p *python) skipWord(word string) {
	p.pos += len(word)
	p.last = p.line
}

// asyncDef goes past "async def"; false: it is something else, pos stays.
func (p *python) asyncDef() bool {
	pos, line, last := p.pos, p.line, p.last
	p.pos += len("async")
	p.space(false)
	if p.identifier() == "def" {
		return true
	}
	p.pos, p.line, p.last = pos, line, last
	return false
}

// decorate reads the line of a decorator. Its references will belong to what it
// decorates.
func (p *python) decorate() event {
	if p.decorated == 0 {
		p.decorated, p.decorator = p.line, len(p.refs)
	}
	p.pos++
	p.last = p.line
	p.space(false)
	start := p.pos
	for p.pos < len(p.src) && (isWord[p.src[p.pos]] || p.src[p.pos] == '.') {
		p.pos++
	}
	end := p.pos
	p.space(false)
	if next := p.at(p.pos); end > start && startsWord(p.src[start]) && (next == '(' || next == '\n' || next == 0) {
		p.refs = append(p.refs, Ref{Kind: Decorates, From: p.current, Name: p.src[start:end], Line: p.line})
	}
	p.pos = start
	return p.simple("@")
}

// at is the byte at i, 0 at the end.
func (p *python) at(i int) byte {
	if i < len(p.src) {
		return p.src[i]
	}
	return 0
}

// head reads the head of an if, for, with and so on.
func (p *python) head() event {
	for {
		switch ev := p.scan(); ev {
		case atAssign, atComma, atOpen:
		default:
			return ev
		}
	}
}

// define reads the head of a class or function whose text begins at start and
// whose keyword has been read.
func (p *python) define(kind Kind, start, line int) event {
	p.space(false)
	name := p.identifier()
	if name == "" {
		p.broken = true
		p.decorated = 0
		return p.simple("")
	}
	id := len(p.entities)
	p.entities = append(p.entities, Entity{
		Kind: kind, Name: name, Parent: p.current, Start: line, Decorated: p.decorated,
	})
	if p.decorated > 0 {
		for i := p.decorator; i < len(p.refs); i++ {
			p.refs[i].From = id
		}
		p.decorated = 0
	}
	p.blocks = append(p.blocks, block{id, p.col})
	p.current = id
	p.bases = kind == Class
	ev := p.header()
	p.bases, p.commas = false, -1
	end := p.pos
	switch ev {
	case atColon:
		end--
		p.doc = id
	case atLine:
		p.broken = true
		end = max(end-1, start)
	default:
		p.broken = true
	}
	p.entities[id].Signature = strings.TrimRight(p.src[start:end], " \t\n\f;")
	return ev
}

// header goes on to the colon of a class or function and notes base classes.
func (p *python) header() event {
	for {
		ev := p.scan()
		switch ev {
		case atOpen:
			p.bases, p.commas = false, 1
			p.base()
		case atComma:
			p.base()
		case atAssign:
		default:
			return ev
		}
	}
}

// base looks at the next argument of a class and notes it if it is a name, with
// or without a subscript. Nothing is consumed but white space.
func (p *python) base() {
	p.space(true)
	start := p.pos
	for p.pos < len(p.src) && (isWord[p.src[p.pos]] || p.src[p.pos] == '.') {
		p.pos++
	}
	end, line, last := p.pos, p.line, p.last
	if end > start && startsWord(p.src[start]) && !isKeyword(p.src[start:end]) {
		p.space(true)
		switch p.at(p.pos) {
		case ',', ')', '[':
			p.refs = append(p.refs, Ref{Kind: Inherits, From: p.current, Name: p.src[start:end], Line: line})
		}
	}
	p.pos, p.line, p.last = start, line, last
}

// simple reads a statement to its end and notes the variables of the module that
// it assigns.
func (p *python) simple(word string) event {
	start, line, first := p.pos, p.line, len(p.entities)
	soft := word == "match" || word == "case"
	if soft {
		p.pattern = len(p.refs)
	}
	outermost := len(p.blocks) == 0
	alias := outermost && word == "type" && p.alias(line)
	from, annotated := start, alias
	ev := p.scan()
	for ; ev == atAssign || ev == atColon || ev == atComma; ev = p.scan() {
		if ev == atColon {
			if soft && p.softHead(word, p.src[start:p.pos-1]) {
				break
			}
			if outermost && !annotated && from == start {
				p.assign(p.src[from:p.pos-1], line, true)
			}
			annotated = true
			continue
		}
		if ev == atAssign && outermost && !annotated {
			p.assign(p.src[from:p.pos-1], line, false)
		}
		from = p.pos
	}
	p.pattern, p.guard = -1, -1
	for i := first; i < len(p.entities); i++ {
		p.entities[i].End = p.last
	}
	if outermost {
		p.current = -1
	}
	return ev
}

// softHead says whether a statement that begins with "match" or "case" and has
// just met its colon is the head of one. Then what looked like calls in it were
// patterns; in the guard of a pattern they are calls.
func (p *python) softHead(word, text string) bool {
	rest := strings.TrimLeft(text[len(word):], " \t\f\\\n")
	if rest == "" || rest[0] == '.' {
		return false
	}
	if word == "match" {
		if p.pattern < len(p.refs) && p.refs[p.pattern].Name == "match" {
			p.refs = append(p.refs[:p.pattern], p.refs[p.pattern+1:]...)
		}
		return true
	}
	end := len(p.refs)
	if p.guard >= 0 {
		end = p.guard
	}
	p.refs = append(p.refs[:p.pattern], p.refs[end:]...)
	return true
}

// docstring takes the string that a body begins with.
func (p *python) docstring(of int, word string) {
	quote := p.pos + len(word)
	if q := p.at(quote); q != '"' && q != '\'' {
		return
	}
	switch word {
	case "", "r", "R", "u", "U", "ur", "uR", "Ur", "UR":
	default:
		return
	}
	q := p.src[quote]
	from, to := p.plain(quote, p.at(quote+1) == q && p.at(quote+2) == q)
	pos, line, last := p.pos, p.line, p.last
	p.space(false)
	switch c := p.at(p.pos); {
	case c == 0, c == '\n', c == ';', pyClass[c] == pyQuote, startsWord(c) && p.stringFollows():
		if of == -1 {
			p.docs = p.src[from:to]
		} else {
			p.entities[of].Doc = p.src[from:to]
		}
	}
	p.pos, p.line, p.last = pos, line, last
}

// stringFollows says that the word at pos is the prefix of a string: parts of one
// string are written side by side.
func (p *python) stringFollows() bool {
	end := wordEnd(p.src, p.pos)
	format, ok := prefix(p.src[p.pos:end])
	return ok && !format && pyClass[p.at(end)] == pyQuote
}
