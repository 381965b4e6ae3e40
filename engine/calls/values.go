package calls

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// schema is what is read of a JSON schema.
type schema struct {
	Type       json.RawMessage            `json:"type"` // a name, or a list of names
	AnyOf      []json.RawMessage          `json:"anyOf"`
	OneOf      []json.RawMessage          `json:"oneOf"`
	Enum       []any                      `json:"enum"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

func readSchema(data json.RawMessage) schema {
	var s schema
	if json.Unmarshal(data, &s) != nil {
		return schema{}
	}
	return s
}

// kinds are the types a schema allows; none where it does not say.
func (s schema) kinds() []string {
	var list []string
	var one string
	if json.Unmarshal(s.Type, &one) == nil {
		return []string{one}
	}
	if json.Unmarshal(s.Type, &list) == nil {
		return list
	}
	for _, o := range append(s.AnyOf, s.OneOf...) {
		list = append(list, readSchema(o).kinds()...)
	}
	return list
}

// schema is the schemas of a tool's parameters by name; nil for no such tool.
func (p *parser) schema(tool string) map[string]json.RawMessage {
	if known, ok := p.params[tool]; ok {
		return known
	}
	for _, t := range p.tools {
		if t.Name == tool {
			if p.params == nil {
				p.params = map[string]map[string]json.RawMessage{}
			}
			p.params[tool] = readSchema(t.Parameters).Properties
			return p.params[tool]
		}
	}
	return nil
}

// arguments collects the parameters of one call, in the order written.
type arguments struct {
	schema  map[string]json.RawMessage
	fields  bytes.Buffer
	seen    map[string]bool
	problem string // of the first parameter that has one
}

func (a *arguments) text() string { return "{" + a.fields.String() + "}" }

// add adds a parameter by the text between its tags. One line break at each
// end belongs to the tags, as chat templates write them; all else is the value.
func (a *arguments) add(name, text string) {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "\n"), "\n")
	value, want := convert(readSchema(a.schema[name]), text)
	switch {
	case a.problem != "":
	case a.seen[name]:
		a.problem = fmt.Sprintf("the parameter %q is given twice, so the tool call was not run. Send it again with each parameter once.", clip(name))
	case want != "":
		a.problem = fmt.Sprintf("the parameter %q must be %s, not %q, so the tool call was not run. Send it again.", clip(name), want, clip(text))
	default:
		if len(a.seen) > 0 {
			a.fields.WriteString(", ")
		} else {
			a.seen = map[string]bool{}
		}
		a.seen[name] = true
		a.fields.WriteString(quote(name) + ": " + value)
	}
}

// quote is a text as a JSON string.
func quote(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil { // a string always can be
		panic("calls: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// convert is a value as JSON by its schema. Text stays text where the schema
// allows a string or does not say; otherwise want says what it should have
// been. White space around anything but free text does not count.
func convert(s schema, text string) (value, want string) {
	bare := strings.TrimSpace(text)
	kinds := s.kinds()
	null := bare == "null" || bare == "None"
	switch asText := len(kinds) == 0 || slices.Contains(kinds, "string"); {
	case null && (!asText || slices.Contains(kinds, "null")):
		return "null", ""
	case asText && len(s.Enum) > 0:
		return quote(bare), ""
	case asText:
		return quote(text), ""
	}
	var wanted []string
	for _, k := range kinds {
		v, name := as(k, bare)
		if v != "" {
			return v, ""
		}
		wanted = append(wanted, name)
	}
	return "", strings.Join(wanted, " or ")
}

// as is a text as JSON of a type, "" when it is none, and what the type is
// called.
func as(kind, text string) (value, name string) {
	isJSON := func(first string) bool {
		return text != "" && strings.IndexByte(first, text[0]) >= 0 && json.Valid([]byte(text))
	}
	switch kind {
	case "integer":
		name = "an integer"
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			value = strconv.FormatInt(n, 10)
		} else if f, err := strconv.ParseFloat(text, 64); err == nil && isJSON("-0123456789") && f == math.Trunc(f) && math.Abs(f) <= 1<<53 {
			value = strconv.FormatInt(int64(f), 10) // 5.0
		}
	case "number":
		name = "a number"
		if isJSON("-0123456789") {
			value = text
		}
	case "boolean":
		name = "true or false"
		if b := strings.ToLower(text); b == "true" || b == "false" {
			value = b
		}
	case "array":
		name = "a JSON array"
		if isJSON("[") {
			value = text
		}
	case "object":
		name = "a JSON object"
		if isJSON("{") {
			value = text
		}
	default:
		name = "of type " + kind
	}
	return strings.ToValidUTF8(value, "\uFFFD"), name
}
