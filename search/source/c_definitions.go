package source

import "strings"

// cType takes a struct, class, union or enum with a body.
func (w *walker) cType(h cHead) int {
	body := h.stop
	last := int(w.toks[body].mate)
	end := body
	if h.colon >= 0 {
		end = h.colon
	}
	name := ""
	for k := h.composed + 1; k < end; k++ {
		switch {
		case w.char(k) == '(' || w.char(k) == '[':
			k = min(w.after(k), end) - 1
		case w.char(k) == '<':
			if next := w.angles(k); next > k {
				k = next - 1
			}
		case w.kind(k) == word && !w.is(k, "final", "class", "struct") && !cKeyword(w.text(k)):
			name = w.text(k)
		}
	}
	tail := variableTail
	if w.is(h.first, "typedef") {
		tail = typedefTail
		if name == "" {
			name = w.typedefName(last + 1)
		}
	}
	id := w.scope().entity
	if name != "" {
		id = w.add(Class, name, h.first, body, last)
	}
	kind := classScope
	if w.is(h.composed, "enum") {
		kind = functionScope
	}
	w.enter(kind, id, body, last, name)
	w.scope().tail = tail
	if h.colon >= 0 && kind == classScope && name != "" {
		w.cBases(h.colon+1, body)
	}
	return body
}

// typedefName is the name that "typedef struct {…}" gives, from token k on.
func (w *walker) typedefName(k int) string {
	for n := 0; n < 8; n++ {
		switch {
		case w.char(k) == '(':
			k = w.after(k)
		case w.char(k) == '*' || w.is(k, "__attribute__", "__attribute"):
			k++
		case w.kind(k) == word:
			return w.text(k)
		default:
			return ""
		}
	}
	return ""
}

// cBases notes the base classes written between k and end.
func (w *walker) cBases(k, end int) {
	for ; k < end; k++ {
		if w.kind(k) == word && !w.pair(k+1, "::") && !w.is(k, "public", "private", "protected", "virtual") {
			name, _ := w.nameAt(k)
			w.refer(Inherits, name, k)
		}
		if next := w.angles(k + 1); next > k+1 && next <= end {
			if w.pair(next, "::") {
				continue
			}
			k = next - 1
		}
	}
}

// cName picks the parenthesis that opens the parameters of a function: the first
// one, unless a name with one of its own follows ("MACRO(x) int f()"). -1: none.
func (w *walker) cName(h cHead, end int) (name string, first, group int) {
	group = -1
	if h.operator >= 0 {
		for _, g := range h.groups {
			if g > h.operator {
				name := strings.Join(strings.Fields(w.src[w.toks[h.operator].start:w.toks[g-1].end]), " ")
				return name, h.operator, g
			}
		}
		return "", -1, -1
	}
	for _, g := range h.groups {
		if g > end {
			break
		}
		k := g - 1
		if w.isSpecial(k) {
			if open := w.anglesBack(k); open > 0 {
				k = open - 1
			}
		}
		if w.kind(k) != word || cKeyword(w.text(k)) || w.is(k, "__attribute__", "__declspec", "noexcept", "throw") {
			continue
		}
		if group >= 0 {
			// Behind the parameters only a declaration of its own has a type first.
			typed := w.typed(h.first, first)
			between := 0
			for j := w.after(group); j < k; j++ {
				if w.ofType(j, typed) {
					between++
				}
			}
			if between == 0 && (typed || k != w.after(group)) || w.pair(w.after(group), "->") {
				continue
			}
		}
		if group < 0 && w.char(g+1) == '(' && w.kind(k-1) == word && w.after(g+1) == int(w.toks[g].mate) && k-1 > h.first {
			k-- // int f OF((int a))
		}
		name, first, group = w.text(k), k, g
	}
	return name, first, group
}

// ofType says that token j, behind the parameters of what may be a function, can
// belong to the type of another one. Behind a function that has a type macros are
// attributes.
func (w *walker) ofType(j int, typed bool) bool {
	if w.kind(j) != word {
		return w.char(j) == '*' && !typed
	}
	if w.is(j, "const", "override", "final", "noexcept", "volatile", "mutable", "try", "requires", "__attribute__") {
		return false
	}
	name := w.text(j)
	return !typed || name != strings.ToUpper(name) && !strings.HasPrefix(name, "__")
}

