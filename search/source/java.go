package source

// java reads Java. Only members and types are definitions there.
var java = dialect{dollar: true, textBlocks: true, chars: true}

func scanJava(src string) *File { return walk("java", src, java, nextJava) }

func nextJava(w *walker, i int) int {
	switch w.kind(i) {
	case opening:
		switch w.char(i) {
		case '(':
			if i != w.head {
				w.javaCall(i)
			}
		case '{':
			w.javaBody(i)
		}
	case punct:
		switch {
		case w.char(i) == '@' && w.is(i+1, "interface"):
			return w.javaType(i+1, i)
		case w.char(i) == '@' && w.kind(i+1) == word:
			return w.javaAnnotation(i)
		case w.char(i) == ';' && w.scope().kind == enumScope && w.direct():
			w.scope().kind = classScope // behind the constants
		}
	case word:
		return w.javaWord(i)
	}
	return i + 1
}

func (w *walker) javaWord(i int) int {
	if w.char(i-1) == '.' {
		return i + 1
	}
	switch w.text(i) {
	case "class", "interface", "enum":
		return w.javaType(i, i)
	case "record":
		if w.kind(i+1) == word && (w.char(i+2) == '(' || w.char(i+2) == '<') {
			return w.javaType(i, i)
		}
	case "import":
		if w.scope().kind == fileScope {
			return w.javaImport(i)
		}
	}
	if k := w.scope().kind; k == classScope && w.direct() {
		return w.javaMember(i)
	}
	return i + 1
}

// javaStart goes back from token i over modifiers, not over annotations.
func (w *walker) javaStart(i int) int {
	for {
		switch {
		case w.is(i-1, "public", "protected", "private", "static", "final", "abstract", "native",
			"synchronized", "transient", "volatile", "strictfp", "default", "sealed"):
			i--
		case w.is(i-1, "sealed") || w.is(i-1, "non"):
			i--
		case w.char(i-1) == '-' && w.is(i-2, "non"):
			i -= 2
		default:
			return i
		}
	}
}

// javaType takes a class, interface, enum, record or annotation type, whose
// keyword is at i; its own tokens begin at first.
func (w *walker) javaType(i, first int) int {
	if w.kind(i+1) != word {
		return i + 1 // X.class
	}
	first = w.javaStart(first)
	k := i + 2
	if next := w.angles(k); next > k {
		k = next
	}
	from := k
	body := w.jsClassBody(k)
	if body < 0 {
		return i + 1
	}
	last := int(w.toks[body].mate)
	name := w.text(i + 1)
	id := w.add(Class, name, first, body, last)
	kind := classScope
	if w.is(i, "enum") {
		kind = enumScope
	}
	w.enter(kind, id, body, last, name)
	w.supertypes(from, body)
	if w.char(k) == '(' {
		w.head = k
	}
	return k
}

// javaMember takes a method or constructor at word i, if it is the name of one.
func (w *walker) javaMember(i int) int {
	s := w.scope()
	switch {
	case w.char(i+1) == '{' && w.text(i) == s.name && w.javaBegins(w.javaStart(i)): // compact constructor
		body := i + 1
		last := int(w.toks[body].mate)
		id := w.add(Function, w.text(i), w.javaStart(i), body, last)
		w.enter(functionScope, id, body, last, "")
		return body
	case w.char(i+1) != '(':
		return i + 1
	}
	first := w.javaFirst(i)
	if first < 0 || first == i && w.text(i) != s.name {
		return i + 1
	}
	k := w.after(i + 1)
	for n := 0; n < maxAhead && w.spend(); n++ {
		switch w.char(k) {
		case '{', ';':
			last := k
			if w.char(k) == '{' {
				last = int(w.toks[k].mate)
			}
			id := w.add(Function, w.text(i), first, k, last)
			w.enter(functionScope, id, k, last, "")
			w.head = i + 1
			return i + 1
		case 0, ',', '.', '<', '>', '@':
			k++
		case '[', '(':
			k = w.after(k)
		default:
			return i + 1
		}
		if k >= len(w.toks) {
			break
		}
	}
	return i + 1
}

// javaBegins says that a member can begin with token i.
func (w *walker) javaBegins(i int) bool {
	switch w.char(i - 1) {
	case '{', '}', ';':
		return true
	}
	return w.annotated >= 0 && w.declared == i
}

// javaFirst goes back from the name of a method to its first modifier or the
// type that it returns; -1: it is no method.
func (w *walker) javaFirst(i int) int {
	k := i
	for n := 0; n < 64 && w.spend(); n++ {
		if w.javaBegins(k) {
			return k
		}
		switch b := k - 1; {
		case w.kind(b) == word && !w.is(b, "new", "return", "throw", "else", "case"):
			k = b
		case w.char(b) == '>':
			open := w.anglesBack(b)
			if open < 0 {
				return -1
			}
			k = open
		case w.char(b) == ']' || w.char(b) == ')': // of an array, of an annotation's arguments
			k = w.before(b)
		case w.char(b) == '.' || w.char(b) == '@' || w.char(b) == '?':
			k = b
		default:
			return -1
		}
	}
	return -1
}

// javaBody opens the body of an anonymous class or of an enum's constant.
func (w *walker) javaBody(i int) {
	s := w.scope()
	if s.body == i {
		return
	}
	constant := s.kind == enumScope && s.body >= 0 && len(w.opens) > 1 && w.opens[len(w.opens)-2] == s.body
	if !constant && !(w.char(i-1) == ')' && w.anonymous(w.before(i-1))) {
		return
	}
	w.enter(classScope, s.entity, i, int(w.toks[i].mate), "")
}

// anonymous says that the parenthesis at i holds the arguments of "new X".
func (w *walker) anonymous(i int) bool {
	_, first, _ := w.called(i)
	return first > 0 && (w.is(first-1, "new") || w.isSpecial(first-1) && w.is(w.anglesBack(first-1)-1, "new"))
}

func (w *walker) javaCall(i int) {
	name, first, last := w.called(i)
	if last < 0 || first > 0 && w.char(first-1) == '@' {
		return
	}
	switch name {
	case "if", "for", "while", "switch", "catch", "return", "synchronized", "try", "assert", "throw", "case", "yield", "do", "else", "new":
		return
	}
	// The constants of an enum look like calls: they are, of its constructor.
	w.refer(Invokes, name, last)
}

// javaAnnotation takes the annotations that begin at i.
func (w *walker) javaAnnotation(i int) int {
	k := i + 1
	for w.char(k+1) == '.' && w.kind(k+2) == word {
		k += 2
	}
	name, _ := w.nameAt(k)
	end := k + 1
	if w.char(end) == '(' {
		w.head = end
		end = w.after(end)
	}
	if c := w.char(i - 1); c == '{' || c == '}' || c == ';' || c == 0 && w.kind(i-1) != word || w.declared == i {
		w.annotate(i, end)
	}
	w.refer(Decorates, name, k)
	return k + 1
}

// javaImport takes "import static a.b.C.*;".
func (w *walker) javaImport(i int) int {
	k := i + 1
	if w.is(k, "static") {
		k++
	}
	first := k
	for w.kind(k) == word && w.char(k+1) == '.' {
		k += 2
	}
	if k == first || w.kind(k) != word && w.char(k) != '*' {
		return i + 1
	}
	w.refs = append(w.refs, Ref{
		Kind: Imports, From: -1, Name: w.src[w.toks[first].start:w.toks[k-2].end],
		Target: w.text(k), Line: int(w.toks[i].line),
	})
	return k + 1
}
