package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// groupSize is how many bytes of values a row group gathers before it is
// written: what a Writer holds in memory.
const groupSize = 16 << 20

// Writer writes a table. The values of a row are given in the order of the
// columns; the methods panic when one does not fit its column.
type Writer struct {
	w       io.Writer
	err     error
	columns []chunk
	next    int // column
	offset  int64
	rows    int64 // of this group
	total   int64
	groups  []group
	zip     *gzip.Writer
}

// chunk is a column's values of a row group.
type chunk struct {
	Column
	values   []byte
	bits     []bool
	rep, def levels
	count    int // places, with those that hold nothing
}

type group struct {
	rows  int64
	bytes int64
	parts []part
}

// part is a chunk as it was written.
type part struct {
	offset       int64
	count        int64
	plain, whole int64 // bytes before and after compression, with the header
}

// NewWriter of a table with the columns.
func NewWriter(w io.Writer, columns []Column) *Writer {
	t := &Writer{w: w}
	for _, c := range columns {
		t.columns = append(t.columns, chunk{Column: c})
	}
	t.zip, _ = gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // errors only for levels that do not exist
	t.write([]byte(magic))
	return t
}

func (t *Writer) write(b []byte) {
	if t.err == nil {
		_, t.err = t.w.Write(b)
	}
	t.offset += int64(len(b))
}

// column is the next one of the row, which must be as the value is.
func (t *Writer) column(kind Type, list, null bool) *chunk {
	if t.next >= len(t.columns) {
		panic("parquet: a row has too many values")
	}
	c := &t.columns[t.next]
	if c.Type != kind || c.List != list || null && !c.Optional {
		panic(fmt.Sprintf("parquet: column %s is no place for this value", c.Name))
	}
	t.next++
	return c
}

// scalar takes the next place of the row.
func (t *Writer) scalar(kind Type, null bool) *chunk {
	c := t.column(kind, false, null)
	c.count++
	if null {
		c.def.add(0, 1)
	} else {
		c.def.add(c.maxDef(), 1)
	}
	return c
}

// list takes n places, one when it has none.
func (t *Writer) list(kind Type, n int, null bool) *chunk {
	c := t.column(kind, true, null)
	c.count += max(n, 1)
	c.rep.add(0, 1)
	switch {
	case null:
		c.def.add(0, 1)
	case n == 0:
		c.def.add(c.maxDef()-1, 1)
	default:
		c.rep.add(1, n-1)
		c.def.add(c.maxDef(), n)
	}
	return c
}

// Text is the row's next value.
func (t *Writer) Text(s string) {
	c := t.scalar(String, false)
	c.values = binary.LittleEndian.AppendUint32(c.values, uint32(len(s)))
	c.values = append(c.values, s...)
}

// TextOrNull is Text, absent when it is empty.
func (t *Writer) TextOrNull(s string) {
	if s == "" {
		t.scalar(String, true)
		return
	}
	t.Text(s)
}

// Bool is the row's next value.
func (t *Writer) Bool(v bool) {
	c := t.scalar(Bool, false)
	c.bits = append(c.bits, v)
}

// Int is the row's next value.
func (t *Writer) Int(v int32) {
	c := t.scalar(Int32, false)
	c.values = binary.LittleEndian.AppendUint32(c.values, uint32(v))
}

// Double is the row's next value, absent when it is nil.
func (t *Writer) Double(v *float64) {
	c := t.scalar(Double, v == nil)
	if v != nil {
		c.values = binary.LittleEndian.AppendUint64(c.values, math.Float64bits(*v))
	}
}

// Ints are the row's next value.
func (t *Writer) Ints(values []int32) {
	c := t.list(Int32, len(values), false)
	for _, v := range values {
		c.values = binary.LittleEndian.AppendUint32(c.values, uint32(v))
	}
}

// Floats are the row's next value, rounded to 32 bits; absent when nil.
func (t *Writer) Floats(values []float64) {
	c := t.list(Float, len(values), values == nil)
	for _, v := range values {
		c.values = binary.LittleEndian.AppendUint32(c.values, math.Float32bits(float32(v)))
	}
}

// EndRow ends the row.
func (t *Writer) EndRow() error {
	if t.next != len(t.columns) {
		panic("parquet: a row has too few values")
	}
	t.next = 0
	t.rows++
	size := 0
	for i := range t.columns {
		size += len(t.columns[i].values)
	}
	if size >= groupSize {
		t.flush()
	}
	return t.err
}

