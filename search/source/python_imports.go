package source

// dotted reads "a.b.c" at pos, "" if there is no name.
func (p *python) dotted(inBrackets bool) string {
	start := p.pos
	name := p.identifier()
	for name != "" {
		pos, line, last := p.pos, p.line, p.last
		p.space(inBrackets)
		if p.at(p.pos) == '.' {
			p.pos++
			p.space(inBrackets)
			if part := p.identifier(); part != "" {
				if p.pos-start == len(name)+1+len(part) {
					name = p.src[start:p.pos]
				} else {
					name = join(name, part)
				}
				continue
			}
		}
		p.pos, p.line, p.last = pos, line, last
		break
	}
	return name
}

// imports reads what follows "import".
func (p *python) imports() {
	for {
		p.space(false)
		line := p.line
		name := p.dotted(false)
		if name == "" {
			p.broken = true
			return
		}
		p.refs = append(p.refs, Ref{Kind: Imports, From: p.current, Name: name, As: p.as(false), Line: line})
		if !p.comma(false) {
			return
		}
	}
}

// importsFrom reads what follows "from".
func (p *python) importsFrom() {
	level := 0
	for p.space(false); p.at(p.pos) == '.'; p.space(false) {
		level++
		p.pos++
		p.last = p.line
	}
	module := ""
	pos, line := p.pos, p.line
	if word := p.identifier(); word == "import" {
		p.pos, p.line = pos, line
	} else {
		p.pos, p.line = pos, line
		module = p.dotted(false)
	}
	p.space(false)
	if p.identifier() != "import" || module == "" && level == 0 {
		p.broken = true
		return
	}
	p.space(false)
	inBrackets := p.at(p.pos) == '('
	if inBrackets {
		p.pos++
		p.open = append(p.open, '(') // the scan of the statement closes it
	}
	for {
		p.space(inBrackets)
		line := p.line
		pos := p.pos
		target := p.identifier()
		if onlyStatement(target) {
			p.pos, p.broken = pos, true
			return
		}
		if target == "" {
			if p.at(p.pos) != '*' {
				return
			}
			target = "*"
			p.pos++
			p.last = p.line
		}
		p.refs = append(p.refs, Ref{Kind: Imports, From: p.current, Name: module, Target: target, As: p.as(inBrackets), Level: level, Line: line})
		if !p.comma(inBrackets) {
			return
		}
	}
}

// as reads "as name", if it comes next.
func (p *python) as(inBrackets bool) string {
	pos, line, last := p.pos, p.line, p.last
	p.space(inBrackets)
	if p.identifier() == "as" {
		p.space(inBrackets)
		if name := p.identifier(); name != "" {
			return name
		}
	}
	p.pos, p.line, p.last = pos, line, last
	return ""
}

// comma goes past a comma, if it comes next.
func (p *python) comma(inBrackets bool) bool {
	pos, line, last := p.pos, p.line, p.last
	p.space(inBrackets)
	if p.at(p.pos) == ',' {
		p.pos++
		p.last = p.line
		return true
	}
	p.pos, p.line, p.last = pos, line, last
	return false
}
