package source

import "strings"

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
