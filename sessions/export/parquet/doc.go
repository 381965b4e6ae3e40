// Package parquet writes tables of scalars and lists of scalars as Parquet
// files, and reads back what it wrote.
//
// In: columns and their values, row by row. Out: a file that every Parquet
// reader takes: version 1 data pages, plain encoding, gzip. It is here because
// one table needs two percent of what the libraries for Parquet bring, which
// would make the program half as large again. The format is that of
// github.com/apache/parquet-format: README.md, Encodings.md, LogicalTypes.md
// and src/main/thrift/parquet.thrift.
package parquet

// Type of a column's values, by its number in parquet.thrift.
type Type int32

// The types. A String is a BYTE_ARRAY of UTF-8.
const (
	Bool   Type = 0
	Int32  Type = 1
	Float  Type = 4
	Double Type = 5
	String Type = 6
)

// Column of a table. A list has no absent elements; an optional column has
// rows without a value.
type Column struct {
	Name     string
	Type     Type
	List     bool
	Optional bool
}

// maxDef is the definition level of a value that is there: one for each of
// "not null" and "in the list" that a place could be short of.
func (c Column) maxDef() int {
	n := 0
	if c.Optional {
		n++
	}
	if c.List {
		n++
	}
	return n
}

// path of the values in the schema: lists have three levels.
func (c Column) path() []string {
	if c.List {
		return []string{c.Name, "list", "element"}
	}
	return []string{c.Name}
}

// Numbers of parquet.thrift.
const (
	dataPage    = 0
	plain       = 0
	rle         = 3
	codecNone   = 0
	codecGzip   = 2
	required    = 0
	optional    = 1
	repeated    = 2
	convertUTF8 = 0
	convertList = 3
)

const magic = "PAR1"
