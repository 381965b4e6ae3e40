package rows

import (
	"errors"
	"fmt"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// field is a node of a Parquet schema, and how values are put together below it.
type field struct {
	name               string
	optional, repeated bool
	list, pairs        bool // annotated as LIST, as MAP
	text, unsigned     bool
	decimal            bool
	scale              int
	level, depth       int // definition and repetition level at which it is there
	first, past        int // its leaf columns
	children           []*field
}

// maxDepth of a schema, so that a hostile one cannot exhaust the stack.
const maxDepth = 64

// schemaOf puts the tree together that the file holds as a list, depth first.
func schemaOf(list []format.SchemaElement) (root *field, leaves int, err error) {
	b := &builder{list: list}
	root, err = b.build(0, 0, 0)
	if err == nil && (len(b.list) > 0 || len(root.children) == 0) {
		err = errors.New("broken Parquet file: its schema does not add up")
	}
	return root, b.leaves, err
}

type builder struct {
	list   []format.SchemaElement
	leaves int
}

func (b *builder) build(level, depth, nested int) (*field, error) {
	if len(b.list) == 0 || nested > maxDepth {
		return nil, errors.New("broken Parquet file: its schema does not add up")
	}
	e := b.list[0]
	b.list = b.list[1:]
	f := &field{name: e.Name, first: b.leaves}
	if e.RepetitionType.Valid && nested > 0 {
		f.optional, f.repeated = e.RepetitionType.V == format.Optional, e.RepetitionType.V == format.Repeated
	}
	if f.optional || f.repeated {
		level++
	}
	if f.repeated {
		depth++
	}
	f.level, f.depth = level, depth
	f.annotate(e)
	if !e.NumChildren.Valid || e.NumChildren.V == 0 {
		b.leaves++
	}
	for range max(e.NumChildren.V, 0) {
		child, err := b.build(level, depth, nested+1)
		if err != nil {
			return nil, err
		}
		f.children = append(f.children, child)
	}
	f.past = b.leaves
	return f, nil
}

// annotate reads what the values mean, in the newer and the older spelling.
func (f *field) annotate(e format.SchemaElement) {
	switch t := e.LogicalType.Value.(type) {
	case *format.ListType:
		f.list = true
	case *format.MapType:
		f.pairs = true
	case *format.StringType, *format.JsonType, *format.EnumType:
		f.text = true
	case *format.IntType:
		f.unsigned = !t.IsSigned
	case *format.DecimalType:
		f.decimal, f.scale = true, int(t.Scale)
	}
	if !e.ConvertedType.Valid {
		return
	}
	switch e.ConvertedType.V {
	case deprecated.List:
		f.list = true
	case deprecated.Map, deprecated.MapKeyValue:
		f.pairs = true
	case deprecated.UTF8, deprecated.Json, deprecated.Enum:
		f.text = true
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		f.unsigned = true
	case deprecated.Decimal:
		f.decimal = true
		if e.Scale.Valid {
			f.scale = int(e.Scale.V)
		}
	}
}

// ends are the leaves below a node, in the order of their columns.
func (f *field) ends(list []*field) []*field {
	if len(f.children) == 0 {
		return append(list, f)
	}
	for _, child := range f.children {
		list = child.ends(list)
	}
	return list
}

// value of the node in one row. columns are the values of its leaves, none of
// them empty: an absent value stands there with the level that is reached.
func (f *field) value(columns [][]parquet.Value) any {
	if f.repeated {
		return f.elements(columns, false)
	}
	return f.single(columns)
}

// single is the node's value once its repetition is taken apart.
func (f *field) single(columns [][]parquet.Value) any {
	v := columns[0][0]
	switch {
	case f.optional && v.DefinitionLevel() < f.level:
		return nil
	case len(f.children) == 0:
		if v.IsNull() {
			return nil
		}
		return f.plain(v)
	case f.list && len(f.children) == 1 && f.children[0].repeated:
		return f.children[0].elements(columns, true)
	case f.pairs && len(f.children) == 1 && f.children[0].repeated && len(f.children[0].children) == 2:
		return mapOf(f.children[0].elements(columns, false), f.children[0].children)
	}
	return f.group(columns)
}

func (f *field) group(columns [][]parquet.Value) map[string]any {
	out := make(map[string]any, len(f.children))
	for _, child := range f.children {
		out[child.name] = child.value(columns[child.first-f.first : child.past-f.first])
	}
	return out
}

// elements of a repeated node. Each begins where the repetition level says that
// this node, or one around it, repeats. listed says that it stands in a LIST.
func (f *field) elements(columns [][]parquet.Value, listed bool) []any {
	out := []any{}
	if columns[0][0].DefinitionLevel() < f.level {
		return out
	}
	rest := make([][]parquet.Value, len(columns))
	copy(rest, columns)
	for len(rest[0]) > 0 {
		one := make([][]parquet.Value, len(columns))
		for c, values := range rest {
			if len(values) == 0 {
				panic(fmt.Sprintf("the columns of %s have different lengths", f.name)) // contained by the caller
			}
			n := 1
			for n < len(values) && values[n].RepetitionLevel() > f.depth {
				n++
			}
			one[c], rest[c] = values[:n], values[n:]
		}
		out = append(out, f.element(one, listed))
	}
	return out
}

// element leaves the wrapper out that the format puts around the elements of a
// list: a group of a single field, unless its name says that it is the element.
func (f *field) element(columns [][]parquet.Value, listed bool) any {
	if listed && len(f.children) == 1 && f.name != "array" && !strings.HasSuffix(f.name, "_tuple") {
		return f.children[0].value(columns)
	}
	if len(f.children) == 0 {
		if columns[0][0].IsNull() {
			return nil
		}
		return f.plain(columns[0][0])
	}
	return f.group(columns)
}

// mapOf pairs: keys are written as texts.
func mapOf(pairs []any, names []*field) map[string]any {
	out := make(map[string]any, len(pairs))
	for _, one := range pairs {
		pair, ok := one.(map[string]any)
		if !ok {
			continue
		}
		key := pair[names[0].name]
		if b, ok := key.([]byte); ok {
			key = string(b)
		}
		out[fmt.Sprint(key)] = pair[names[1].name]
	}
	return out
}
