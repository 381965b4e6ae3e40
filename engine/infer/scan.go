package infer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
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

// missing stands for a logprob that is no number.
var missing = math.NaN()

// ids reads a list of whole numbers from 0 to 2³¹−1. Null is nil, an empty
// list is not.
func (s *scanner) ids() []int32 {
	if s.isNull() {
		return nil
	}
	if !s.take('[') {
		s.fail("a list of token ids")
		return nil
	}
	end := bytes.IndexByte(s.data[s.at:], ']')
	out := make([]int32, 0, bytes.Count(s.data[s.at:s.at+max(0, end)], []byte{','})+1)
	if s.take(']') {
		return out
	}
	for s.err == nil {
		out = append(out, s.id())
		if s.take(']') {
			return out
		}
		if !s.take(',') {
			s.fail("a comma")
		}
	}
	return nil
}

// id reads a whole number from 0 to 2³¹−1.
func (s *scanner) id() int32 {
	s.peek()
	value, from := int64(0), s.at
	for s.at < len(s.data) && s.data[s.at]-'0' <= 9 && value <= math.MaxInt32 {
		value = value*10 + int64(s.data[s.at]-'0')
		s.at++
	}
	if s.err != nil {
		return 0
	}
	if s.at == from || value > math.MaxInt32 || s.at-from > 1 && s.data[from] == '0' {
		s.at = from
		s.fail("a token id")
		return 0
	}
	return int32(value)
}

// count reads a whole number; null gives nil.
func (s *scanner) count() *int {
	if s.isNull() {
		return nil
	}
	n := int(s.id())
	return &n
}

// exact powers of ten.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// number reads a number. Null and what JSON has no numbers for, as some servers
// write it, are not a number.
func (s *scanner) number() float64 {
	for _, w := range [...]string{"null", "NaN", "Infinity", "-Infinity"} {
		if c := s.peek(); c == w[0] && s.word(w) {
			return missing
		}
	}
	from := s.at
	negative := s.take('-')
	whole, digits := s.digits(0)
	if digits == 0 || digits > 1 && s.data[s.at-digits] == '0' {
		s.at = from
		s.fail("a number")
		return 0
	}
	mantissa, fraction := whole, 0
	if s.at < len(s.data) && s.data[s.at] == '.' {
		s.at++
		if mantissa, fraction = s.digits(whole); fraction == 0 {
			s.fail("a digit")
			return 0
		}
	}
	if s.at < len(s.data) && s.data[s.at]|0x20 == 'e' {
		s.exponent()
	} else if digits+fraction <= 18 && mantissa < 1<<53 && fraction < len(tens) {
		v := float64(mantissa) / tens[fraction] // both exact, so rounded once
		if negative {
			v = -v
		}
		return v
	}
	if s.err != nil {
		return 0
	}
	v, err := strconv.ParseFloat(string(s.data[from:s.at]), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		s.err = err
	}
	return v // beyond the range: infinite, and so not a number to a caller that asks
}

// digits goes on with the value of those before it, which wraps when there are
// many.
func (s *scanner) digits(value uint64) (uint64, int) {
	from := s.at
	for s.at < len(s.data) && s.data[s.at]-'0' <= 9 {
		value = value*10 + uint64(s.data[s.at]-'0')
		s.at++
	}
	return value, s.at - from
}

func (s *scanner) exponent() {
	s.at++
	if s.at < len(s.data) && (s.data[s.at] == '+' || s.data[s.at] == '-') {
		s.at++
	}
	if _, n := s.digits(0); n == 0 {
		s.fail("an exponent")
	}
}

// text reads a string; null is empty.
func (s *scanner) text() string {
	if s.isNull() {
		return ""
	}
	return string(s.quoted())
}

// scalar reads a string or a number as text; null is empty.
func (s *scanner) scalar() string {
	if c := s.peek(); c == '"' || c == 'n' {
		return s.text()
	}
	return string(s.raw())
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
	s.peek()
	from, depth := s.at, 0
	for s.err == nil {
		if s.at >= len(s.data) {
			if depth > 0 || s.at == from {
				s.fail("a value")
			}
			return
		}
		switch s.data[s.at] {
		case '"':
			if !s.skipString() {
				return
			}
		case '{', '[':
			depth++
			s.at++
		case '}', ']':
			if depth == 0 {
				if s.at == from {
					s.fail("a value")
				}
				return
			}
			depth--
			s.at++
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				if s.at == from {
					s.fail("a value")
				}
				return
			}
			s.at++
		default: // of a number or a word
			s.at++
			continue
		}
		if depth == 0 {
			return
		}
	}
}

// named reads a token's name in logprobs: its id when it is given as
// "token_id:N", else −1.
func (s *scanner) named() int32 {
	const prefix = "token_id:"
	inner := s.quoted()
	if !bytes.HasPrefix(inner, []byte(prefix)) {
		return -1
	}
	id, err := strconv.ParseInt(string(inner[len(prefix):]), 10, 32)
	if err != nil || id < 0 {
		return -1
	}
	return int32(id)
}

// appendIDs as a JSON list.
func appendIDs(out []byte, ids []int32) []byte {
	out = append(out, '[')
	for i, id := range ids {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, int64(id), 10)
	}
	return append(out, ']')
}
