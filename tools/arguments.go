package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// parseArguments reads a call's arguments. Text that ends too early is told
// apart from text that is not JSON, because the model corrects them
// differently; neither runs. Empty text is a call without arguments.
func parseArguments(tool, text string) (map[string]any, error) {
	if strings.TrimSpace(text) == "" {
		return map[string]any{}, nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // so that 5 and 5.0 stay distinguishable from 5.5 and big numbers stay exact
	var value any
	err := d.Decode(&value)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return nil, invalidf("ERROR: the arguments of %s were cut off: the JSON ends after %d characters, before it is complete. Nothing was run. "+
			"Send the whole call again; if it is long, do it in smaller steps.", tool, len([]rune(text)))
	case err != nil:
		return nil, invalidf("ERROR: the arguments of %s are malformed JSON: %s. Nothing was run. "+
			"Send one JSON object; inside strings write line breaks as \\n, quotes as \\\" and backslashes as \\\\.", tool, where(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, invalidf("ERROR: the arguments of %s are malformed JSON: there is more text after the object (character %d). Nothing was run. "+
			"Send exactly one JSON object.", tool, d.InputOffset())
	}
	args, ok := value.(map[string]any)
	if !ok {
		return nil, invalidf("ERROR: the arguments of %s must be a JSON object such as {\"name\": \"value\"}, not %s. Nothing was run.", tool, kindOf(value))
	}
	return args, nil
}

func where(err error) string {
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("%s (at character %d)", s.Error(), s.Offset)
	}
	return err.Error()
}

// checkArguments coerces args in place to the types the tool expects and
// validates them. An argument that is null counts as not given.
func checkArguments(tool string, schema *jsonschema.Resolved, args map[string]any) error {
	s := schema.Schema()
	for name, value := range args {
		if value == nil {
			delete(args, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		p, known := s.Properties[name]
		if !known && s.AdditionalProperties == nil {
			return invalidf("ERROR: %s has no argument named %q. %s", tool, clipWord(name), signature(tool, s))
		}
		if !known {
			p = s.AdditionalProperties
		}
		value, ok := coerce(p, args[name])
		if !ok {
			return invalidf("ERROR: argument %q of %s must be %s, not %s. %s", name, tool, expected(p), kindOf(args[name]), signature(tool, s))
		}
		if len(p.Enum) > 0 && !slices.ContainsFunc(p.Enum, func(v any) bool { return asJSON(v) == asJSON(value) }) {
			return invalidf("ERROR: argument %q of %s must be one of %s, not %q.", name, tool, choices(p), clipWord(fmt.Sprint(value)))
		}
		args[name] = value
	}
	for _, name := range s.Required {
		if _, given := args[name]; !given {
			return invalidf("ERROR: %s needs the argument %q, which is missing. %s", tool, name, signature(tool, s))
		}
	}
	if err := schema.Validate(args); err != nil {
		return invalidf("ERROR: the arguments of %s do not fit: %v. %s", tool, err, signature(tool, s))
	}
	return nil
}

// coerce turns a value into the schema's type where the meaning is plain:
// models write "5" for 5, "[1, 9]" for [1, 9] and true for "true". Where several
// types are allowed the first that fits is taken, a text if one may be.
func coerce(s *jsonschema.Schema, value any) (any, bool) {
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	if _, text := value.(string); text && slices.Contains(types, "string") || len(types) == 0 {
		return plain(value), true
	}
	for _, kind := range types {
		if v, ok := convert(kind, s, value); ok {
			return v, true
		}
	}
	return nil, false
}

func convert(kind string, s *jsonschema.Schema, value any) (any, bool) {
	switch kind {
	case "integer":
		return toInteger(value)
	case "number":
		return toNumber(value)
	case "boolean":
		return toBoolean(value)
	case "array":
		return toArray(s, value)
	case "object":
		return toObject(s, value)
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

func toArray(s *jsonschema.Schema, value any) (any, bool) {
	list, ok := unquoted(value).([]any)
	if !ok {
		return nil, false
	}
	out := make([]any, len(list))
	for i, item := range list {
		if s.Items == nil {
			out[i] = plain(item)
		} else if out[i], ok = coerce(s.Items, item); !ok {
			return nil, false
		}
	}
	return out, true
}

func toObject(s *jsonschema.Schema, value any) (any, bool) {
	object, ok := unquoted(value).(map[string]any)
	if !ok {
		return nil, false
	}
	out := make(map[string]any, len(object))
	for name, item := range object {
		out[name] = plain(item)
		if p := s.Properties[name]; p != nil {
			if v, ok := coerce(p, item); ok { // else validation names what does not fit
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

// asJSON is a value in one form: names sorted, < and & as they are.
func asJSON(value any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return fmt.Sprint(value) // not from JSON, so equal to none
	}
	return strings.TrimSuffix(b.String(), "\n")
}
