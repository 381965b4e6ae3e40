package source

import "strings"

var (
	javaScript = dialect{dollar: true, script: true, jsx: true}
	typeScript = dialect{dollar: true, script: true}
)

// scanJavaScript reads JavaScript and TypeScript with and without JSX. In plain
// TypeScript "<" before a value is a cast, not an element.
func scanJavaScript(path, language, src string) *File {
	how := javaScript
	if language == "typescript" && !strings.HasSuffix(path, "x") {
		how = typeScript
	}
	return walk(language, src, how, nextJavaScript)
}

func nextJavaScript(w *walker, i int) int {
	switch w.kind(i) {
	case tag:
		if name := w.text(i); name[0] >= 'A' && name[0] <= 'Z' || strings.IndexByte(name, '.') > 0 {
			w.refer(Invokes, name, i)
		}
	case opening:
		if w.char(i) == '(' && i != w.head {
			w.jsCall(i)
		}
	case punct:
		switch {
		case i == w.comma:
			return w.jsDeclarator(i+1, w.valueFirst)
		case w.pair(i, "=>"):
			return w.jsArrow(i)
		case w.char(i) == '@' && w.kind(i+1) == word:
			return w.jsDecorator(i)
		}
	case word:
		if w.char(i-1) == '.' && w.char(i-2) != '.' {
			return i + 1
		}
		return w.jsWord(i)
	}
	return i + 1
}

func (w *walker) jsWord(i int) int {
	if w.scope().kind == classScope && w.direct() {
		if next := w.jsMember(i); next > i {
			return next
		}
	}
	switch w.text(i) {
	case "function":
		return w.jsFunction(i)
	case "class":
		return w.jsClass(i)
	case "import", "export":
		return w.jsImport(i)
	case "const", "let", "var":
		if w.is(i-1, "as") {
			return i + 1
		}
		return w.jsVariables(i)
	case "interface", "enum", "type", "namespace", "module":
		if w.kind(i+1) == word && !w.is(i+1, "in", "of", "instanceof") || w.is(i, "module") && w.kind(i+1) == text && w.char(i+2) == '{' {
			return w.tsType(i)
		}
	}
	return w.jsShorthand(i)
}

// jsCall notes what is called with the parenthesis at i.
func (w *walker) jsCall(i int) {
	name, first, last := w.called(i)
	if last < 0 {
		return
	}
	switch name {
	case "require", "import":
		if w.kind(i+1) == text && int(w.toks[i].mate) == i+2 {
			as := ""
			if w.char(last-1) == '=' && w.kind(last-2) == word {
				as = w.text(last - 2)
			}
			w.refs = append(w.refs, Ref{Kind: Imports, From: w.scope().entity, Name: unquote(w.text(i + 1)), As: as, Line: int(w.toks[i].line)})
			return
		}
	case "async":
		if w.pair(w.after(i), "=>") {
			return
		}
	}
	switch name {
	case "of", "as", "is", "satisfies", "keyof", "infer":
		// Behind a value these are operators, elsewhere names.
		switch w.kind(first - 1) {
		case word:
			if !jsKeyword(w.text(first - 1)) {
				return
			}
		case closing, text, number:
			return
		}
	}
	if !jsKeyword(name) {
		w.refer(Invokes, name, last)
	}
}

func unquote(s string) string {
	if len(s) < 2 {
		return s
	}
	return s[1 : len(s)-1]
}

func jsKeyword(name string) bool {
	switch name {
	case "if", "for", "while", "switch", "catch", "with", "return", "typeof", "function", "await",
		"case", "delete", "do", "else", "in", "instanceof", "new", "throw", "void", "yield",
		"import", "export", "default", "class", "extends", "const", "let", "var", "finally", "try":
		return true
	}
	return false
}

// jsStart goes back from token i over the words that may stand before a
// declaration.
func (w *walker) jsStart(i int) int {
	for w.is(i-1, "export", "default", "async", "declare", "abstract", "const") && !w.is(i-2, "as") {
		i--
	}
	return i
}

// jsFunction takes "function".
func (w *walker) jsFunction(i int) int {
	first := w.jsStart(i)
	k := i + 1
	if w.char(k) == '*' {
		k++
	}
	name := ""
	if w.kind(k) == word {
		name = w.text(k)
		k++
	}
	if bound, start := w.bound(first); bound != "" {
		name, first = bound, start
	}
	k = w.angles(k)
	if w.char(k) != '(' {
		return i + 1
	}
	w.head = k
	body, last := w.jsBody(w.after(k))
	if name == "" {
		return k
	}
	id := w.add(Function, name, first, w.headEnd(body, last), last)
	w.enter(functionScope, id, body, last, "")
	return k
}

// headEnd is where a signature ends: at the body, or with the declaration.
func (w *walker) headEnd(body, last int) int {
	if body >= 0 {
		return body
	}
	if w.char(last) == ';' {
		return last
	}
	return last + 1
}

