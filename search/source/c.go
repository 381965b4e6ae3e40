package source

import "strings"

var cFamily = dialect{chars: true, cpp: true, dollar: true}

// scanC reads C and C++. In a header declarations count as definitions.
func scanC(path, language, src string) *File {
	header := false
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "h", "hh", "hpp", "hxx", "h++", "H", "cuh":
		header = true
	}
	return walk(language, src, cFamily, func(w *walker, i int) int { return nextC(w, i, header) })
}

func nextC(w *walker, i int, header bool) int {
	if w.kind(i) == directive {
		w.cDirective(i)
		return i + 1
	}
	s := w.scope()
	if s.kind == functionScope || !w.direct() {
		if w.char(i) == '(' && i != w.head && s.kind == functionScope {
			w.cCall(i)
		}
		if s.kind == functionScope && w.is(i, "struct", "class", "union", "enum") {
			return w.cLocalType(i)
		}
		return i + 1
	}
	switch w.kind(i) {
	case closing, opening:
		return i + 1
	case punct:
		if c := w.char(i); c != '~' && c != ':' && c != '[' {
			return i + 1
		}
	}
	return w.cStatement(i, header)
}

// cLocalType takes a type that a function declares for itself.
func (w *walker) cLocalType(i int) int {
	if w.kind(i+1) != word || w.char(i+2) != '{' && (w.char(i+2) != ':' || w.pair(i+2, "::")) && !w.is(i+2, "final") {
		return i + 1
	}
	if h := w.cHead(i); w.char(h.stop) == '{' && h.composed == i {
		return w.cType(h)
	}
	return i + 1
}

// cDirective takes #include and #define.
func (w *walker) cDirective(i int) {
	name, rest := directiveName(w.text(i))
	rest = strings.TrimLeft(rest, " \t")
	switch name {
	case "include", "include_next", "import":
		if len(rest) < 2 || rest[0] != '<' && rest[0] != '"' {
			return
		}
		end := strings.IndexAny(rest[1:], ">\"\n")
		if end < 0 {
			return
		}
		w.refs = append(w.refs, Ref{Kind: Imports, From: -1, Name: rest[1 : 1+end], Line: int(w.toks[i].line)})
	case "define":
		if rest == "" || !startsWord(rest[0]) {
			return
		}
		end := wordEnd(rest, 0)
		kind := Variable
		switch {
		case end < len(rest) && rest[end] == '(':
			kind = Function
		case strings.TrimLeft(rest[end:], " \t\r\n\\") == "":
			return // a flag, or the guard of a header
		}
		e := Entity{Kind: kind, Name: rest[:end], Parent: -1, Start: int(w.toks[i].line), End: int(w.toks[i].last), Doc: w.doc(i)}
		if kind == Function {
			if n := strings.IndexByte(rest, ')'); n > 0 {
				from := len(w.text(i)) - len(rest)
				e.Signature = w.text(i)[:from+n+1]
			}
		}
		w.entities = append(w.entities, e)
	}
}

// cCall notes a call with the parenthesis at i, unless it initialises a variable
// or belongs to a statement.
func (w *walker) cCall(i int) {
	name, first, last := w.called(i)
	if last < 0 || cKeyword(name) {
		return
	}
	if w.kind(first-1) == word && !w.is(first-1, "return", "else", "do", "case", "throw", "new", "goto", "co_return",
		"co_await", "co_yield", "and", "or", "not", "sizeof", "in", "delete") {
		return // Type name(…)
	}
	w.refer(Invokes, name, last)
}

func cKeyword(name string) bool {
	switch name {
	case "if", "for", "while", "switch", "return", "sizeof", "catch", "do", "else", "case", "defined",
		"alignof", "_Alignof", "alignas", "decltype", "typeof", "__typeof__", "__attribute__", "__declspec",
		"static_assert", "_Static_assert", "noexcept", "throw", "new", "delete", "operator", "asm", "__asm__",
		"requires", "co_return", "co_await", "and", "or", "not", "void", "int", "char", "long", "unsigned",
		"double", "float", "bool", "typeid", "__extension__", "__restrict", "const", "volatile", "_Generic", "__attribute", "__asm", "explicit", "catch_":
		return true
	}
	return false
}
