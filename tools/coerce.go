package tools

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// coercer turns values into the types of a schema, root, whose parts may refer to
// its definitions.
type coercer struct{ root *jsonschema.Schema }

// maxReferences bounds a chain of references, which may be a circle.
const maxReferences = 16

// resolve follows references to definitions, and allOf where it holds only one
// schema, as generators of schemas write it.
func (c coercer) resolve(s *jsonschema.Schema) *jsonschema.Schema {
	for range maxReferences {
		next := s
		switch name, of := definition(s.Ref); {
		case of == "$defs":
			next = c.root.Defs[name]
		case of == "definitions":
			next = c.root.Definitions[name]
		case s.Ref == "" && len(s.AllOf) == 1 && s.Type == "" && len(s.Types) == 0:
			next = s.AllOf[0]
		}
		if next == nil || next == s {
			return s // validation says what is wrong with a reference to nothing
		}
		s = next
	}
	return s
}

// definition is the name behind a reference such as #/$defs/Item, and where it
// stands.
func definition(ref string) (name, of string) {
	for _, of := range []string{"$defs", "definitions"} {
		if name, is := strings.CutPrefix(ref, "#/"+of+"/"); is {
			return strings.NewReplacer("~1", "/", "~0", "~").Replace(name), of
		}
	}
	return "", ""
}

func alternatives(s *jsonschema.Schema) []*jsonschema.Schema {
	if len(s.AnyOf) > 0 {
		return s.AnyOf
	}
	return s.OneOf
}

// oneOf coerces to the first alternative that fits; a text stays one where it may.
func (c coercer) oneOf(either []*jsonschema.Schema, value any) (any, bool) {
	if _, text := value.(string); text && slices.ContainsFunc(either, func(s *jsonschema.Schema) bool { return c.takes(s, "string") }) {
		return value, true
	}
	for _, s := range either {
		if v, ok := c.coerce(s, value); ok {
			return v, true
		}
	}
	return nil, false
}

// takes reports whether a value of a type may fit.
func (c coercer) takes(s *jsonschema.Schema, kind string) bool {
	s = c.resolve(s)
	either := alternatives(s)
	switch {
	case s.Type != "" || len(s.Types) > 0:
		return s.Type == kind || slices.Contains(s.Types, kind)
	case len(either) > 0:
		return slices.ContainsFunc(either, func(s *jsonschema.Schema) bool { return s != nil && c.takes(s, kind) })
	}
	return kind != "null" && !never(s)
}

func (c coercer) nullable(s *jsonschema.Schema) bool { return s != nil && c.takes(s, "null") }

// expected names what a schema takes the way a sentence can use it.
func (c coercer) expected(s *jsonschema.Schema) string {
	s = c.resolve(s)
	either := alternatives(s)
	if len(either) == 0 || s.Type != "" || len(s.Types) > 0 || len(s.Enum) > 0 {
		return expected(s)
	}
	var words []string
	for _, a := range either {
		if word := expected(c.resolve(a)); !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return strings.Join(words, " or ")
}

// coerce turns a value into the schema's type where the meaning is plain:
// models write "5" for 5, "[1, 9]" for [1, 9] and true for "true". Where several
// types are allowed the first that fits is taken, a text if one may be.
func (c coercer) coerce(s *jsonschema.Schema, value any) (any, bool) {
	s = c.resolve(s)
	if either := alternatives(s); len(either) > 0 && s.Type == "" && len(s.Types) == 0 {
		return c.oneOf(either, value)
	}
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	if _, text := value.(string); text && slices.Contains(types, "string") || len(types) == 0 {
		return plain(value), true
	}
	for _, kind := range types {
		if v, ok := c.convert(kind, s, value); ok {
			return v, true
		}
	}
	return nil, false
}

func (c coercer) convert(kind string, s *jsonschema.Schema, value any) (any, bool) {
	switch kind {
	case "integer":
		return toInteger(value)
	case "number":
		return toNumber(value)
	case "boolean":
		return toBoolean(value)
	case "array":
		return c.toArray(s, value)
	case "object":
		return c.toObject(s, value)
	case "string":
		if b, ok := value.(bool); ok && len(s.Enum) > 0 {
			return strconv.FormatBool(b), true
		}
		text, ok := value.(string)
		return text, ok
	}
	return nil, kind == "null" && value == nil
}

func toInteger(value any) (any, bool) {
	switch v := value.(type) {
	case json.Number:
		if n, err := strconv.Atoi(v.String()); err == nil {
			return n, true
		}
		f, err := v.Float64()
		if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return nil, false
		}
		return int(f), true
	case string:
		n, err := strconv.Atoi(strings.TrimSpace(v))
		return n, err == nil
	}
	return nil, false
}

func toNumber(value any) (any, bool) {
	text, ok := value.(string)
	if n, is := value.(json.Number); is {
		text, ok = n.String(), true
	}
	text = strings.TrimSpace(text)
	if !ok {
		return nil, false
	}
	if n, err := strconv.Atoi(text); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}

func toBoolean(value any) (any, bool) {
	if text, ok := value.(string); ok {
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "true":
			return true, true
		case "false":
			return false, true
		}
	}
	b, ok := value.(bool)
	return b, ok
}

func (c coercer) toArray(s *jsonschema.Schema, value any) (any, bool) {
	list, ok := unquoted(value).([]any)
	if !ok {
		return nil, false
	}
	out := make([]any, len(list))
	for i, item := range list {
		if s.Items == nil {
			out[i] = plain(item)
		} else if out[i], ok = c.coerce(s.Items, item); !ok {
			return nil, false
		}
	}
	return out, true
}

func (c coercer) toObject(s *jsonschema.Schema, value any) (any, bool) {
	object, ok := unquoted(value).(map[string]any)
	if !ok {
		return nil, false
	}
	out := make(map[string]any, len(object))
	for name, item := range object {
		out[name] = plain(item)
		if p := s.Properties[name]; p != nil {
			if v, ok := c.coerce(p, item); ok { // else validation names what does not fit
				out[name] = v
			}
		}
	}
	return out, true
}

// unquoted is a text's JSON value, where it holds exactly one.
func unquoted(value any) any {
	text, ok := value.(string)
	if !ok {
		return value
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var inner any
	if d.Decode(&inner) != nil {
		return value
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return value
	}
	return inner
}

// plain replaces the decoder's numbers by int or float64, as validation wants
// them. A number beyond both stays as it is and fails validation.
func plain(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, ok := toNumber(v); ok {
			return n
		}
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = plain(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			out[name] = plain(item)
		}
		return out
	}
	return value
}
