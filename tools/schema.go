package tools

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// compile reads the JSON Schema of a tool's parameters.
func compile(parameters json.RawMessage) (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(parameters, &s); err != nil {
		return nil, err
	}
	if err := checkReferences(parameters); err != nil {
		return nil, err
	}
	if s.Type != "object" {
		return nil, errors.New(`a schema of type "object" is needed, with one property for each parameter`)
	}
	if err := checkTypes(&s); err != nil {
		return nil, err
	}
	for _, name := range s.Required {
		if s.Properties[name] == nil {
			return nil, fmt.Errorf("%q is required and not among the properties", name)
		}
	}
	return s.Resolve(nil)
}

// checkTypes finds misspelt types, which the schema library lets pass.
func checkTypes(s *jsonschema.Schema) error {
	if s == nil {
		return nil
	}
	for _, kind := range append([]string{s.Type}, s.Types...) {
		if kind != "" && !slices.Contains([]string{"string", "integer", "number", "boolean", "array", "object", "null"}, kind) {
			return fmt.Errorf("there is no type %q", kind)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if s.Properties[name] == nil {
			return fmt.Errorf("property %q is null", name)
		}
		if err := checkTypes(s.Properties[name]); err != nil {
			return fmt.Errorf("property %q: %w", name, err)
		}
	}
	return cmp.Or(checkTypes(s.Items), checkTypes(s.AdditionalProperties))
}

// checkReferences finds what the schema library would follow until the stack is
// full, which ends the program: a schema that refers to itself without a step
// into the value. References that leave the schema are refused as well.
func checkReferences(parameters json.RawMessage) error {
	var root any
	if err := json.Unmarshal(parameters, &root); err != nil {
		return err
	}
	w := walk{root: root, state: map[uintptr]visit{}}
	return w.every(root)
}

type visit int

const (
	entered visit = iota + 1
	left
)

// walk looks at each schema and those that apply to the same value as it.
type walk struct {
	root  any
	state map[uintptr]visit // by the identity of the table
}

// every schema within node, which may be one itself.
func (w *walk) every(node any) error {
	switch n := node.(type) {
	case []any:
		for _, item := range n {
			if err := w.every(item); err != nil {
				return err
			}
		}
	case map[string]any:
		if err := w.enter(n); err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(n)) {
			if slices.Contains([]string{"enum", "const", "default", "examples"}, key) {
				continue // values, not schemas
			}
			if err := w.every(n[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *walk) enter(s map[string]any) error {
	id := reflect.ValueOf(s).Pointer()
	switch w.state[id] {
	case left:
		return nil
	case entered:
		return errors.New("it refers to itself in a circle")
	}
	w.state[id] = entered
	next, err := w.same(s)
	if err != nil {
		return err
	}
	for _, n := range next {
		if table, ok := n.(map[string]any); ok {
			if err := w.enter(table); err != nil {
				return err
			}
		}
	}
	w.state[id] = left
	return nil
}

// same are the schemas that apply to the value s applies to.
func (w *walk) same(s map[string]any) ([]any, error) {
	var out []any
	if ref, ok := s["$ref"].(string); ok {
		to, found := pointed(w.root, ref)
		if !found {
			return nil, fmt.Errorf("it refers to %q: only references to a part of itself (#/…) are read", ref)
		}
		out = append(out, to)
	}
	if _, ok := s["$dynamicRef"].(string); ok {
		return nil, errors.New("it has a $dynamicRef, which is not read")
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[key].([]any)
		out = append(out, list...)
	}
	for _, key := range []string{"not", "if", "then", "else"} {
		out = append(out, s[key])
	}
	for _, key := range []string{"dependentSchemas", "dependencies"} {
		table, _ := s[key].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(table)) {
			out = append(out, table[name])
		}
	}
	return out, nil
}

// pointed is the part of root that a reference (a JSON pointer behind #) names.
func pointed(root any, ref string) (any, bool) {
	path, inside := strings.CutPrefix(ref, "#")
	if !inside || path != "" && !strings.HasPrefix(path, "/") {
		return nil, false
	}
	node := root
	for _, step := range strings.Split(path, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch n := node.(type) {
		case map[string]any:
			next, ok := n[step]
			if !ok {
				return nil, false
			}
			node = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(n) {
				return nil, false
			}
			node = n[i]
		default:
			return nil, false
		}
	}
	return node, true
}
