package infer

import (
	"bytes"
	"errors"
	"math"
	"math/bits"
	"strconv"
)

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
