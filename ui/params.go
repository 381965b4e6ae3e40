package ui

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"rollbench/engine"
)

// param is a parameter of a tool, as its JSON Schema describes it.
type param struct {
	name     string
	kinds    []string // of JSON; empty: any
	items    string   // kind of an array's items, "" when not said
	enum     []string // texts; empty: any value
	required bool
	about    string
}

// paramsOf a tool in the order of its schema.
func paramsOf(t engine.Tool) []param {
	var schema struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(t.Parameters, &schema) != nil {
		return nil // the engine has compiled it
	}
	given, _ := splitArgs(string(schema.Properties))
	var out []param
	for _, a := range given {
		p := param{name: a.name, required: slices.Contains(schema.Required, a.name)}
		p.read([]byte(a.text))
		out = append(out, p)
	}
	return out
}

// read what a property says of itself; of alternatives all kinds.
func (p *param) read(property []byte) {
	var s struct {
		Type        any               `json:"type"`
		Enum        []any             `json:"enum"`
		Description string            `json:"description"`
		Items       json.RawMessage   `json:"items"`
		AnyOf       []json.RawMessage `json:"anyOf"`
		OneOf       []json.RawMessage `json:"oneOf"`
	}
	if json.Unmarshal(property, &s) != nil {
		return
	}
	switch kind := s.Type.(type) {
	case string:
		p.kinds = append(p.kinds, kind)
	case []any:
		for _, k := range kind {
			p.kinds = append(p.kinds, fmt.Sprint(k))
		}
	}
	for _, v := range s.Enum {
		p.enum = append(p.enum, fmt.Sprint(v))
	}
	if p.about == "" {
		p.about = cleanLine(s.Description)
	}
	if s.Items != nil {
		items := param{}
		items.read(s.Items)
		p.items = strings.Join(items.kinds, " or ")
	}
	for _, other := range slices.Concat(s.AnyOf, s.OneOf) {
		p.read(other)
	}
}

// hint of what to write.
func (p param) hint() string {
	text := strings.Join(p.kinds, " or ")
	switch {
	case len(p.enum) > 0:
		text = "one of " + strings.Join(p.enum, ", ")
	case text == "array" && p.items != "":
		text = "array of " + p.items
	case text == "":
		text = "any JSON"
	}
	if p.required {
		text += ", required"
	}
	if p.about != "" {
		text += ": " + p.about
	}
	return text
}

// text reports whether a value is written as the text it is.
func (p param) text() bool { return slices.Contains(p.kinds, "string") }

// single line: all but texts, which may be code.
func (p param) single() bool { return len(p.enum) > 0 || !p.text() }

// value of what was typed, as JSON.
func (p param) value(typed string) (string, error) {
	if len(p.enum) > 0 && !slices.Contains(p.enum, typed) {
		return "", fmt.Errorf("%s is %q: use one of %s", p.name, typed, strings.Join(p.enum, ", "))
	}
	if p.text() && (len(p.kinds) == 1 || !p.fits(typed, true)) {
		return quote(typed), nil
	}
	if !p.fits(typed, false) {
		return "", fmt.Errorf("%s is no %s: %s", p.name, strings.Join(p.kinds, " or "), cleanLine(typed))
	}
	return strings.TrimSpace(typed), nil
}

// check a value that is JSON already.
func (p param) check(text string) error {
	var s string
	if json.Unmarshal([]byte(text), &s) == nil && strings.HasPrefix(strings.TrimSpace(text), `"`) {
		if !p.text() && len(p.kinds) > 0 {
			return fmt.Errorf("%s is a string, not %s", p.name, strings.Join(p.kinds, " or "))
		}
		if len(p.enum) > 0 && !slices.Contains(p.enum, s) {
			return fmt.Errorf("%s is %q: use one of %s", p.name, s, strings.Join(p.enum, ", "))
		}
		return nil
	}
	if !p.fits(text, false) {
		return fmt.Errorf("%s is no %s: %s", p.name, strings.Join(p.kinds, " or "), cleanLine(text))
	}
	return nil
}

// fits reports whether the JSON is of one of the kinds; other: than a string.
func (p param) fits(text string, other bool) bool {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return false
	}
	if len(p.kinds) == 0 {
		return true
	}
	var is []string
	switch n := v.(type) {
	case nil:
		is = []string{"null"}
	case bool:
		is = []string{"boolean"}
	case float64:
		if is = []string{"number"}; n == math.Trunc(n) {
			is = append(is, "integer")
		}
	case string:
		if !other {
			is = []string{"string"}
		}
	case []any:
		is = []string{"array"}
	case map[string]any:
		is = []string{"object"}
	}
	return slices.ContainsFunc(is, func(k string) bool { return slices.Contains(p.kinds, k) })
}

// checkCall says what of a call its tool would not take.
func checkCall(tools []engine.Tool, name, arguments string) error {
	if len(tools) == 0 {
		return nil // not known: the tool says it
	}
	i := slices.IndexFunc(tools, func(t engine.Tool) bool { return t.Name == name })
	if i < 0 {
		return fmt.Errorf("there is no tool %q: %s", name, strings.Join(toolNames(tools), ", "))
	}
	args, ok := splitArgs(arguments)
	if !ok {
		return fmt.Errorf("the arguments of %s are no JSON object", name)
	}
	params := paramsOf(tools[i])
	for _, a := range args {
		at := slices.IndexFunc(params, func(p param) bool { return p.name == a.name })
		if at < 0 {
			return fmt.Errorf("%s has no parameter %q", name, a.name)
		}
		text := a.text
		if !a.json {
			text = quote(a.text)
		}
		if err := params[at].check(text); err != nil {
			return err
		}
	}
	for _, p := range params {
		if p.required && !slices.ContainsFunc(args, func(a arg) bool { return a.name == p.name }) {
			return fmt.Errorf("%s is required", p.name)
		}
	}
	return nil
}

func toolNames(tools []engine.Tool) []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return names
}
