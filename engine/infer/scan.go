package infer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
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
	out := make([]int32, 0, s.size())
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

// size is about how many elements the flat list has that is about to be read.
func (s *scanner) size() int {
	end := max(0, bytes.IndexByte(s.data[s.at:], ']'))
	return bytes.Count(s.data[s.at:s.at+end], []byte{','}) + 1
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

// number reads a number. Null and what JSON has no numbers for, as some servers
// write it, are missing.
func (s *scanner) number() float64 {
	if c := s.peek(); c != '-' && c-'0' > 9 || c == '-' && s.at+1 < len(s.data) && s.data[s.at+1] == 'I' {
		for _, w := range [...]string{"null", "NaN", "Infinity", "-Infinity"} {
			if s.word(w) {
				return missing
			}
		}
	}
	from := s.at
	negative := s.take('-')
	mantissa, digits := s.digits(0)
	if s.err != nil || digits == 0 || digits > 1 && s.data[s.at-digits] == '0' {
		s.at = from
		s.fail("a number")
		return 0
	}
	if digits == 1 && mantissa == 0 {
		digits = 0 // a zero before the point
	}
	fraction := 0
	if s.at < len(s.data) && s.data[s.at] == '.' {
		s.at++
		if mantissa, fraction = s.digits(mantissa); fraction == 0 {
			s.fail("a digit")
			return 0
		}
	}
	if s.at < len(s.data) && s.data[s.at]|0x20 == 'e' {
		s.exponent()
	} else if digits+fraction < len(tens) {
		v := quotient(mantissa, tens[fraction])
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

// tens are the powers of ten that 64 bits hold.
var tens = func() (t [20]uint64) {
	t[0] = 1
	for i := 1; i < len(t); i++ {
		t[i] = t[i-1] * 10
	}
	return t
}()

// quotient of two whole numbers, rounded once: 63 bits of it and whether there
// is a rest.
func quotient(m, d uint64) float64 {
	if m == 0 {
		return 0
	}
	up, down := bits.LeadingZeros64(m), bits.LeadingZeros64(d)
	m, d = m<<up, d<<down
	q, rest := bits.Div64(m>>1, m<<63, d)
	if rest != 0 {
		q |= 1
	}
	return float64(q) * math.Float64frombits(uint64(1023+down-up-63)<<52) // a power of two
}

// digits goes on with the value of those before it, which wraps beyond 19.
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

// named reads a token's name in logprobs: its id when it is given as
// "token_id:N", else −1.
func (s *scanner) named() int32 {
	const prefix = `"token_id:`
	if s.peek() == '"' && bytes.HasPrefix(s.data[s.at:], []byte(prefix)) {
		from := s.at
		s.at += len(prefix)
		if id, n := s.digits(0); n > 0 && n < 11 && id <= math.MaxInt32 && s.at < len(s.data) && s.data[s.at] == '"' {
			s.at++
			return int32(id)
		}
		s.at = from
	}
	s.quoted()
	return -1
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
