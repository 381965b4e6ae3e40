package source

// jsClass takes "class".
func (w *walker) jsClass(i int) int {
	k := i + 1
	name, first := "", w.jsStart(i)
	switch {
	case w.kind(k) == word && !w.is(k, "extends", "implements"):
		name = w.text(k)
		k++
	case w.char(k) != '{' && !w.is(k, "extends", "implements"):
		return i + 1 // a name of something
	default:
		if bound, start := w.bound(first); bound != "" {
			name, first = bound, w.jsStart(start)
		}
	}
	from := k
	body := w.jsClassBody(k)
	if body < 0 {
		return i + 1
	}
	last := int(w.toks[body].mate)
	id := w.scope().entity
	if name != "" {
		id = w.add(Class, name, first, body, last)
	}
	w.enter(classScope, id, body, last, name)
	if name != "" {
		w.supertypes(from, body)
	}
	return from
}

// jsClassBody is the brace of the class whose head goes on at k.
func (w *walker) jsClassBody(k int) int {
	for n := 0; k < len(w.toks) && n < maxAhead && w.spend(); n++ {
		switch c := w.char(k); c {
		case '{':
			return k
		case '(', '[':
			k = w.after(k)
			continue
		case '<':
			if next := w.angles(k); next > k {
				k = next
				continue
			}
		case ';', ')', ']', '}', '=':
			return -1
		}
		k++
	}
	return -1
}

// supertypes notes the names behind "extends" and "implements" (and "permits"
// of Java, which names subtypes and is left out) before token end.
func (w *walker) supertypes(k, end int) {
	if next := w.angles(k); next > k {
		k = next
	}
	listing := false
	for k < end {
		switch {
		case w.is(k, "extends", "implements"):
			listing = true
		case w.is(k, "permits"):
			listing = false
		case w.char(k) == '(':
			k = w.after(k)
			continue
		case w.char(k) == '<':
			if next := w.angles(k); next > k {
				k = next
				continue
			}
		case listing && w.kind(k) == word && w.char(k+1) != '.' && w.char(k+1) != '(' && !w.is(k-1, "with"):
			name, _ := w.nameAt(k)
			w.refer(Inherits, name, k)
		}
		k++
	}
}

// jsMember takes a method or a field at word i of a class; i: it is none.
func (w *walker) jsMember(i int) int {
	if i < w.valueAt {
		return i // in the type of a field
	}
	first := i
	for w.is(first-1, "static", "async", "get", "set", "public", "private", "protected", "readonly",
		"abstract", "override", "declare", "accessor", "export", "default") || w.char(first-1) == '*' || w.char(first-1) == '#' {
		first--
	}
	name, k := w.text(i), i+1
	if c := w.char(k); c == '?' || c == '!' {
		k++
	}
	if next := w.angles(k); next > k {
		k = next
	}
	switch w.char(k) {
	case '(':
		body, last := w.jsBody(w.after(k))
		before := w.char(first - 1)
		begins := before == '{' || before == ';' || before == '}' || w.annotated >= 0 && w.declared == first ||
			w.toks[first].line > w.toks[first-1].last
		if body < 0 && (!begins || w.how == javaScript && w.char(last) != ';') || jsKeyword(name) && !begins {
			return i
		}
		id := w.add(Function, name, first, w.headEnd(body, last), last)
		w.enter(functionScope, id, body, last, "")
		w.head = k
		return k
	case '=':
		if w.char(k+1) != '=' {
			w.valueAt, w.valueName, w.valueFirst = k+1, name, first
		}
	case ':':
		if at := w.typedValue(k); at > 0 {
			w.valueAt, w.valueName, w.valueFirst = at, name, first
		}
	}
	return i
}

// typedValue is the first token behind the "=" that follows the type at the
// colon k, -1 if none follows.
func (w *walker) typedValue(k int) int {
	colon, angled := k, false
	for n := 0; k < len(w.toks) && n < 100 && w.spend(); n++ {
		if k > colon && (angled || w.kind(k-1) != punct) && w.beginsStatement(k) {
			return -1
		}
		angled = false
		switch c := w.char(k); c {
		case '(', '[', '{':
			k = w.after(k)
			continue
		case '<':
			if next := w.angles(k); next > k {
				k, angled = next, true
				continue
			}
		case '=':
			if !w.pair(k, "=>") {
				return k + 1
			}
			k++
		case ';', ')', ']', '}', ',':
			return -1
		}
		k++
	}
	return -1
}

// jsShorthand takes "name(…) {…}" in an object; word i may be the name.
func (w *walker) jsShorthand(i int) int {
	if len(w.opens) == 0 || w.char(w.opens[len(w.opens)-1]) != '{' {
		return i + 1
	}
	k := i + 1
	if w.char(k) == '<' {
		k = w.angles(k)
	}
	if w.char(k) != '(' {
		return i + 1
	}
	first := i
	for w.is(first-1, "async", "get", "set") || w.char(first-1) == '*' {
		first--
	}
	if c := w.char(first - 1); c != '{' && c != ',' {
		return i + 1
	}
	name := w.text(i)
	body, last := w.jsBody(w.after(k))
	switch name {
	case "if", "for", "while", "switch", "catch", "with", "function":
		return i + 1
	}
	if body < 0 {
		return i + 1
	}
	id := w.add(Function, name, first, body, last)
	w.enter(functionScope, id, body, last, "")
	w.head = k
	return k
}

// tsType takes interface, enum, type, namespace and module.
func (w *walker) tsType(i int) int {
	first, k := w.jsStart(i), i+2
	switch w.text(i) {
	case "namespace", "module":
		for w.char(k) == '.' && w.kind(k+1) == word {
			k += 2
		}
		if w.char(k) != '{' {
			return i + 1
		}
		w.enter(fileScope, w.scope().entity, k, int(w.toks[k].mate), "")
		return k
	case "type":
		if next := w.angles(k); next > k {
			k = next
		}
		if w.char(k) != '=' || w.pair(k, "=>") || w.pair(k, "==") {
			return i + 1
		}
		last := w.expressionEnd(k + 1)
		w.add(Class, w.text(i+1), first, k, last)
		return last + 1
	}
	body := w.jsClassBody(k)
	if body < 0 {
		return i + 1
	}
	last := int(w.toks[body].mate)
	id := w.add(Class, w.text(i+1), first, body, last)
	w.enter(functionScope, id, body, last, "")
	w.supertypes(k, body)
	return last // what looks like calls in it declares members
}
