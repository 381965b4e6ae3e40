package source

// maxUse bounds how deep the braces of a "use" may nest.
const maxUse = 32

// rustUse takes "use a::{b as c, d::*};".
func (w *walker) rustUse(i int) int {
	last := w.semicolon(i + 1)
	if w.char(i+1) == '<' {
		return i + 1 // the captured lifetimes of an impl
	}
	w.useTree("", i+1, last, 0)
	return last + 1
}

// useTree notes the imports between k and end, all of which begin with prefix.
func (w *walker) useTree(prefix string, k, end, depth int) {
	for k < end && depth < maxUse {
		path, last := prefix, "" // last: the part behind path
		at := k
		for ; k < end; k++ {
			switch {
			case w.kind(k) == word && !w.is(k, "as") || w.char(k) == '*':
				if last != "" {
					path = joinPath(path, last)
				}
				last, at = w.text(k), k
			case w.char(k) == ':':
			case w.char(k) == '{':
				if last != "" {
					path = joinPath(path, last)
				}
				w.useTree(path, k+1, min(int(w.toks[k].mate), end), depth+1)
				last = ""
				k = min(w.after(k), end) - 1
			default:
				goto part
			}
		}
	part:
		as := ""
		if w.is(k, "as") && k+1 < end {
			as = w.text(k + 1)
			k += 2
		}
		w.used(path, last, as, at)
		for k < end && w.char(k) != ',' {
			k++
		}
		k++
	}
}

func (w *walker) used(path, last, as string, at int) {
	switch {
	case last == "":
		return
	case last == "self":
		last = ""
	case path == "":
		path, last = last, ""
	}
	w.refs = append(w.refs, Ref{Kind: Imports, From: w.scope().entity, Name: path, Target: last, As: as, Line: int(w.toks[at].line)})
}

func joinPath(path, part string) string {
	if path == "" || len(path) > maxName {
		return part
	}
	return path + "::" + part
}
