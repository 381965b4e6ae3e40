package source

var rust = dialect{nested: true, lines: true, chars: true, lifetimes: true, rust: true}

func scanRust(src string) *File { return walk("rust", src, rust, nextRust) }

func nextRust(w *walker, i int) int {
	switch w.kind(i) {
	case opening:
		if w.char(i) == '(' && i != w.head && w.scope().kind != enumScope {
			w.rustCall(i)
		}
	case punct:
		switch w.char(i) {
		case '#':
			return w.rustAttribute(i)
		case '!':
			if w.kind(i+1) == opening && w.kind(i-1) == word && w.toks[i-1].end == w.toks[i].start {
				return w.rustMacro(i)
			}
		}
	case word:
		if w.toks[i].start > 0 && w.src[w.toks[i].start-1] == '#' {
			return i + 1 // r#type
		}
		return w.rustWord(i)
	}
	return i + 1
}

func (w *walker) rustWord(i int) int {
	switch w.text(i) {
	case "fn":
		return w.rustFunction(i)
	case "struct", "enum", "union", "trait":
		return w.rustType(i)
	case "impl":
		return w.rustImpl(i)
	case "mod":
		return w.rustModule(i)
	case "type":
		if w.scope().kind == fileScope && w.kind(i+1) == word {
			last := w.semicolon(i)
			w.add(Class, w.text(i+1), w.rustStart(i), last, last)
			return last
		}
	case "const", "static":
		return w.rustVariable(i)
	case "use":
		return w.rustUse(i)
	case "macro_rules":
		if w.char(i+1) == '!' && w.kind(i+2) == word && w.kind(i+3) == opening {
			last := int(w.toks[i+3].mate)
			w.add(Function, w.text(i+2), i, i+3, last)
			return last // its tokens are patterns
		}
	case "extern":
		if w.is(i+1, "crate") && w.kind(i+2) == word {
			as := ""
			if w.is(i+3, "as") {
				as = w.text(i + 4)
			}
			w.refs = append(w.refs, Ref{Kind: Imports, From: w.scope().entity, Name: w.text(i + 2), As: as, Line: int(w.toks[i].line)})
			return i + 3
		}
	}
	return i + 1
}

// rustStart goes back from token i over visibility and qualifiers.
func (w *walker) rustStart(i int) int {
	for {
		switch {
		case w.is(i-1, "pub", "const", "async", "unsafe", "extern", "default", "auto", "safe"):
			i--
		case w.kind(i-1) == text && w.is(i-2, "extern"):
			i -= 2
		case w.char(i-1) == ')' && w.is(w.before(i-1)-1, "pub"):
			i = w.before(i-1) - 1
		default:
			return i
		}
	}
}

// semicolon is the next ";" at the level of token k, or the last token of it.
func (w *walker) semicolon(k int) int {
	for n := 0; k < len(w.toks) && n < 4*maxAhead && w.spend(); n++ {
		switch w.kind(k) {
		case opening:
			k = w.after(k)
			continue
		case closing:
			return k - 1
		case punct:
			if w.char(k) == ';' {
				return k
			}
		}
		k++
	}
	return min(k, len(w.toks)) - 1
}

// rustBody looks from k for the brace of a definition; -1: last ends it.
func (w *walker) rustBody(k int) (body, last int) {
	for n := 0; k < len(w.toks) && n < 2*maxAhead && w.spend(); n++ {
		switch w.char(k) {
		case '{':
			return k, int(w.toks[k].mate)
		case ';':
			return -1, k
		case '(', '[':
			k = w.after(k)
			continue
		case ')', ']', '}':
			return -1, k - 1
		}
		k++
	}
	return -1, min(k, len(w.toks)) - 1
}

func (w *walker) rustFunction(i int) int {
	if w.kind(i+1) != word {
		return i + 1 // the type of a function
	}
	k := i + 2
	if next := w.angles(k); next > k {
		k = next
	}
	if w.char(k) != '(' {
		return i + 1
	}
	body, last := w.rustBody(w.after(k))
	id := w.add(Function, w.text(i+1), w.rustStart(i), w.headEnd(body, last), last)
	if s := w.scope(); s.kind == classScope && s.name != "" {
		w.entities[id].Receiver = s.name
	}
	w.enter(functionScope, id, body, last, "")
	w.head = k
	return i + 2
}

