package search

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Sizes of what an answer shows in full.
const (
	wholeOne    = 120 // lines of code of a single hit
	wholeFew    = 45  // lines of each of a few hits
	fewHits     = 3
	leastChars  = 400 // of an answer, whatever the query asks
	longestLine = 300
)

// answer answers in text.
func (v *look) answer(q Query) Answer {
	if q.MaxChars <= 0 {
		q.MaxChars = DefaultMaxChars
	}
	q.MaxChars = max(q.MaxChars, leastChars)
	if !validKind(q.Kind) {
		return Answer{Text: fmt.Sprintf("Unknown kind %q. Kinds are: %s.", q.Kind, strings.Join(Kinds, ", "))}
	}
	sections := v.sections(q)
	if len(sections) == 0 {
		return Answer{Text: "Nothing was asked: give search_terms, a pattern, or line_nums with a file."}
	}
	w := &writer{limit: q.MaxChars}
	found := 0
	for i, s := range sections {
		if i > 0 {
			w.line("")
		}
		// Each section has a fair share of what is left.
		w.share = len(w.text) + (w.limit-len(w.text))/(len(sections)-i)
		v.write(w, s, q)
		found += s.total
	}
	return Answer{Text: w.done(), Hints: v.hints(sections, q), Found: found}
}

// writer collects the text of an answer within a limit.
type writer struct {
	text  []byte
	limit int // in bytes, of the whole text
	share int // … of the section being written
	left  int // lines left out of the section
}

// reserve is kept for the lines that say what was left out.
const reserve = 80

func (w *writer) line(s string) bool {
	s = visible(s)
	if len(w.text)+len(s)+1 > min(w.share, w.limit)-reserve && s != "" {
		w.left++
		return false
	}
	w.text = append(w.text, s...)
	w.text = append(w.text, '\n')
	return true
}

func (w *writer) done() string { return strings.TrimRight(string(w.text), "\n") }

// note writes a line for which room is reserved.
func (w *writer) note(format string, args ...any) {
	w.text = append(append(w.text, visible(fmt.Sprintf(format, args...))...), '\n')
}

// visible is one line without control characters: names of files and source may hold
// any, line ends and escape sequences among them. Those of ASCII become their pictures.
func visible(s string) string {
	odd := func(r rune) bool { return r < ' ' && r != '\t' || r >= 0x7f && r <= 0x9f || r == utf8.RuneError }
	if strings.IndexFunc(s, odd) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case !odd(r):
			return r
		case r < ' ':
			return 0x2400 + r
		case r == 0x7f:
			return '\u2421'
		}
		return utf8.RuneError
	}, s)
}

func (v *look) write(w *writer, s section, q Query) {
	w.left = 0
	w.note("%s", clip(v.heading(s, q), 160))
	if len(s.hits) == 0 {
		v.writeNothing(w, s, q)
		return
	}
	shown := 0
	for i := range s.hits {
		if !v.writeHit(w, s, i) {
			break
		}
		shown++
	}
	if rest := s.total - shown; rest > 0 {
		w.note("… %d more not shown: narrow file_path_or_pattern or kind", rest)
	} else if w.left > 0 {
		w.note("… %d lines not shown: view the file from there", w.left)
	}
	if len(s.outside) > 0 {
		w.line("outside this repository: " + clip(strings.Join(s.outside, ", "), 300))
	}
}

// heading says what was asked and how much was found.
func (v *look) heading(s section, q Query) string {
	what := clip(strings.Join(strings.Fields(s.asked.raw), " "), 80)
	if s.asked.form == formPath && len(q.Lines) > 0 {
		what = fmt.Sprintf("%s lines %v", s.asked.file, q.Lines)
	}
	n := fmt.Sprintf("%d found", s.total)
	if s.how != "" {
		n += " (" + s.how + ")"
	}
	if s.target != nil {
		what = s.asked.relation + " of " + s.target.ID()
	}
	return what + ": " + n
}

// writeNothing says what to try instead.
func (v *look) writeNothing(w *writer, s section, q Query) {
	if s.target != nil {
		w.line("Nothing in this repository has that relation to it" + v.scope(q) + ".")
		return
	}
	f := newFilter(q)
	if s.lines && v.holds(f) {
		return // the heading says which lines there are
	}
	if f.path != "" && !v.holds(f) {
		w.line(fmt.Sprintf("No file matches %s.", clip(f.path, 100)))
		if near := v.nearPaths(strings.Trim(f.path, "*/"), 3); len(near) > 0 {
			w.line("Nearest paths: " + strings.Join(near, ", "))
		}
		return
	}
	if f.path != "" || f.kind != "" {
		if free := v.findTerm(s.asked.raw, 3, filter{}); len(free.hits) > 0 && s.asked.raw != "" {
			w.line("Nothing" + v.scope(q) + ". Without that:")
			for _, h := range free.hits {
				w.line("  " + v.oneLine(h))
			}
			return
		}
	}
	if s.asked.form == formPath {
		if near := v.nearPaths(s.asked.file, 3); len(near) > 0 {
			w.line("Nearest paths: " + strings.Join(near, ", "))
			return
		}
	}
	w.line("Try fewer or other words, a part of a name, or a glob such as *name*. At the top are: " + strings.Join(v.topLevel(12), ", "))
}

// scope says in words what the query was limited to.
func (v *look) scope(q Query) string {
	out := ""
	if q.Path != "" {
		out += " in " + clip(q.Path, 100)
	}
	if q.Kind != "" {
		out += " of kind " + q.Kind
	}
	return out
}

func (v *look) holds(f filter) bool {
	found := false
	v.each(func(_ int32, file *file) bool {
		found = f.file(file.path)
		return !found
	})
	return found
}

// topLevel lists the files and directories at the top of the repository.
func (v *look) topLevel(most int) []string {
	var out []string
	seen := map[string]bool{}
	v.each(func(_ int32, f *file) bool {
		name, _, isDir := strings.Cut(f.path, "/")
		if isDir {
			name += "/"
		}
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
		return len(out) < most
	})
	return out
}
