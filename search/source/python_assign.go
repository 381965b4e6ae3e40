package source

// assign notes the variables that targets, the text before a "=" or the colon of
// an annotation, gives a value. Attributes and elements are none of the module's.
func (p *python) assign(targets string, line int, single bool) {
	names, ok := targetNames(targets, p.names[:0])
	p.names = names
	if !ok || single && len(names) > 1 {
		return
	}
	for _, name := range names {
		p.entities = append(p.entities, Entity{Kind: Variable, Name: name, Parent: -1, Start: line})
	}
	if len(names) > 0 && p.current < 0 {
		p.current = len(p.entities) - len(names)
	}
}

// targetNames appends the plain names of a list of targets; false: text is none.
func targetNames(text string, names []string) ([]string, bool) {
	expect := true // a target may begin here
	candidate := ""
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\f' || c == '\n' || c == '\\':
			i++
		case c == '#':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case expect && (c == '(' || c == '[' || c == '*'):
			i++
		case expect && startsWord(c):
			end := wordEnd(text, i)
			candidate, expect = text[i:end], false
			i = end
		case c == ',':
			if candidate != "" {
				names = append(names, candidate)
			}
			candidate, expect = "", true
			i++
		case c == ')' || c == ']':
			expect = false
			i++
		case !expect && c == '.':
			candidate = ""
			for i++; i < len(text) && (isWord[text[i]] || text[i] == ' '); i++ {
			}
		case !expect && (c == '(' || c == '['):
			candidate = ""
			i = balanced(text, i)
		default:
			return names, false
		}
	}
	if candidate != "" {
		names = append(names, candidate)
	}
	return names, true
}

// balanced is where the brackets that open at i have all closed again.
func balanced(text string, i int) int {
	depth := 0
	for ; i < len(text); i++ {
		switch c := text[i]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
			if depth == 0 {
				return i + 1
			}
		case '"', '\'':
			for i++; i < len(text) && text[i] != c; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return len(text)
}

// alias notes "type X = …" and "type X[T] = …" of Python 3.12.
func (p *python) alias(line int) bool {
	pos, last := p.pos, p.last
	p.pos += len("type")
	p.space(false)
	name := p.identifier()
	p.space(false)
	c := p.at(p.pos)
	alias := name != "" && p.line == line && (c == '[' || c == '=' && p.at(p.pos+1) != '=') && !isKeyword(name)
	p.pos, p.line, p.last = pos, line, last
	if alias {
		p.entities = append(p.entities, Entity{Kind: Variable, Name: name, Parent: -1, Start: line})
		p.current = len(p.entities) - 1
	}
	return alias
}