// flush writes the rows so far as a row group, one page a column.
func (t *Writer) flush() {
	if t.rows == 0 {
		return
	}
	g := group{rows: t.rows}
	for i := range t.columns {
		p := t.page(&t.columns[i])
		g.parts = append(g.parts, p)
		g.bytes += p.plain
		c := &t.columns[i]
		*c = chunk{Column: c.Column, values: c.values[:0], bits: c.bits[:0]}
	}
	t.groups = append(t.groups, g)
	t.total += t.rows
	t.rows = 0
}

func (t *Writer) page(c *chunk) part {
	var body []byte
	if c.List {
		body = c.rep.appendTo(body)
	}
	if c.maxDef() > 0 {
		body = c.def.appendTo(body)
	}
	body = append(appendBits(body, c.bits), c.values...)
	var packed bytes.Buffer
	t.zip.Reset(&packed)
	if _, err := t.zip.Write(body); err != nil && t.err == nil {
		t.err = err
	}
	if err := t.zip.Close(); err != nil && t.err == nil {
		t.err = err
	}
	var e encoder // PageHeader
	e.i32(1, dataPage)
	e.i32(2, int32(len(body)))
	e.i32(3, int32(packed.Len()))
	e.open(5) // DataPageHeader
	e.i32(1, int32(c.count))
	e.i32(2, plain)
	e.i32(3, rle)
	e.i32(4, rle)
	e.close()
	e.b = append(e.b, 0)
	p := part{offset: t.offset, count: int64(c.count), plain: int64(len(e.b) + len(body)), whole: int64(len(e.b) + packed.Len())}
	t.write(e.b)
	t.write(packed.Bytes())
	return p
}

// Close writes what is left and the footer. The writer below stays open.
func (t *Writer) Close() error {
	t.flush()
	var e encoder // FileMetaData
	e.i32(1, 1)
	e.list(2, kindStruct, t.elements())
	t.schema(&e)
	e.i64(3, t.total)
	e.list(4, kindStruct, len(t.groups))
	for _, g := range t.groups {
		t.rowGroup(&e, g)
	}
	e.text(6, "rollbench")
	e.b = append(e.b, 0)
	t.write(binary.LittleEndian.AppendUint32(e.b, uint32(len(e.b))))
	t.write([]byte(magic))
	return t.err
}

// elements of the schema: the root, one for a scalar and three for a list.
func (t *Writer) elements() int {
	n := 1
	for _, c := range t.columns {
		n += len(c.path())
	}
	return n
}

func (t *Writer) schema(e *encoder) {
	e.open(0)
	e.text(4, "row")
	e.i32(5, int32(len(t.columns)))
	e.close()
	for _, c := range t.columns {
		repetition := int32(required)
		if c.Optional {
			repetition = optional
		}
		if c.List {
			e.open(0)
			e.i32(3, repetition)
			e.text(4, c.Name)
			e.i32(5, 1)
			e.i32(6, convertList)
			e.open(10) // LogicalType
			e.open(3)  // ListType
			e.close()
			e.close()
			e.close()
			e.open(0)
			e.i32(3, repeated)
			e.text(4, "list")
			e.i32(5, 1)
			e.close()
			repetition = required
		}
		t.leaf(e, c.Column, repetition)
	}
}

func (t *Writer) leaf(e *encoder, c Column, repetition int32) {
	path := c.path()
	e.open(0)
	e.i32(1, int32(c.Type))
	e.i32(3, repetition)
	e.text(4, path[len(path)-1])
	if c.Type == String {
		e.i32(6, convertUTF8)
		e.open(10) // LogicalType
		e.open(1)  // StringType
		e.close()
		e.close()
	}
	e.close()
}

func (t *Writer) rowGroup(e *encoder, g group) {
	e.open(0)
	e.list(1, kindStruct, len(g.parts))
	for i, p := range g.parts {
		c := t.columns[i].Column
		e.open(0) // ColumnChunk
		e.i64(2, p.offset)
		e.open(3) // ColumnMetaData
		e.i32(1, int32(c.Type))
		e.list(2, kindI32, 2)
		e.varint(plain)
		e.varint(rle)
		e.list(3, kindBinary, len(c.path()))
		for _, name := range c.path() {
			e.string(name)
		}
		e.i32(4, codecGzip)
		e.i64(5, p.count)
		e.i64(6, p.plain)
		e.i64(7, p.whole)
		e.i64(9, p.offset)
		e.close()
		e.close()
	}
	e.i64(2, g.bytes)
	e.i64(3, g.rows)
	e.close()
}
