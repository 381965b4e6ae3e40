package tools

import (
	"bytes"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// model is what the editor has to do, on byte strings: it looks for the encoded
// text among the file's bytes and puts other bytes in its place, so nothing else
// can change. It shares no code with the editor.
type model struct {
	files map[string][]byte
	past  map[string][]step
}

type step struct {
	created       bool
	before, after []byte
}

var errModel = errors.New("refused")

// style is how a file writes text.
type style struct {
	mark    []byte // a byte order mark
	unit    int    // bytes of its smallest unit
	eight   bool   // one byte a character, Latin-1
	little  bool
	allCRLF bool
	anyCRLF bool
}

func styleOf(raw []byte) (style, bool) {
	s := style{unit: 1}
	switch {
	case len(raw) >= 2 && (raw[0] == 0xff && raw[1] == 0xfe || raw[0] == 0xfe && raw[1] == 0xff):
		s.mark, s.unit, s.little = raw[:2], 2, raw[0] == 0xff
		if len(raw)%2 != 0 || !wellPaired(s.runes(raw)) || bytes.ContainsRune([]byte(string(s.runes(raw))), 0) {
			return s, false
		}
	case bytes.IndexByte(raw, 0) >= 0:
		return s, false
	case bytes.HasPrefix(raw, []byte("\xef\xbb\xbf")):
		s.mark = raw[:3]
	}
	if s.unit == 1 && !utf8.Valid(raw) {
		s.eight = true
		for i := range raw { // any character of two or more bytes makes it UTF-8 with broken places
			if r, n := utf8.DecodeRune(raw[i:]); n > 1 && r != utf8.RuneError && !within(raw, i) {
				s.eight = false
			}
		}
	}
	var ends, returns, both int
	runes := s.runes(raw)
	for i, r := range runes {
		switch r {
		case '\n':
			ends++
			if i > 0 && runes[i-1] == '\r' {
				both++
			}
		case '\r':
			returns++
		}
	}
	s.anyCRLF = both > 0
	s.allCRLF = both > 0 && both == ends && both == returns
	return s, true
}

// within reports whether byte i is inside of a character that begins before it.
func within(raw []byte, i int) bool {
	for j := 0; j < i; {
		_, n := utf8.DecodeRune(raw[j:])
		if j += n; j > i {
			return true
		}
	}
	return false
}

func wellPaired(runes []rune) bool {
	for _, r := range runes {
		if r == utf8.RuneError {
			return false // stands for a lone surrogate here; the seeds hold no U+FFFD of their own
		}
	}
	return true
}

// runes of the text, without its mark.
func (s style) runes(raw []byte) []rune {
	body := raw[len(s.mark):]
	if s.unit == 1 && s.eight {
		out := make([]rune, len(body))
		for i, b := range body {
			out[i] = rune(b)
		}
		return out
	}
	if s.unit == 1 {
		return []rune(string(body))
	}
	var units []uint16
	for i := 0; i+1 < len(body); i += 2 {
		a, b := body[i], body[i+1]
		if s.little {
			a, b = b, a
		}
		units = append(units, uint16(a)<<8|uint16(b))
	}
	return utf16.Decode(units)
}

// write text as the file does; it may be that it cannot.
func (s style) write(text string) ([]byte, bool) {
	var out []byte
	for _, r := range text {
		switch {
		case s.eight && r > 0xff:
			return nil, false
		case s.eight:
			out = append(out, byte(r))
		case s.unit == 1:
			out = utf8.AppendRune(out, r)
		default:
			for _, u := range utf16.AppendRune(nil, r) {
				if s.little {
					out = append(out, byte(u), byte(u>>8))
				} else {
					out = append(out, byte(u>>8), byte(u))
				}
			}
		}
	}
	return out, true
}

// ends gives text line ends: \r\n where crlf, else \n; a lone \r is no line end.
func ends(text string, crlf bool) string {
	var out []rune
	for _, r := range text {
		if r == '\n' {
			if len(out) > 0 && out[len(out)-1] == '\r' {
				out = out[:len(out)-1]
			}
			if crlf {
				out = append(out, '\r')
			}
		}
		out = append(out, r)
	}
	return string(out)
}

// found are the offsets at which part begins, at whole units, overlapping ones too.
func (s style) found(raw, part []byte) []int {
	var at []int
	for i := len(s.mark); i+len(part) <= len(raw); i += s.unit {
		if bytes.Equal(raw[i:i+len(part)], part) {
			at = append(at, i)
		}
	}
	return at
}

func (m *model) put(file string, after []byte, created bool) {
	m.past[file] = append(m.past[file], step{created, m.files[file], after})
	m.files[file] = after
}

func (m *model) create(file, text string) error {
	if _, there := m.files[file]; there || bytes.IndexByte([]byte(text), 0) >= 0 {
		return errModel
	}
	m.put(file, []byte(text), true)
	return nil
}

func (m *model) replace(file, old, fresh string) error {
	raw, there := m.files[file]
	s, text := styleOf(raw)
	if !there || !text || old == "" || old == fresh || bytes.IndexByte([]byte(fresh), 0) >= 0 {
		return errModel
	}
	crlf := s.allCRLF
	part, ok := s.write(old)
	switch {
	case crlf:
		part, ok = s.write(ends(old, true))
	case ok && len(s.found(raw, part)) == 0 && s.anyCRLF && !bytes.ContainsRune([]byte(old), '\r'):
		crlf = true
		part, ok = s.write(ends(old, true))
	}
	if !ok {
		return errModel
	}
	at := s.found(raw, part)
	if s.allCRLF { // half of a line end is no match
		at = whole(s, raw, at, len(part))
	}
	if len(at) != 1 {
		return errModel
	}
	if crlf {
		fresh = ends(fresh, true)
	}
	in, ok := s.write(fresh)
	if !ok {
		return errModel
	}
	m.put(file, bytes.Join([][]byte{raw[:at[0]], in, raw[at[0]+len(part):]}, nil), false)
	return nil
}

// whole drops matches that begin or end between the \r and the \n of a line end.
func whole(s style, raw []byte, at []int, n int) []int {
	cr, _ := s.write("\r")
	lf, _ := s.write("\n")
	between := func(i int) bool {
		return i-len(cr) >= len(s.mark) && i+len(lf) <= len(raw) && bytes.Equal(raw[i-len(cr):i], cr) && bytes.Equal(raw[i:i+len(lf)], lf)
	}
	var out []int
	for _, i := range at {
		if !between(i) && !between(i+n) {
			out = append(out, i)
		}
	}
	return out
}

func (m *model) insert(file string, line int, text string) error {
	raw, there := m.files[file]
	s, isText := styleOf(raw)
	if !there || !isText || bytes.IndexByte([]byte(text), 0) >= 0 {
		return errModel
	}
	lf, _ := s.write("\n")
	cr, _ := s.write("\r")
	starts := []int{len(s.mark)} // of each line, and the end of the file
	for _, i := range s.found(raw, lf) {
		starts = append(starts, i+len(lf))
	}
	if starts[len(starts)-1] != len(raw) {
		starts = append(starts, len(raw))
	}
	if line < 0 || line >= len(starts) {
		return errModel
	}
	at := starts[line]
	ended := line == 0 || bytes.HasSuffix(raw[:at], lf)
	crlf := s.allCRLF || line > 0 && ended && bytes.HasSuffix(raw[:at-len(lf)], cr) && at-len(lf)-len(cr) >= starts[line-1]
	newline := "\n"
	if crlf {
		newline, text = "\r\n", ends(text, true)
	}
	switch {
	case !ended:
		if n := len(text) - len(newline); n >= 0 && text[n:] == newline {
			text = text[:n]
		}
		text = newline + text
	case len(text) == 0 || text[len(text)-1] != '\n':
		text += newline
	}
	in, ok := s.write(text)
	if !ok {
		return errModel
	}
	m.put(file, bytes.Join([][]byte{raw[:at], in, raw[at:]}, nil), false)
	return nil
}

func (m *model) undo(file string) error {
	past := m.past[file]
	now, there := m.files[file]
	if len(past) == 0 || !there || !bytes.Equal(now, past[len(past)-1].after) {
		return errModel
	}
	last := past[len(past)-1]
	m.past[file] = past[:len(past)-1]
	if m.files[file] = last.before; last.created {
		delete(m.files, file)
	}
	return nil
}

func (m *model) view(file string) error {
	raw, there := m.files[file]
	if _, text := styleOf(raw); !there || !text {
		return errModel
	}
	return nil
}
