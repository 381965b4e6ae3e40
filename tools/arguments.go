package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
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
// validates them. An argument that is null counts as not given, unless it is
// required and may be null.
func checkArguments(tool string, schema *jsonschema.Resolved, args map[string]any) error {
	s := schema.Schema()
	c := coercer{s}
	for name, value := range args {
		if value == nil && !(slices.Contains(s.Required, name) && c.nullable(s.Properties[name])) {
			delete(args, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		p, known := s.Properties[name]
		if !known {
			p = beyond(s, name)
		}
		if p == nil {
			return invalidf("ERROR: %s has no argument named %q. %s", tool, clipWord(name), signature(tool, s))
		}
		p = c.resolve(p)
		value, ok := c.coerce(p, args[name])
		if !ok {
			return invalidf("ERROR: argument %q of %s must be %s, not %s. %s", clipWord(name), tool, c.expected(p), kindOf(args[name]), signature(tool, s))
		}
		if len(p.Enum) > 0 && !among(p.Enum, value) {
			return invalidf("ERROR: argument %q of %s must be one of %s, not %q.", clipWord(name), tool, choices(p), clipWord(fmt.Sprint(value)))
		}
		args[name] = value
	}
	for _, name := range s.Required {
		if _, given := args[name]; !given {
			return invalidf("ERROR: %s needs the argument %q, which is missing. %s", tool, name, signature(tool, s))
		}
	}
	if err := schema.Validate(args); err != nil {
		// The reason quotes values, which may be of any length.
		reason, _ := cutMiddle(Clean([]byte(err.Error())), 600, " […%d characters…] ")
		return invalidf("ERROR: the arguments of %s do not fit: %s. %s", tool, reason, signature(tool, s))
	}
	return nil
}

func among(enum []any, value any) bool {
	text := asJSON(value)
	return slices.ContainsFunc(enum, func(v any) bool { return asJSON(v) == text })
}

// beyond is the schema of an argument that is not among the properties, nil
// where there can be none.
func beyond(s *jsonschema.Schema, name string) *jsonschema.Schema {
	for pattern := range s.PatternProperties {
		if re, err := regexp.Compile(pattern); err == nil && re.MatchString(name) {
			return &jsonschema.Schema{} // validation knows the pattern's own
		}
	}
	if s.AdditionalProperties == nil || never(s.AdditionalProperties) {
		return nil
	}
	return s.AdditionalProperties
}

// never reports whether a schema is "false", which fits nothing.
func never(s *jsonschema.Schema) bool {
	return s.Not != nil && reflect.DeepEqual(*s, jsonschema.Schema{Not: &jsonschema.Schema{}})
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
