package infer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// scanner reads JSON in one pass and without reflection: an answer may hold
// tens of thousands of ids and logprobs. What is asked for must be well formed;
// of what is skipped only the nesting and the strings are looked at. Null
// stands for an absent value. The first error stays, and whatever is read after
// it is empty.
type scanner struct {
	data []byte
	at   int
	err  error
}

// fail keeps the first error.
func (s *scanner) fail(want string) {
	if s.err != nil {
		return
	}
	if s.at >= len(s.data) {
		s.err = io.ErrUnexpectedEOF
		return
	}
	s.err = fmt.Errorf("%.20q at byte %d where %s should be", s.data[s.at:], s.at, want)
}

// peek is the next byte after white space, 0 at the end or after an error.
func (s *scanner) peek() byte {
	if s.err != nil {
		return 0
	}
	for ; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; c {
		case ' ', '\n', '\t', '\r':
		default:
			return c
		}
	}
	return 0
}

// take the next byte when it is c.
func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// word takes a literal.
func (s *scanner) word(w string) bool {
	s.peek()
	if s.err != nil || len(s.data)-s.at < len(w) || string(s.data[s.at:s.at+len(w)]) != w {
		return false
	}
	s.at += len(w)
	return true
}

// end says what went wrong; something left over is an error too.
func (s *scanner) end() error {
	if s.peek(); s.err == nil && s.at < len(s.data) {
		s.fail("the end")
	}
	return s.err
}

// object calls field for each key; field reads or skips the value.
func (s *scanner) object(field func(key []byte)) {
	s.list('{', '}', "an object", func() {
		key := s.quoted()
		if !s.take(':') {
			s.fail("a colon")
			return
		}
		field(key)
	})
}

// array calls item for each element; item reads or skips it.
func (s *scanner) array(item func()) { s.list('[', ']', "a list", item) }

func (s *scanner) list(open, closed byte, what string, item func()) {
	if s.word("null") {
		return
	}
	if !s.take(open) {
		s.fail(what)
		return
	}
	if s.take(closed) {
		return
	}
	for s.err == nil {
		item()
		if s.take(closed) {
			return
		}
		if !s.take(',') {
			s.fail("a comma")
		}
	}
}

// isNull takes a null; null only looks.
func (s *scanner) isNull() bool { return s.word("null") }

func (s *scanner) null() bool { return s.peek() == 'n' }

// ending reads a text or an id; null is neither.
func (s *scanner) ending() ending {
	if c := s.peek(); c == '"' || c == 'n' {
		return ending{s.text(), c == '"'}
	}
	return ending{by: string(s.raw())}
}

// quoted reads a string, valid until the next call of the scanner's owner.
func (s *scanner) quoted() []byte {
	if s.peek() != '"' {
		s.fail("a string")
		return nil
	}
	from := s.at
	if !s.skipString() {
		return nil
	}
	inner := s.data[from+1 : s.at-1]
	plain := true
	for _, c := range inner {
		if c < ' ' || c == '\\' || c >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	if plain {
		return inner
	}
	var text string
	if err := json.Unmarshal(s.data[from:s.at], &text); err != nil && s.err == nil {
		s.err = err
	}
	return []byte(text)
}

// skipString at an opening quote.
func (s *scanner) skipString() bool {
	for at := s.at + 1; at < len(s.data); {
		n := bytes.IndexByte(s.data[at:], '"')
		if n < 0 {
			break
		}
		at += n + 1
		escapes := 0
		for i := at - 2; s.data[i] == '\\'; i-- {
			escapes++
		}
		if escapes%2 == 0 {
			s.at = at
			return true
		}
	}
	s.at = len(s.data)
	s.fail("a string's end")
	return false
}

// raw skips a value and returns it as it stands.
func (s *scanner) raw() []byte {
	s.peek()
	from := s.at
	s.skip()
	if s.err != nil {
		return nil
	}
	return s.data[from:s.at]
}

// skip a value of any kind.
func (s *scanner) skip() {
	switch c := s.peek(); c {
	case '"':
		s.skipString()
	case '{', '[':
		s.skipNested()
	default: // a number or a word
		from := s.at
		for s.at < len(s.data) && !ends[s.data[s.at]] {
			s.at++
		}
		if s.at == from {
			s.fail("a value")
		}
	}
}

// skipNested at an opening bracket.
func (s *scanner) skipNested() {
	depth := 0
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case '"':
			if !s.skipString() {
				return
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.at++
		if depth == 0 {
			return
		}
		for s.at < len(s.data) && !nests[s.data[s.at]] {
			s.at++
		}
	}
	s.fail("a bracket")
}

// ends are the bytes that end a number or a word, nests those that matter
// within brackets.
var ends, nests = bytesOf("\"{}[], \n\t\r:"), bytesOf("\"{}[]")

func bytesOf(list string) (t [256]bool) {
	for _, c := range []byte(list) {
		t[c] = true
	}
	return t
}