func (w *walker) rustType(i int) int {
	if w.kind(i+1) != word || w.is(i, "union") && w.char(i+2) != '{' && w.char(i+2) != '<' || w.is(i-1, "mod", "fn", "let") {
		return i + 1
	}
	k := i + 2
	if next := w.angles(k); next > k {
		k = next
	}
	if w.char(k) == '(' {
		w.head = k
	}
	body, last := w.rustBody(k)
	id := w.add(Class, w.text(i+1), w.rustStart(i), w.headEnd(body, last), last)
	kind := classScope
	if w.is(i, "enum") {
		kind = enumScope
	}
	w.enter(kind, id, body, last, "")
	if w.is(i, "trait") && body > 0 && w.char(k) == ':' {
		for k++; k < body && !w.is(k, "where"); k++ {
			if w.kind(k) == word && !w.pair(k+1, "::") {
				name, _ := w.nameAt(k)
				w.refer(Inherits, name, k)
			}
			if next := w.angles(k + 1); next > k+1 {
				k = next - 1
			}
		}
	}
	return i + 2
}

// rustImpl takes "impl<T> Trait for Type".
func (w *walker) rustImpl(i int) int {
	switch w.char(i - 1) {
	case ';', '{', '}', ']':
	default:
		if i > 0 && !w.is(i-1, "unsafe", "default") {
			return i + 1
		}
	}
	k := i + 1
	if next := w.angles(k); next > k {
		k = next
	}
	body, last := w.rustBody(k)
	if body < 0 {
		return i + 1
	}
	trait, at, from := "", -1, k
	for ; k < body && !w.is(k, "where"); k++ {
		if w.is(k, "for") && w.char(k+1) != '<' {
			trait, at = w.typeName(from, k)
			from = k + 1
		}
		if next := w.angles(k); next > k {
			k = next - 1
		}
	}
	name, _ := w.typeName(from, body)
	if trait != "" && name != "" {
		w.pending = append(w.pending, len(w.refs))
		w.refs = append(w.refs, Ref{Kind: Inherits, From: -1, Name: trait, As: name, Line: int(w.toks[at].line)})
	}
	w.enter(classScope, w.scope().entity, body, last, name)
	return body
}

// typeName is the path of the type written between from and end, without its
// arguments, and its last token.
func (w *walker) typeName(from, end int) (string, int) {
	for k := from; k < end && !w.is(k, "where"); k++ {
		if w.kind(k) != word || w.is(k, "mut", "dyn", "const", "for", "unsafe", "fn") {
			continue
		}
		for w.pair(k+1, "::") && w.kind(k+3) == word {
			k += 3
		}
		name, _ := w.nameAt(k)
		return name, k
	}
	return "", -1
}

func (w *walker) rustModule(i int) int {
	if w.kind(i+1) != word {
		return i + 1
	}
	switch w.char(i + 2) {
	case '{':
		w.enter(fileScope, w.scope().entity, i+2, int(w.toks[i+2].mate), "")
		return i + 2
	case ';':
		w.refs = append(w.refs, Ref{Kind: Imports, From: w.scope().entity, Name: "self::" + w.text(i+1), Line: int(w.toks[i].line)})
	}
	return i + 2
}

// rustVariable takes const and static.
func (w *walker) rustVariable(i int) int {
	k := i + 1
	if w.is(k, "mut", "ref") {
		k++
	}
	if w.scope().kind != fileScope || !w.direct() || w.kind(k) != word || w.char(k+1) != ':' || w.is(k, "_") {
		return i + 1
	}
	last := w.semicolon(k)
	id := w.add(Variable, w.text(k), w.rustStart(i), 0, last)
	w.enter(functionScope, id, -1, last, "")
	return k + 1
}

// rustAttribute takes "#[…]" and "#![…]".
func (w *walker) rustAttribute(i int) int {
	if w.char(i+1) == '!' && w.char(i+2) == '[' {
		return min(w.after(i+2), len(w.toks))
	}
	if w.char(i+1) != '[' {
		return i + 1
	}
	end := min(w.after(i+1), len(w.toks))
	w.annotate(i, end)
	if k := i + 2; w.kind(k) == word {
		for w.pair(k+1, "::") && w.kind(k+3) == word {
			k += 3
		}
		name, _ := w.nameAt(k)
		w.refer(Decorates, name, k)
	}
	return end
}

// rustMacro takes "name!(…)" and the definition of a macro.
func (w *walker) rustMacro(i int) int {
	name, _ := w.nameAt(i - 1)
	switch name {
	case "if", "while", "match", "return", "in":
	default:
		w.refer(Invokes, name, i-1)
	}
	return i + 1
}

func (w *walker) rustCall(i int) {
	name, first, last := w.called(i)
	if last < 0 || w.is(first-1, "fn") {
		return
	}
	switch name {
	case "if", "while", "match", "return", "in", "for", "loop", "let", "mut", "ref", "as", "else", "move",
		"fn", "where", "pub", "Fn", "FnMut", "FnOnce", "Some", "Ok", "Err", "break", "dyn", "impl", "box", "await", "use", "unsafe", "extern", "async", "const":
		return
	}
	w.refer(Invokes, name, last)
}
