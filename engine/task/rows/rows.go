// Package rows reads the tables that datasets are published as: JSON lines, JSON
// documents and Parquet files, one or several of them, a row at a time.
//
// In: files. Out: a sequence of rows, each a map of plain values (string, bool,
// json.Number, int64, float64, []byte, []any, map[string]any, nil) that knows
// where it stands, so that a mistake in it can be named by file, line and field.
package rows

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Row is one row of a table, or an object within one.
type Row struct {
	Place  string // "line 3", "row 5", with the file's name where there are several
	Origin string // the file and the place
	File   string // absolute, "" for what is in none
	within string // field that holds this object, with a dot; "" for a whole row
	fields map[string]any
}

// New row of values, for what is no table.
func New(origin string, fields map[string]any) Row {
	return Row{Origin: origin, fields: fields}
}

// Bad is a row that cannot be read, or makes no sense. Others of its table may.
type Bad struct {
	Place string
	Err   error
}

func (b *Bad) Error() string { return b.Place + ": " + b.Err.Error() }
func (b *Bad) Unwrap() error { return b.Err }

// Columns are the names of the row's fields, sorted, whether or not they hold
// anything.
func (r Row) Columns() []string { return slices.Sorted(maps.Keys(r.fields)) }

// Has reports whether there are columns of all these names.
func (r Row) Has(names ...string) bool {
	for _, name := range names {
		if _, ok := r.fields[name]; !ok {
			return false
		}
	}
	return true
}

// Given reports whether a field holds something but null.
func (r Row) Given(name string) bool { return r.fields[name] != nil }

// Value of a field as it was read, nil when there is none.
func (r Row) Value(name string) any { return r.fields[name] }

// Set replaces a field, for families that only name it differently.
func (r Row) Set(name string, value any) { r.fields[name] = value }

// Wrong is an error about a field, which it names.
func (r Row) Wrong(name, format string, args ...any) error {
	between := " "
	if strings.HasPrefix(format, "%w") { // an error of its own
		between = ": "
	}
	return fmt.Errorf("field %q%s%w", r.within+name, between, fmt.Errorf(format, args...))
}

// Text of a field, "" when it is absent or null.
func (r Row) Text(name string) (string, error) {
	switch v := r.fields[name].(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case []byte:
		if utf8.Valid(v) { // older writers do not mark their texts
			return string(v), nil
		}
		return "", r.Wrong(name, "holds bytes that are no text")
	default:
		return "", r.Wrong(name, "is %s; it must be a string", kindOf(v))
	}
}

// Need is the text of a field that must hold some; why says who needs it.
func (r Row) Need(name, why string) (string, error) {
	if !r.Given(name) {
		return "", r.Wrong(name, "is missing; %s", why)
	}
	text, err := r.Text(name)
	if err == nil && strings.TrimSpace(text) == "" {
		return "", r.Wrong(name, "is empty; %s", why)
	}
	return text, err
}

// Label is a text, or a whole number as text: ids are written either way.
func (r Row) Label(name string) (string, error) {
	switch v := r.fields[name].(type) {
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return v.String(), nil
		}
	case int64:
		return strconv.FormatInt(v, 10), nil
	}
	return r.Text(name)
}

// Number of a field; given is false when it is absent or null.
func (r Row) Number(name string) (value float64, given bool, err error) {
	switch v := r.fields[name].(type) {
	case nil:
		return 0, false, nil
	case int64:
		return float64(v), true, nil
	case float64:
		value = v
	case json.Number:
		if value, err = v.Float64(); err != nil {
			return 0, true, r.Wrong(name, "is %s, which is out of range", v)
		}
	default:
		return 0, true, r.Wrong(name, "is %s; it must be a number", kindOf(v))
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return 0, true, r.Wrong(name, "is %v; it must be a number", value)
	}
	return value, true, nil
}

// Names is a list of texts, or such a list as JSON in a string. given is false
// when the field is absent or null.
func (r Row) Names(name string) (list []string, given bool, err error) {
	value := r.fields[name]
	if text, ok := asText(value); ok {
		if strings.TrimSpace(text) == "" {
			return nil, true, nil
		}
		// Most are lists of texts; a null would come out as an empty one.
		if !strings.Contains(text, "null") && json.Unmarshal([]byte(text), &list) == nil && list != nil {
			return list, true, nil
		}
		list = nil
		if value, err = parseJSON([]byte(text)); err != nil {
			value = text // the message below is about it
		}
	}
	switch v := value.(type) {
	case nil:
		return nil, r.fields[name] != nil, nil
	case []any:
		list = make([]string, len(v))
		for i, one := range v {
			text, ok := asText(one)
			if !ok {
				return nil, true, r.Wrong(name, "must be a list of strings, or one written as a JSON string; its item %d is %s", i+1, kindOf(one))
			}
			list[i] = text
		}
		return list, true, nil
	}
	return nil, true, r.Wrong(name, "must be a list of strings, or one written as a JSON string")
}