// typed says that the name at token at can have a type before it, or needs none
// because it is that of the class.
func (w *walker) typed(first, at int) bool {
	if s := w.scope(); s.kind == classScope && s.name == w.text(at) || w.qualified(at) {
		return true
	}
	for k := first; k < at; k++ {
		if !w.is(k, "extern", "static", "inline", "virtual", "explicit", "constexpr", "__extension__", "friend") {
			return true
		}
	}
	return false
}

// cFunction takes a function whose body opens at body; 0: it is none.
func (w *walker) cFunction(h cHead, body int) int {
	name, at, group := w.cName(h, body)
	if group < 0 {
		return w.cReturnsPointer(h, body)
	}
	suite := ""
	if at == h.first && h.words < 2 && w.scope().kind == fileScope && !w.qualified(at) && strings.ToUpper(name) == name {
		// MACRO(x) { … } defines something, under a name that only it knows. With two
		// names the first is the suite of a test.
		switch k := group + 1; {
		case w.kind(k) != word:
		case w.char(k+1) == ',' && w.kind(k+2) == word && int(w.toks[group].mate) == k+3:
			name, suite = w.text(k+2), w.text(k)
		default:
			name = w.text(k)
		}
	}
	first := h.first
	if group != h.groups[0] && h.groups[0] == first+1 && h.operator < 0 {
		first = w.after(h.groups[0]) // MACRO(x) before it
	}
	last := int(w.toks[body].mate)
	head := body
	if h.colon > group {
		head = h.colon
	}
	id := w.add(Function, w.destructor(at, name), first, head, last)
	w.entities[id].Receiver = w.qualifier(at)
	if suite != "" {
		w.entities[id].Receiver = suite
	}
	w.enter(functionScope, id, body, last, "")
	return body
}

// cReturnsPointer takes "void (*signal(int))(int) {" and "int (f)(int) {".
func (w *walker) cReturnsPointer(h cHead, body int) int {
	k, function := w.inParentheses(h)
	if k < 0 || !function {
		return 0
	}
	last := int(w.toks[body].mate)
	id := w.add(Function, w.text(k), h.first, body, last)
	w.enter(functionScope, id, body, last, "")
	return body
}

// inParentheses is the name in the first parentheses, if others follow them:
// "(*signal(int))(int)" and "(f)(int)" are functions, "(*f)(int)" is a variable.
// -1: there is none.
func (w *walker) inParentheses(h cHead) (name int, function bool) {
	if len(h.groups) == 0 {
		return -1, false
	}
	g := h.groups[0]
	end := int(w.toks[g].mate)
	if w.char(end+1) != '(' || g == h.first {
		return -1, false
	}
	pointer := false
	for k := g + 1; k < end && k < g+8; k++ {
		pointer = pointer || w.char(k) == '*' || w.char(k) == '&' || w.char(k) == '^'
		if w.kind(k) == word && w.char(k+1) == '(' {
			return k, pointer
		}
	}
	k := w.nameBefore(end)
	if k <= g {
		return -1, false
	}
	return k, !pointer && k == g+1 && end == g+2
}

func (w *walker) qualified(at int) bool { return w.pair(at-2, "::") || w.char(at-1) == '~' }

func (w *walker) destructor(at int, name string) string {
	if w.char(at-1) == '~' {
		return "~" + name
	}
	return name
}

// qualifier is "A::B" before "::name" at token at.
func (w *walker) qualifier(at int) string {
	if w.char(at-1) == '~' {
		at--
	}
	if !w.pair(at-2, "::") {
		return ""
	}
	k := at - 3
	if w.isSpecial(k) {
		if open := w.anglesBack(k); open > 0 {
			k = open - 1
		}
	}
	if w.kind(k) != word {
		return ""
	}
	name, _ := w.nameAt(k)
	return name
}

