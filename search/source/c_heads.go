package source

import "strings"

// cHead is what a declaration holds before its body, its value or its end.
type cHead struct {
	first    int // its first token
	stop     int // ";", "{", "=" or where it breaks off
	groups   []int
	composed int // struct, class, union or enum that comes first, -1: none
	colon    int // of base classes, of initialisers or of a bit field, -1: none
	operator int // the word, -1: none
	names    []int
	words    int
}

// cStatement takes the declaration that begins at i.
func (w *walker) cStatement(i int, header bool) int {
	if next := w.cSpecial(i); next > 0 {
		return next
	}
	h := w.cHead(i)
	if h.stop <= i && w.char(i) != ';' {
		return i + 1
	}
	switch c := w.char(h.stop); {
	case c == '{' && h.composed >= 0 && (len(h.groups) == 0 || h.groups[0] < h.composed || w.onlyMacros(h)):
		return w.cType(h)
	case c == '{' && len(h.groups) > 0:
		if next := w.cFunction(h, h.stop); next > 0 {
			return next
		}
		return min(w.after(h.stop), len(w.toks))
	case c == '{' && w.char(w.after(h.stop)) == ';' && h.words > 1 && w.scope().kind == fileScope:
		if k := w.nameBefore(h.stop); k > h.first {
			w.cVariable(h, k, w.after(h.stop))
		}
		return w.after(h.stop)
	case c == '{':
		return min(w.after(h.stop), len(w.toks))
	case c == ';' && len(h.groups) > 0 && w.is(i, "typedef"):
		w.cTypedef(h)
	case (c == ';' || c == '=') && len(h.groups) > 0:
		return w.cDeclaration(h, header)
	case c == ';' || c == '=':
		return w.cPlain(h, header)
	}
	return h.stop + 1
}

// cSpecial takes what is no declaration of a type, function or variable; 0: it is.
func (w *walker) cSpecial(i int) int {
	switch {
	case w.is(i, "public", "private", "protected", "signals", "slots", "Q_SIGNALS", "default"):
		for k := i + 1; k < i+3; k++ {
			if w.char(k) == ':' && w.char(k+1) != ':' {
				return k + 1
			}
		}
	case w.isBracketMacro(i):
		return i + 1
	case w.is(i, "extern") && w.kind(i+1) == text:
		if w.char(i+2) == '{' {
			w.enter(fileScope, w.scope().entity, i+2, int(w.toks[i+2].mate), "")
		}
		return i + 2
	case w.is(i, "namespace") || w.is(i, "inline") && w.is(i+1, "namespace"):
		k := i + 1
		for w.kind(k) == word || w.char(k) == ':' || w.char(k) == '[' || w.char(k) == '(' {
			if c := w.char(k); c == '[' || c == '(' {
				k = w.after(k)
				continue
			}
			k++
		}
		if w.char(k) == '{' {
			w.enter(fileScope, w.scope().entity, k, int(w.toks[k].mate), "")
			return k
		}
		return w.semicolon(i) + 1
	case w.is(i, "using"):
		last := w.semicolon(i)
		if w.kind(i+1) == word && w.char(i+2) == '=' {
			w.add(Class, w.text(i+1), i, last, last)
		}
		return last + 1
	case w.is(i, "friend"):
		if h := w.cHead(i); w.char(h.stop) != '{' || h.composed >= 0 {
			return w.semicolon(i) + 1
		}
	case w.is(i, "static_assert", "_Static_assert", "asm", "__asm__", "import", "module"):
		if h := w.cHead(i); w.char(h.stop) == '{' {
			return min(w.after(h.stop), len(w.toks))
		}
		return w.semicolon(i) + 1
	case w.char(i) == ':' || w.char(i) == '[':
		if w.char(i) == '[' {
			return min(w.after(i), len(w.toks))
		}
		return i + 1
	}
	return 0
}

