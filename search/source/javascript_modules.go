package source

// jsImport takes import and export.
func (w *walker) jsImport(i int) int {
	k := i + 1
	if w.is(i, "export") {
		// Only "export … from" refers to a module.
		if w.is(k, "type") {
			k++
		}
		switch w.char(k) {
		case '*':
			end := k + 1
			as := ""
			if w.is(end, "as") {
				as = w.text(end + 1)
				end += 2
			}
			if w.is(end, "from") && w.kind(end+1) == text {
				target := "*"
				if as != "" {
					target = ""
				}
				w.imported(end+1, target, as, k)
				return end + 2
			}
		case '{':
			if end := w.after(k); w.is(end, "from") && w.kind(end+1) == text {
				w.importedNames(k, end+1)
				return end + 2
			}
		}
		return i + 1
	}
	if w.kind(k) == text { // import "x"
		w.imported(k, "", "", k)
		return k + 1
	}
	return w.jsImportClause(i, k)
}

// jsImportClause takes "a, {b as c}, * as d from 'x'", which begins at k.
func (w *walker) jsImportClause(i, k int) int {
	if w.is(k, "type", "typeof") && (w.kind(k+1) == word && !w.is(k+1, "from") || w.char(k+1) == '{' || w.char(k+1) == '*') {
		k++
	}
	from := k
	for n := 0; n < 12 && !(w.is(k, "from") && w.kind(k+1) == text); n++ {
		switch {
		case w.char(k) == '{':
			k = w.after(k)
		case w.kind(k) == word, w.char(k) == ',', w.char(k) == '*':
			k++
		default:
			return i + 1 // import(…), import.meta
		}
	}
	if !w.is(k, "from") {
		return i + 1
	}
	for j := from; j < k; {
		switch {
		case w.char(j) == '{':
			w.importedNames(j, k+1)
			j = w.after(j)
			continue
		case w.char(j) == '*' && w.is(j+1, "as"):
			w.imported(k+1, "", w.text(j+2), j)
			j += 2
		case w.kind(j) == word:
			w.imported(k+1, "default", w.text(j), j)
		}
		j++
	}
	return k + 2
}

// imported notes an import from the module that the string at module names.
func (w *walker) imported(module int, target, as string, at int) {
	w.refs = append(w.refs, Ref{Kind: Imports, From: -1, Name: unquote(w.text(module)), Target: target, As: as, Line: int(w.toks[at].line)})
}

// importedNames notes "{a, b as c}" at brace k.
func (w *walker) importedNames(k, module int) {
	end := int(w.toks[k].mate)
	for k++; k < end; k++ {
		if w.kind(k) != word && w.kind(k) != text {
			continue
		}
		if w.is(k, "type") && w.kind(k+1) == word && !w.is(k+1, "as") {
			continue
		}
		target, as, at := w.text(k), "", k
		if w.is(k+1, "as") {
			as = w.text(k + 2)
			k += 2
		}
		w.imported(module, target, as, at)
	}
}

// jsVariables takes const, let and var.
func (w *walker) jsVariables(i int) int {
	if w.is(i+1, "enum") {
		return i + 1
	}
	return w.jsDeclarator(i+1, w.jsStart(i))
}

// jsDeclarator takes the name and value at k of a declaration whose first token
// is first. Only those of the module become entities.
func (w *walker) jsDeclarator(k, first int) int {
	if w.kind(k) != word {
		return k // a pattern
	}
	value := -1
	switch w.char(k + 1) {
	case '=':
		value = k + 2
	case ':':
		value = w.typedValue(k + 1)
	}
	if value > 0 {
		w.valueAt, w.valueName, w.valueFirst = value, w.text(k), first
	}
	if w.scope().kind != fileScope || !w.direct() {
		return k + 1
	}
	last := k
	if value > 0 {
		last = w.expressionEnd(value)
	}
	if w.char(last+1) == ',' {
		w.comma, w.valueFirst = last+1, first
	}
	if value > 0 && (w.isFunction(value) || w.is(value, "require") && w.kind(value+2) == text && w.char(value+4) != '.') {
		return k + 1
	}
	id := w.add(Variable, w.text(k), first, last+1, last)
	w.entities[id].Signature = ""
	if value > 0 {
		w.enter(functionScope, id, -1, last, "")
	}
	return k + 1
}

// isFunction says that the value at k is a function or class, which will be an
// entity of its own.
func (w *walker) isFunction(k int) bool {
	if w.is(k, "async") {
		k++
	}
	if w.is(k, "function", "class") {
		return true
	}
	if next := w.angles(k); next > k {
		k = next
	}
	switch {
	case w.kind(k) == word:
		return w.pair(k+1, "=>")
	case w.char(k) == '(':
		end := w.after(k)
		return w.pair(end, "=>") || w.char(end) == ':'
	}
	return false
}
