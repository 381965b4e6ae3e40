package source

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