// cHead reads from token i up to the body, the value or the end.
func (w *walker) cHead(i int) cHead {
	h := cHead{first: i, composed: -1, colon: -1, operator: -1}
	k := i
	for w.is(k, "template") {
		next := w.angles(k + 1)
		if next == k+1 {
			break
		}
		k = next
	}
	for n := 0; k < len(w.toks) && n < 2*maxAhead && w.spend(); n++ {
		switch w.kind(k) {
		case closing:
			h.stop = k - 1
			return h
		case opening:
			switch w.char(k) {
			case '{':
				h.stop = k
				return h
			case '(':
				h.groups = append(h.groups, k)
				if w.macroLine(h.first, k) {
					h.stop = int(w.toks[k].mate)
					return h
				}
			}
			k = w.after(k)
			continue
		case punct:
			switch c := w.char(k); c {
			case ';', '=':
				h.names = append(h.names, w.nameBefore(k))
				h.stop = k
				return h
			case '<':
				if next := w.angles(k); next > k {
					k = next
					continue
				}
			case ',':
				if len(h.groups) == 0 {
					h.names = append(h.names, w.nameBefore(k))
				}
			case ':':
				if w.pair(k, "::") {
					k += 2
					continue
				}
				if w.is(k-1, "public", "private", "protected", "slots", "signals") {
					h.stop = k
					return h
				}
				if h.colon < 0 {
					h.colon = k
				}
				if len(h.groups) > 0 && h.composed < 0 {
					h.stop = w.initialisers(k + 1)
					return h
				}
			}
		case word:
			h.words++
			switch w.text(k) {
			case "struct", "class", "union", "enum":
				if h.composed < 0 && len(h.groups) == 0 {
					h.composed = k
				}
			case "operator":
				h.operator = k
				k = w.operatorEnd(k + 1)
				continue
			}
		case directive:
			if h.words <= 1 && len(h.groups) <= 1 {
				h.stop = k - 1 // a macro on a line of its own
				return h
			}
			w.cDirective(k)
		}
		k++
	}
	h.stop = min(k, len(w.toks)-1)
	return h
}

// operatorEnd is the parenthesis that opens the parameters of the operator whose
// sign or type begins at k.
func (w *walker) operatorEnd(k int) int {
	if w.char(k) == '(' && int(w.toks[k].mate) == k+1 {
		return k + 2 // operator()
	}
	for n := 0; k < len(w.toks) && n < 32; n++ {
		switch w.char(k) {
		case '(', ';', '{', '}', ')':
			return k
		case '[':
			k = w.after(k)
			continue
		}
		k++
	}
	return k
}

// initialisers is the brace of the body behind ": a(1), b{2}", which begins at k.
func (w *walker) initialisers(k int) int {
	for n := 0; k < len(w.toks) && n < 2*maxAhead && w.spend(); n++ {
		switch c := w.char(k); c {
		case '{':
			if before := w.char(k - 1); before == ')' || before == '}' {
				return k
			}
			k = w.after(k)
			continue
		case '(', '[':
			k = w.after(k)
			continue
		case '<':
			if next := w.angles(k); next > k {
				k = next
				continue
			}
		case ';', ')', '}', ']':
			return k
		}
		k++
	}
	return min(k, len(w.toks)-1)
}

// nameBefore is the word that the "=", "," or ";" at k follows, past the brackets
// of an array and the width of a bit field; -1: there is none.
func (w *walker) nameBefore(k int) int {
	k--
	for n := 0; k > 0 && n < 16; n++ {
		switch {
		case w.char(k) == ']' || w.char(k) == ')' && w.is(w.before(k)-1, "__attribute__", "asm", "__asm__", "__attribute", "__aligned", "alignas"):
			k = w.before(k) - 1
			if w.is(k, "__attribute__", "asm", "__asm__", "__attribute", "__aligned", "alignas") {
				k--
			}
		case w.kind(k) == number && w.char(k-1) == ':':
			k -= 2
		default:
			if w.kind(k) == word {
				return k
			}
			return -1
		}
	}
	return -1
}

// onlyMacros says that the parentheses in the head of a type hold attributes:
// "struct __attribute__((packed)) X" and "class EXPORT(1) X".
func (w *walker) onlyMacros(h cHead) bool {
	for _, g := range h.groups {
		if g < h.composed || h.colon >= 0 && g > h.colon {
			continue
		}
		if name := w.text(g - 1); !cKeyword(name) && (name != strings.ToUpper(name) || w.after(g) == h.stop) {
			return false
		}
	}
	return true
}

// isBracketMacro tells the likes of G_BEGIN_DECLS and __END_DECLS at i, which
// have no semicolon.
func (w *walker) isBracketMacro(i int) bool {
	if w.kind(i) != word || w.char(i+1) == '(' {
		return false
	}
	name := w.text(i)
	return strings.HasSuffix(name, "_DECLS") || name == strings.ToUpper(name) && (strings.Contains(name+"_", "_BEGIN_") || strings.Contains(name+"_", "_END_")) || strings.HasPrefix(name, "Q_OBJECT") || strings.HasPrefix(name, "Q_GADGET")
}

// macroLine says that a declaration which seems to begin at first with "NAME(…)",
// whose parenthesis is at k, is a macro without a semicolon before another one.
func (w *walker) macroLine(first, k int) bool {
	next := w.after(k)
	if k != first+1 || w.kind(first) != word || w.kind(next) != word {
		return false
	}
	if w.is(next, "class", "struct", "union", "enum", "template", "static", "inline", "typedef", "extern", "namespace", "using") {
		return w.text(first) != "alignas" && w.text(first) != "__attribute__" && w.text(first) != "__declspec"
	}
	name := w.text(first)
	return name == strings.ToUpper(name) && w.toks[next].line > w.toks[next-1].last && !strings.HasSuffix(name, "_OF")
}
