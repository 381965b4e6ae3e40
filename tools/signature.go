package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// signature says what a tool's arguments are, in one sentence: it ends every
// corrective text about them.
func signature(tool string, s *jsonschema.Schema) string {
	if len(s.Properties) == 0 {
		return tool + " takes no arguments."
	}
	names := slices.Sorted(maps.Keys(s.Properties))
	// Required ones first, in the schema's order; the rest by name.
	ordered := slices.Clone(s.Required)
	for _, name := range names {
		if !slices.Contains(s.Required, name) {
			ordered = append(ordered, name)
		}
	}
	parts := make([]string, 0, len(ordered))
	for _, name := range ordered {
		need := "optional"
		if slices.Contains(s.Required, name) {
			need = "required"
		}
		parts = append(parts, fmt.Sprintf("%s (%s, %s)", name, (coercer{s}).expected(s.Properties[name]), need))
	}
	return "The arguments of " + tool + " are: " + strings.Join(parts, ", ") + "."
}

// expected names a type the way a sentence can use it.
func expected(s *jsonschema.Schema) string {
	switch {
	case len(s.Enum) > 0:
		return "one of " + choices(s)
	case s.Const != nil:
		return asJSON(*s.Const)
	case s.Type == "integer":
		return "an integer"
	case s.Type == "null":
		return "null"
	case s.Type == "array" && s.Items != nil && s.Items.Type == "integer":
		return "an array of integers such as [1, 40]"
	case s.Type == "array":
		return "an array"
	case s.Type == "object":
		return "an object"
	case s.Type != "":
		return "a " + s.Type
	case len(s.Types) > 0:
		return "one of the types " + strings.Join(s.Types, ", ")
	}
	return "any value"
}

func choices(s *jsonschema.Schema) string {
	words := make([]string, 0, len(s.Enum))
	for _, v := range s.Enum {
		words = append(words, asJSON(v))
	}
	return strings.Join(words, ", ")
}

// kindOf names a JSON value for a person.
func kindOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprintf("the boolean %t", v)
	case json.Number:
		return "the number " + clipWord(v.String())
	case string:
		return fmt.Sprintf("the string %q", clipWord(v))
	case []any:
		text, err := json.Marshal(v)
		if err != nil {
			return "an array"
		}
		return "the array " + clipWord(string(text))
	case map[string]any:
		return "an object"
	}
	return fmt.Sprintf("%v", value)
}

// clipWord keeps a quoted piece of a model's text short and printable.
func clipWord(s string) string {
	const most = 60
	runes := []rune(Clean([]byte(s)))
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(runes)
}
