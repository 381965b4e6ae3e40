package export

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strconv"

	"rollbench/sessions"
)

// lines writes rows and counts them.
type lines struct {
	w     io.Writer
	run   sessions.Run
	opt   Options
	sum   *Summary
	buf   []byte  // of the line, reused
	masks []int32 // of the row, reused
}

// finish of a format that holds nothing back.
func (l *lines) finish() error { return nil }

// object starts a row in the buffer of the rows before it.
func (l *lines) object() *object { return &object{b: l.buf[:0]} }

// end writes the row.
func (l *lines) end(o *object) error {
	o.b = append(o.b, "}\n"...)
	l.buf = o.b
	l.sum.Rows++
	if o.err != nil {
		return o.err
	}
	_, err := l.w.Write(o.b)
	return err
}

// tokens counts those of a row by their mask.
func (l *lines) tokens(mask []int32) {
	l.sum.OutputTokens += len(mask)
	for _, m := range mask {
		l.sum.TrainTokens += int(m)
	}
}

// fill appends n masks.
func fill(mask []int32, n int, train bool) []int32 {
	m := int32(0)
	if train {
		m = 1
	}
	for range n {
		mask = append(mask, m)
	}
	return mask
}

// object is a JSON object being written. Arrays are written by hand: they are
// nearly all of an export, and encoding/json is several times slower.
type object struct {
	b   []byte
	err error
}

func (o *object) key(name string) {
	if n := len(o.b); n == 0 {
		o.b = append(o.b, '{')
	} else if o.b[n-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, '"', ':')
}

// open starts an object as the key's value, which close ends.
func (o *object) open(name string) {
	o.key(name)
	o.b = append(o.b, '{')
}

func (o *object) close() { o.b = append(o.b, '}') }

func (o *object) null(name string) {
	o.key(name)
	o.b = append(o.b, "null"...)
}

func (o *object) text(name, value string) { o.value(name, value) }

// value is encoded by encoding/json: for what is small.
func (o *object) value(name string, value any) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		o.err = err
	}
	o.key(name)
	o.b = append(o.b, bytes.TrimSuffix(line.Bytes(), []byte("\n"))...)
}

func (o *object) textOrNull(name, value string) {
	if value == "" {
		o.null(name)
		return
	}
	o.text(name, value)
}

func (o *object) integer(name string, value int) {
	o.key(name)
	o.b = strconv.AppendInt(o.b, int64(value), 10)
}

func (o *object) boolean(name string, value bool) {
	o.key(name)
	o.b = strconv.AppendBool(o.b, value)
}

// float writes the shortest text that reads back as the same value.
func (o *object) float(name string, value *float64) {
	if value == nil {
		o.null(name)
		return
	}
	o.key(name)
	o.b = strconv.AppendFloat(o.b, *value, 'g', -1, 64)
}

func (o *object) floats(name string, values []float64) {
	if values == nil {
		o.null(name)
		return
	}
	o.key(name)
	b := append(o.b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendFloat(b, v)
	}
	o.b = append(b, ']')
}

// appendFloat is strconv's shortest text. Zeros, which stand at every
// observation, and short decimals take a faster way: when v is the quotient
// of a whole number and 10^6, both exact, its digits are those of the number.
func appendFloat(b []byte, v float64) []byte {
	if v == 0 && !math.Signbit(v) {
		return append(b, '0')
	}
	const places, limit = 1e6, 1e12
	whole := math.RoundToEven(v * places)
	if whole/places != v || whole > limit || whole < -limit || math.Abs(v) < 1e-4 {
		return strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	n := int64(whole)
	if n < 0 {
		b, n = append(b, '-'), -n
	}
	b = appendInt(b, uint32(n/places))
	fraction := uint32(n % places)
	if fraction == 0 {
		return b
	}
	b = append(b, '.')
	for digit := uint32(places / 10); fraction > 0; digit /= 10 {
		b = append(b, '0'+byte(fraction/digit))
		fraction %= digit
	}
	return b
}

func (o *object) ids(name string, values []int32) {
	if values == nil {
		o.null(name)
		return
	}
	o.key(name)
	b := append(o.b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		if v < 0 {
			b = strconv.AppendInt(b, int64(v), 10)
		} else {
			b = appendInt(b, uint32(v))
		}
	}
	o.b = append(b, ']')
}

// appendInt writes two digits at a time.
func appendInt(b []byte, v uint32) []byte {
	var digits [10]byte
	at := len(digits)
	for v >= 100 {
		at -= 2
		copy(digits[at:], pairs[v%100*2:v%100*2+2])
		v /= 100
	}
	if v >= 10 {
		at -= 2
		copy(digits[at:], pairs[v*2:v*2+2])
	} else {
		at--
		digits[at] = '0' + byte(v)
	}
	return append(b, digits[at:]...)
}

// pairs are 00 to 99.
var pairs = func() (s string) {
	for i := range 100 {
		s += string([]byte{'0' + byte(i/10), '0' + byte(i%10)})
	}
	return s
}()

// raw is JSON text, brought onto one line.
func (o *object) raw(name string, value json.RawMessage) {
	if len(value) == 0 {
		o.null(name)
		return
	}
	var line bytes.Buffer
	if err := json.Compact(&line, value); err != nil {
		o.err = err
	}
	o.key(name)
	o.b = append(o.b, line.Bytes()...)
}