// cDeclaration takes what has parentheses but no body: a prototype, a method, a
// variable that is a pointer to a function, a call of a macro.
func (w *walker) cDeclaration(h cHead, header bool) int {
	last := h.stop
	if w.char(last) == '=' {
		last = w.semicolon(last)
	}
	name, at, group := w.cName(h, h.stop)
	member := w.scope().kind == classScope
	if w.char(h.stop) == ';' && group >= 0 && !member {
		if body := w.oldStyle(h, group); body > 0 {
			return w.cFunction(h, body)
		}
	}
	if k, function := w.inParentheses(h); k > 0 {
		switch {
		case function && header:
			w.add(Function, w.text(k), h.first, h.stop, last)
		case !function && !member:
			w.cVariable(h, k, last)
		}
		return last + 1
	}
	if group < 0 {
		return w.cPlain(h, header)
	}
	if w.char(h.stop) == '=' && !w.is(h.stop+1, "default", "delete", "0") && w.text(h.stop+1) != "0" {
		return last + 1
	}
	typed := at > h.first && (w.kind(at-1) != punct || w.char(at-1) == '*' || w.char(at-1) == '&' || w.char(at-1) == '>' || w.char(at-1) == '~')
	constructor := member && (name == w.scope().name || w.char(at-1) == '~')
	defaulted := w.char(h.stop) == '=' && w.qualified(at)
	if (member || defaulted || header && h.words > 1) && (typed || constructor || defaulted || h.operator >= 0) {
		w.add(Function, w.destructor(at, name), h.first, h.stop, last)
	}
	return last + 1
}

// oldStyle is the body of "int f(a, b) int a; char *b; {", -1: it is none.
func (w *walker) oldStyle(h cHead, group int) int {
	k := w.after(group)
	if w.kind(k) != word || w.is(k, "__attribute__", "const", "__asm__", "asm", "noexcept", "override") || strings.HasPrefix(w.text(k), "__") {
		return -1
	}
	for n := 0; k < len(w.toks) && n < 200 && w.spend(); n++ {
		switch c := w.char(k); c {
		case '{':
			if w.char(k-1) != ';' {
				return -1
			}
			return k
		case '(', '[':
			k = w.after(k)
			continue
		case 0, '*', ',', ';':
			if w.kind(k) == directive || w.is(k, "typedef", "extern", "static") {
				return -1
			}
		default:
			return -1
		}
		k++
	}
	return -1
}

// cPlain takes variables and typedefs without parentheses.
func (w *walker) cPlain(h cHead, header bool) int {
	last := h.stop
	if w.char(last) == '=' {
		last = w.semicolon(last)
	}
	switch {
	case w.is(h.first, "typedef"):
		w.cTypedef(h)
	case w.scope().kind == classScope:
	case w.closed.close == h.first-1 && w.closed.tail != noTail:
		w.cTail(h, last)
	case h.words < 2 || h.composed >= 0 && h.words == 2:
	case w.is(h.first, "extern") && !header, w.is(h.first, "return", "goto", "break", "else"):
	default:
		first := len(w.entities)
		for _, k := range h.names {
			if k > h.first {
				w.cVariable(h, k, last)
			}
		}
		w.cMore(h, last)
		if len(w.entities) > first && w.char(h.stop) == '=' {
			w.enter(functionScope, first, -1, last, "")
			return h.stop + 1
		}
	}
	return last + 1
}

// cTail takes the names behind the body of a type.
func (w *walker) cTail(h cHead, last int) {
	for _, k := range h.names {
		switch {
		case k < 0 || w.text(k) == w.closed.name:
		case w.closed.tail == typedefTail:
			id := w.add(Class, w.text(k), k, k, k)
			w.entities[id].Signature = ""
		default:
			w.cVariable(h, k, last)
		}
	}
}

func (w *walker) cVariable(h cHead, k, last int) {
	id := w.add(Variable, w.text(k), h.first, 0, last)
	w.entities[id].Signature = ""
}

// cMore takes the variables behind the value of the first one.
func (w *walker) cMore(h cHead, last int) {
	comma := -1
	for k := h.stop; k <= last && w.spend(); k++ {
		switch w.char(k) {
		case '(', '[', '{':
			k = w.after(k) - 1
		case '<':
			if next := w.angles(k); w.char(next) == '(' && next > k {
				k = next - 1
			}
		case ',', ';', '=':
			if comma >= 0 {
				if name := w.nameBefore(k); name > comma {
					w.cVariable(h, name, last)
				}
			}
			comma = -1
			if w.char(k) == ',' {
				comma = k
			}
		}
	}
}

// cTypedef takes "typedef int x;", "typedef int (*f)(int);" and "typedef int f(int);".
func (w *walker) cTypedef(h cHead) {
	name := -1
	if k, _ := w.inParentheses(h); k > 0 {
		name = k
	} else if w.char(h.stop-1) == ')' {
		_, name, _ = w.cName(h, h.stop)
	}
	if name > h.first {
		w.add(Class, w.text(name), h.first, h.stop, h.stop)
		return
	}
	for _, k := range h.names {
		if k > h.first {
			w.add(Class, w.text(k), h.first, h.stop, h.stop)
		}
	}
}