// jsBody looks behind the parameters of a function for its body, past the type
// that it returns. Without a body, -1, last ends the declaration.
func (w *walker) jsBody(k int) (body, last int) {
	typed, angled := w.char(k) == ':', false
	for n := 0; k < len(w.toks) && n < maxAhead && w.spend(); n++ {
		if (angled || w.kind(k-1) != punct) && w.kind(k) == word && w.beginsStatement(k) {
			return -1, k - 1
		}
		angled = false
		switch c := w.char(k); {
		case c == '{':
			if typed && w.char(k-1) != ')' && w.char(k-1) != ']' && w.char(k-1) != '}' && w.char(k-1) != '>' && w.kind(k-1) == punct {
				k = w.after(k) // a type
				continue
			}
			return k, int(w.toks[k].mate)
		case c == ';':
			return -1, k
		case c == ')' || c == ']' || c == '}' || c == ',':
			return -1, k - 1
		case c == '<':
			if next := w.angles(k); next > k {
				k, angled = next, true
				continue
			}
		case c == '(' || c == '[':
			k = w.after(k)
			continue
		case !typed:
			return -1, k - 1
		}
		k++
	}
	return -1, k - 1
}

// bound is the name that the value whose first token is at i is given, and the
// first token of what gives it.
func (w *walker) bound(i int) (name string, first int) {
	if i == w.valueAt {
		return w.valueName, w.valueFirst
	}
	k := i - 1
	switch w.char(k) {
	case '=':
		if w.kind(k-1) == punct && w.char(k-1) != '#' || w.kind(k-1) != word {
			return "", i
		}
		_, first := w.nameAt(k - 1)
		return w.text(k - 1), first
	case ':':
		if c := w.char(k - 2); c != '{' && c != ',' {
			return "", i
		}
		switch w.kind(k - 1) {
		case word:
			return w.text(k - 1), k - 1
		case text:
			return unquote(w.text(k - 1)), k - 1
		}
	}
	return "", i
}

// jsArrow takes "=>" at i.
func (w *walker) jsArrow(i int) int {
	p := w.arrowParameters(i - 1)
	if p < 0 {
		return i + 2
	}
	if w.char(p-1) == '>' {
		if open := w.anglesBack(p - 1); open >= 0 {
			p = open
		}
	}
	if w.is(p-1, "async") {
		p--
	}
	name, first := w.bound(p)
	if name == "" {
		return i + 2
	}
	first = w.jsStart(first)
	body := i + 2
	last := 0
	if w.char(body) == '{' {
		last = int(w.toks[body].mate)
	} else {
		last = w.expressionEnd(body)
		body = -1
	}
	id := w.add(Function, name, first, i, last)
	w.enter(functionScope, id, body, last, "")
	return i + 2
}

// arrowParameters is the first token of the parameters that end at i, which may
// be followed by the type that the function returns.
func (w *walker) arrowParameters(i int) int {
	if w.char(i) == ')' {
		return w.before(i)
	}
	for k, n := i, 0; k > 0 && n < 40 && w.spend(); n++ {
		switch w.char(k) {
		case ':':
			if w.char(k-1) == ')' {
				return w.before(k - 1)
			}
		case ')', ']', '}':
			k = w.before(k)
		case '>':
			if open := w.anglesBack(k); open >= 0 {
				k = open
			}
		case '(', '[', '{', ';', ',', '=':
			n = 40
		}
		k--
	}
	if w.kind(i) == word {
		return i
	}
	return -1
}

// expressionEnd is the last token of the expression or type that begins at k.
func (w *walker) expressionEnd(k int) int {
	start, angled := k, false // angled: a "<…>" has just been skipped
	for n := 0; k < len(w.toks) && n < 4*maxAhead && w.spend(); n++ {
		if k > start && (angled || w.kind(k-1) != punct) && w.beginsStatement(k) {
			return k - 1
		}
		angled = false
		switch w.kind(k) {
		case opening:
			k = w.after(k)
			continue
		case closing:
			return max(k-1, start)
		case punct:
			switch w.char(k) {
			case ';', ',':
				return max(k-1, start)
			case '<':
				next := w.angles(k)
				if next > k && (w.char(next) == '(' || w.kind(k-1) == word && w.toks[k-1].end == w.toks[k].start) {
					k, angled = next, true // type arguments
					continue
				}
			}
		}
		k++
	}
	return min(max(k-1, start), len(w.toks)-1)
}

// beginsStatement says that the token at k, behind what may be the end of an
// expression, begins another statement: without a semicolon, on a new line.
func (w *walker) beginsStatement(k int) bool {
	if w.toks[k].line == w.toks[k-1].last {
		return false
	}
	switch w.kind(k) {
	case word:
		return !w.is(k, "in", "instanceof", "as", "satisfies", "extends") &&
			!w.is(k-1, "in", "instanceof", "as", "new", "typeof", "await", "extends", "keyof", "infer", "readonly", "is", "unique")
	case punct:
		return w.char(k) == '@'
	}
	return false
}

// jsDecorator takes the decorators that begin at i.
func (w *walker) jsDecorator(i int) int {
	k := i + 1
	for w.char(k+1) == '.' && w.kind(k+2) == word {
		k += 2
	}
	name, _ := w.nameAt(k)
	end := k + 1
	if w.char(end) == '(' {
		end = w.after(end)
	}
	w.annotate(i, end)
	w.refer(Decorates, name, k)
	return k + 1
}
