package compose

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// What a file may hold: more is a mistake or an attack.
const (
	maxFile  = 1 << 20 // bytes
	maxNodes = 20000   // with every alias written out
	maxDepth = 40
	maxText  = 4 << 20 // bytes of values with their variables filled in
)

// node is a value of a file, with its aliases and << written out.
type node struct {
	kind   yaml.Kind // 0 for null
	line   int
	text   string // of a scalar
	keys   []string
	fields map[string]*node
	items  []*node
}

// parse reads a document that holds a map.
func parse(file string, data []byte) (*node, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: it has %d bytes; a compose file may have %d", file, len(data), maxFile)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: %s", file, strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: "))
	}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("%s: it is empty; write services", file)
	}
	w := writer{file: file}
	n, err := w.out(doc.Content[0], 0)
	if err == nil && n.kind != yaml.MappingNode {
		err = fmt.Errorf("%s: line %d: it must be a map that holds services", file, n.line)
	}
	return n, err
}

// writer writes aliases out, within bounds.
type writer struct {
	file  string
	nodes int
}

func (w *writer) out(y *yaml.Node, depth int) (*node, error) {
	if w.nodes++; w.nodes > maxNodes {
		return nil, fmt.Errorf("%s: line %d: it holds more than %d values, aliases written out", w.file, y.Line, maxNodes)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("%s: line %d: it is nested more than %d deep", w.file, y.Line, maxDepth)
	}
	n := &node{kind: y.Kind, line: y.Line}
	switch y.Kind {
	case yaml.AliasNode:
		return w.out(y.Alias, depth+1)
	case yaml.SequenceNode:
		for _, c := range y.Content {
			item, err := w.out(c, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
	case yaml.MappingNode:
		return n, w.fields(n, y, depth)
	default:
		if n.text = y.Value; y.ShortTag() == "!!null" {
			n.kind = 0
		}
	}
	return n, nil
}

// fields of a map; what << brings comes after what is written.
func (w *writer) fields(n *node, y *yaml.Node, depth int) error {
	n.fields = map[string]*node{}
	var under []*node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("%s: line %d: a key must be a word", w.file, key.Line)
		}
		value, err := w.out(y.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		if key.ShortTag() == "!!merge" {
			under = append(under, value)
			continue
		}
		if n.fields[key.Value] != nil {
			return fmt.Errorf("%s: line %d: key %q is there twice", w.file, key.Line, key.Value)
		}
		value.line = max(value.line, key.Line)
		n.put(key.Value, value)
	}
	for len(under) > 0 {
		from := under[0]
		under = under[1:]
		switch from.kind {
		case yaml.SequenceNode:
			under = slices.Concat(from.items, under)
		case yaml.MappingNode:
			for _, key := range from.keys {
				if n.fields[key] == nil {
					n.put(key, from.fields[key])
				}
			}
		default:
			return fmt.Errorf("%s: line %d: << takes a map", w.file, from.line)
		}
	}
	return nil
}

func (n *node) put(key string, value *node) {
	if n.fields[key] == nil {
		n.keys = append(n.keys, key)
	}
	n.fields[key] = value
}

// get is a field, nil when it is absent or null.
func (n *node) get(key string) *node {
	if n == nil || n.fields[key] == nil || n.fields[key].kind == 0 {
		return nil
	}
	return n.fields[key]
}

// replaced are lists that an extending service has instead of the other's.
var replaced = []string{"command", "entrypoint", "test"}

// listedPairs are maps that may be written as lists.
var listedPairs = []string{"environment", "args", "labels", "depends_on", "networks"}

// merge lays a service over the one that it extends.
func merge(key string, under, over *node) *node {
	if slices.Contains(listedPairs, key) {
		under, over = pairs(under), pairs(over)
	}
	switch {
	case under.kind == yaml.MappingNode && over.kind == yaml.MappingNode:
		out := &node{kind: yaml.MappingNode, line: over.line, fields: map[string]*node{}}
		for _, k := range under.keys {
			out.put(k, under.fields[k])
		}
		for _, k := range over.keys {
			value := over.fields[k]
			if old := out.fields[k]; old != nil {
				value = merge(k, old, value)
			}
			out.put(k, value)
		}
		return out
	case under.kind == yaml.SequenceNode && over.kind == yaml.SequenceNode && !slices.Contains(replaced, key):
		return &node{kind: yaml.SequenceNode, line: over.line, items: slices.Concat(under.items, over.items)}
	}
	return over
}

// pairs writes a list of "KEY=VALUE" or "KEY" as a map.
func pairs(n *node) *node {
	if n.kind != yaml.SequenceNode {
		return n
	}
	out := &node{kind: yaml.MappingNode, line: n.line, fields: map[string]*node{}}
	for _, item := range n.items {
		if item.kind != yaml.ScalarNode {
			return n // whoever reads it says what is wrong
		}
		key, value, has := strings.Cut(item.text, "=")
		v := &node{kind: yaml.ScalarNode, line: item.line, text: value}
		if !has {
			v.kind = 0
		}
		out.put(key, v)
	}
	return out
}
