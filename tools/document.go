package tools

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// document is a text file as the model sees it: UTF-8 with plain newlines.
// bytes gives back the file's own encoding and line ends, so that what an edit
// does not touch stays as it was, byte for byte.
type document struct {
	text     string
	encoding encoding
	bom      bool
	crlf     bool // every line of the file ends in \r\n; text has \n
}

type encoding int

const (
	utf8Text encoding = iota // also text with some bytes that are not UTF-8: they stay
	latin1
	utf16LE
	utf16BE
)

var errBinary = errors.New("is not a text file; look at it with a command such as file, xxd or strings")

func parseDocument(data []byte) (document, error) {
	var d document
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		d.encoding = utf16LE
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		d.encoding = utf16BE
	case bytes.IndexByte(data, 0) >= 0:
		return d, errBinary
	case !utf8.Valid(data) && !anyMultibyte(data):
		d.encoding = latin1
	}
	switch d.encoding {
	case utf16LE, utf16BE:
		text, ok := decode16(data[2:], d.encoding)
		if !ok || strings.ContainsRune(text, 0) {
			return d, errBinary
		}
		d.text, d.bom = text, true
	case latin1:
		runes := make([]rune, len(data))
		for i, b := range data {
			runes[i] = rune(b)
		}
		d.text = string(runes)
	default:
		var text []byte
		text, d.bom = bytes.CutPrefix(data, []byte("\xef\xbb\xbf"))
		d.text = string(text)
	}
	n := strings.Count(d.text, "\r\n")
	if n > 0 && n == strings.Count(d.text, "\n") && n == strings.Count(d.text, "\r") {
		d.crlf = true
		d.text = strings.ReplaceAll(d.text, "\r\n", "\n")
	}
	return d, nil
}

// anyMultibyte tells mostly-UTF-8 text with a broken byte from a file in an
// 8-bit encoding, where a valid sequence of two or more bytes is rare.
func anyMultibyte(data []byte) bool {
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if size > 1 && r != utf8.RuneError {
			return true
		}
		data = data[size:]
	}
	return false
}

func (d document) bytes() ([]byte, error) {
	text := d.text
	if d.crlf {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	switch d.encoding {
	case latin1:
		out := make([]byte, 0, len(text))
		for _, r := range text {
			if r > 0xff {
				return nil, fmt.Errorf("the file is in an 8-bit encoding (Latin-1), which cannot hold %q", r)
			}
			out = append(out, byte(r))
		}
		return out, nil
	case utf16LE, utf16BE:
		return encode16(text, d.encoding), nil
	}
	if d.bom {
		text = "\ufeff" + text
	}
	return []byte(text), nil
}

func byteOrder(e encoding) binary.ByteOrder {
	if e == utf16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// decode16 answers false when the bytes would not come back the same.
func decode16(data []byte, e encoding) (string, bool) {
	if len(data)%2 != 0 {
		return "", false
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = byteOrder(e).Uint16(data[2*i:])
	}
	text := string(utf16.Decode(units))
	return text, bytes.Equal(encode16(text, e)[2:], data)
}

func encode16(text string, e encoding) []byte {
	units := append([]uint16{0xfeff}, utf16.Encode([]rune(text))...)
	out := make([]byte, 2*len(units))
	for i, u := range units {
		byteOrder(e).PutUint16(out[2*i:], u)
	}
	return out
}

func plainEnds(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// replace puts fresh in old's place, and says on which line (from 1) it begins.
func (d document) replace(file, old, fresh string) (document, int, error) {
	if d.crlf {
		old, fresh = plainEnds(old), plainEnds(fresh)
	} else if !strings.Contains(d.text, old) && strings.Contains(d.text, "\r\n") && !strings.Contains(old, "\r") {
		// Line ends are mixed: the place may be one where they are \r\n.
		old, fresh = strings.ReplaceAll(old, "\n", "\r\n"), strings.ReplaceAll(plainEnds(fresh), "\n", "\r\n")
	}
	lines := matchLines(d.text, old)
	switch {
	case len(lines) == 0:
		return d, 0, noMatch(file, d.text, old)
	case len(lines) > 1:
		return d, 0, fmt.Errorf("old_str is %d times in %s, at lines %s; take in more lines around the one you mean", len(lines), file, numbers(lines))
	}
	d.text = strings.Replace(d.text, old, fresh, 1)
	return d, lines[0], nil
}

// insert puts text on lines of its own after line at. A file whose last line
// has no newline stays such a file.
func (d document) insert(file string, at int, text string) (document, error) {
	lines := strings.SplitAfter(d.text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if at < 0 || at > len(lines) {
		return d, fmt.Errorf("insert_line %d is outside of %s, which has %s; use 0 to %d", at, file, countLines(len(lines)), len(lines))
	}
	newline := "\n"
	if d.crlf {
		text = plainEnds(text)
	} else if strings.Contains(d.text, "\r\n") && at > 0 && strings.HasSuffix(lines[at-1], "\r\n") {
		newline = "\r\n" // mixed line ends: as the line above
		text = strings.ReplaceAll(plainEnds(text), "\n", "\r\n")
	}
	before, after := strings.Join(lines[:at], ""), strings.Join(lines[at:], "")
	switch unended := before != "" && !strings.HasSuffix(before, "\n"); {
	case unended:
		d.text = before + newline + strings.TrimSuffix(text, newline)
	case strings.HasSuffix(text, "\n"):
		d.text = before + text + after
	default:
		d.text = before + text + newline + after
	}
	return d, nil
}