// Object is a field that is an object itself, or one as JSON in a string.
func (r Row) Object(name string) (inner Row, given bool, err error) {
	value := r.fields[name]
	if text, ok := asText(value); ok && strings.HasPrefix(strings.TrimSpace(text), "{") {
		if value, err = parseJSON([]byte(text)); err != nil {
			return Row{}, true, r.Wrong(name, "is broken JSON: %v", err)
		}
	}
	switch v := value.(type) {
	case nil:
		return Row{}, false, nil
	case map[string]any:
		return Row{Place: r.Place, Origin: r.Origin, File: r.File, within: r.within + name + ".", fields: v}, true, nil
	}
	return Row{}, true, r.Wrong(name, "is %s; it must be an object", kindOf(value))
}

func asText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), utf8.Valid(v)
	}
	return "", false
}

// Bytes of a field. A text is base64, as JSON carries them, or else its own bytes.
func (r Row) Bytes(name string) ([]byte, error) {
	switch v := r.fields[name].(type) {
	case nil:
		return nil, nil
	case []byte:
		return v, nil
	case string:
		if data, err := base64.StdEncoding.DecodeString(v); err == nil {
			return data, nil
		}
		return []byte(v), nil
	default:
		return nil, r.Wrong(name, "is %s; it must be binary", kindOf(v))
	}
}

// kindOf a value, in a message.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case []byte:
		return "binary"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

var errBehind = errors.New("bytes stand behind the row")

// Exact is an error where what encoding/json reads of data would be another text than
// what was written: it replaces bytes that are not UTF-8, and halves of surrogate pairs.
func Exact(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("it is not UTF-8, as JSON must be")
	}
	for rest := data; ; {
		at := bytes.IndexByte(rest, '\\')
		if at < 0 || at+1 >= len(rest) {
			return nil
		}
		rest = rest[at:]
		unit, escaped := utf16Unit(rest)
		if !escaped {
			rest = rest[2:]
			continue
		}
		rest = rest[6:]
		if !utf16.IsSurrogate(unit) {
			continue
		}
		if other, follows := utf16Unit(rest); follows && utf16.DecodeRune(unit, other) != utf8.RuneError {
			rest = rest[6:]
			continue
		}
		return fmt.Errorf("it holds \\u%04x, half of a character, and no text holds that", unit)
	}
}

// utf16Unit that an escape is, which data begins with.
func utf16Unit(data []byte) (unit rune, escaped bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	return rune(n), err == nil
}

// parseJSON decodes one value and nothing behind it.
func parseJSON(data []byte) (any, error) {
	if err := Exact(data); err != nil {
		return nil, err
	}
	return Decode(data)
}

// Decode reads one value, whose numbers keep all of their digits (json.Number), and
// nothing behind it.
func Decode(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if rest := bytes.TrimSpace(data[d.InputOffset():]); len(rest) > 0 {
		return nil, fmt.Errorf("%d %w", len(rest), errBehind)
	}
	return v, nil
}

// parseObject decodes a row.
func parseObject(data []byte) (map[string]any, error) {
	if err := Exact(data); err != nil {
		return nil, err
	}
	v, err := Decode(data)
	if err != nil {
		return nil, brokenJSON(data, err)
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s stands where a row (an object) must be", kindOf(v))
	}
	return fields, nil
}

// brokenJSON names the place within a text of one or many lines.
func brokenJSON(data []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.Is(err, errBehind) {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("broken JSON at byte %d: it is cut there", len(data))
	}
	if !errors.As(err, &syntax) {
		return fmt.Errorf("broken JSON: %w", err)
	}
	before := data[:min(max(int(syntax.Offset), 0), len(data))]
	if bytes.Count(bytes.TrimSpace(data), []byte("\n")) > 0 {
		return fmt.Errorf("line %d: broken JSON: %w", 1+bytes.Count(before, []byte("\n")), err)
	}
	return fmt.Errorf("broken JSON at byte %d: %w", syntax.Offset, err)
}
