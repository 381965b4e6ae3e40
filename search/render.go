package search

import (
	"fmt"
	"strings"

	"rollbench/search/source"
)

// writeHit writes one hit: the code when there are few, else one line. It says no when
// there is no more room.
func (v *look) writeHit(w *writer, s section, i int) bool {
	h := s.hits[i]
	if !w.line(v.oneLine(h)) {
		return false
	}
	if h.where.file < 0 {
		v.writeDirectory(w, h)
		return true
	}
	size := h.End - h.Start + 1
	ranked := s.asked.form == formText && !s.exact
	switch {
	case h.Kind == "text" || len(s.hits) > fewHits && !(ranked && i == 0 && size <= wholeFew):
	case h.Kind == "file":
		v.writeFile(w, h, len(s.hits) == 1)
	case s.total == 1 && size <= wholeOne || size <= wholeFew:
		v.writeLines(w, h.where.file, v.first(h), h.End)
	default:
		v.writeSkeleton(w, h)
	}
	return true
}

// first is the line of the first decorator.
func (v *look) first(h Hit) int {
	return firstLine(&v.file(h.where.file).ents[h.where.item])
}

// oneLine describes a hit in one line that begins with its id.
func (v *look) oneLine(h Hit) string {
	switch h.Kind {
	case "directory":
		return h.Path + "/"
	case "text":
		in := ""
		if h.Qualified != "" {
			in = " (in " + h.Qualified + ")"
		}
		out := fmt.Sprintf("%s:%d%s: %s", h.Path, h.Start, in, h.Name)
		if h.End > h.Start {
			out = fmt.Sprintf("%s:%d-%d%s: %s", h.Path, h.Start, h.End, in, h.Name)
		}
		return withNote(out, h.note)
	case "file":
		if h.line > 0 {
			return withNote(fmt.Sprintf("%s line %d", h.Path, h.line), h.note)
		}
		return fmt.Sprintf("%s (file, %d lines)", h.Path, h.End)
	}
	out := fmt.Sprintf("%s (%s, lines %d-%d)", h.ID(), h.Kind, h.Start, h.End)
	if h.Start == h.End {
		out = fmt.Sprintf("%s (%s, line %d)", h.ID(), h.Kind, h.Start)
	}
	if h.line > 0 && h.line != h.Start && h.line != h.End {
		out += fmt.Sprintf(" at line %d", h.line)
	}
	if sig := v.file(h.where.file).ents[h.where.item].Signature; sig != "" && h.Kind != "class" {
		out += " " + clip(strings.Join(strings.Fields(sig), " "), 100)
	}
	return withNote(out, h.note)
}

func withNote(s, note string) string {
	if note == "" {
		return s
	}
	return s + "  [" + note + "]"
}

// writeLines writes lines of a file as cat -n does.
func (v *look) writeLines(w *writer, file int32, from, to int) {
	src := v.file(file).src
	starts := appendLineStarts(nil, src)
	for n := max(from, 1); n <= min(to, len(starts)-1); n++ {
		text := strings.TrimRight(src[starts[n-1]:starts[n]], "\r\n")
		if len(text) > longestLine {
			text = clip(text, longestLine) + fmt.Sprintf(" … %d more", len(text)-longestLine)
		}
		if !w.line(fmt.Sprintf("%6d\t%s", n, text)) {
			w.left += min(to, len(starts)-1) - n
			return
		}
	}
}

// writeSkeleton writes what is at the top of an entity, and the heads of what it
// defines.
func (v *look) writeSkeleton(w *writer, h Hit) {
	f := v.file(h.where.file)
	e := &f.ents[h.where.item]
	head := headEnd(e, 12)
	v.writeLines(w, h.where.file, firstLine(e), head)
	members := v.members(h.where)
	if len(members) == 0 {
		// A long function: its beginning, and the lines asked for.
		last := min(e.End, head+25)
		v.writeLines(w, h.where.file, head+1, last)
		if h.line > last {
			w.line(fmt.Sprintf("       … %d lines", max(h.line-6, last)-last))
			from := max(h.line-5, last+1)
			last = min(e.End, h.line+10)
			v.writeLines(w, h.where.file, from, last)
		}
		if last < e.End {
			w.line(fmt.Sprintf("       … %d lines to line %d", e.End-last, e.End))
		}
		return
	}
	for _, m := range members {
		if o := &f.ents[m.where.item]; o.Start > head {
			w.line(fmt.Sprintf("%6d\t%s", o.Start, v.memberLine(f, o.Start)))
		}
	}
	if h.line > 0 && h.line != e.Start {
		w.line("       … around line " + fmt.Sprint(h.line))
		v.writeLines(w, h.where.file, max(h.line-8, firstLine(e)), min(h.line+8, e.End))
	}
}

// memberLine is the text of a line.
func (v *look) memberLine(f *file, n int) string {
	starts := appendLineStarts(nil, f.src)
	if n >= len(starts) {
		return ""
	}
	return clip(strings.TrimRight(f.src[starts[n-1]:starts[n]], "\r\n"), longestLine)
}

// headEnd is the last line of the signature and of the beginning of the docstring.
func headEnd(e *source.Entity, most int) int {
	lines := 1 + strings.Count(e.Signature, "\n")
	if e.Doc != "" {
		lines += 1 + strings.Count(e.Doc, "\n")
	}
	return min(e.Start+min(lines, most)-1, e.End)
}

// writeFile writes the lines around the one asked for, or an outline of the file.
func (v *look) writeFile(w *writer, h Hit, alone bool) {
	f := v.file(h.where.file)
	if h.line > 0 {
		v.writeLines(w, h.where.file, h.line-10, min(h.line+10, h.End))
		return
	}
	if h.End <= wholeFew && alone {
		v.writeLines(w, h.where.file, 1, h.End)
		return
	}
	if f.language == "" {
		v.writeLines(w, h.where.file, 1, 10)
		return
	}
	starts := appendLineStarts(nil, f.src)
	for i := range f.ents {
		e := &f.ents[i]
		depth := len(strings.Split(f.qualified(int32(i)), "."))
		if depth > 2 || depth == 2 && !alone || e.Kind == kindVariable && depth > 1 || e.Start >= len(starts) {
			continue
		}
		w.line(fmt.Sprintf("%6d\t%s", e.Start, clip(strings.TrimRight(f.src[starts[e.Start-1]:starts[e.Start]], "\r\n"), 160)))
	}
}

// writeDirectory lists what is in a directory.
func (v *look) writeDirectory(w *writer, h Hit) {
	var names []string
	last := ""
	v.each(func(_ int32, f *file) bool {
		rest, ok := strings.CutPrefix(f.path, h.Path+"/")
		if !ok {
			return true
		}
		name, _, isDir := strings.Cut(rest, "/")
		if isDir {
			name += "/"
		}
		if name != last {
			last = name
			names = append(names, name)
		}
		return true
	})
	for i, n := range names {
		if i == 60 {
			w.line(fmt.Sprintf("  … %d more", len(names)-i))
			return
		}
		w.line("  " + n)
	}
}
