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
