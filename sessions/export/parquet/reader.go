package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Bounds on what a damaged file can ask for.
const (
	maxFooter = 64 << 20
	maxPage   = 1 << 30
)

// Value of a row: one of the fields, by the column's type.
type Value struct {
	Null   bool
	Bool   bool
	Int    int32
	Double float64
	Text   string
	Ints   []int32
	Floats []float32
}

// Read calls fn with every row of a file that a Writer with these columns
// wrote. The row is valid until fn returns. One row group is in memory.
func Read(r io.ReaderAt, size int64, columns []Column, fn func(row []Value) error) error {
	meta, err := footer(r, size)
	if err != nil {
		return err
	}
	if err := sameSchema(meta.at(2).list, columns); err != nil {
		return err
	}
	var rows int64
	for _, g := range meta.at(4).list {
		if len(g.at(1).list) != len(columns) {
			return errors.New("a row group lacks columns")
		}
		n := g.at(3).number
		chunks := make([]*reader, len(columns))
		for i, c := range g.at(1).list {
			if chunks[i], err = openChunk(r, size, c.at(3), columns[i]); err != nil {
				return fmt.Errorf("column %s: %w", columns[i].Name, err)
			}
		}
		row := make([]Value, len(columns))
		for range n {
			for i, c := range chunks {
				if row[i], err = c.next(); err != nil {
					return fmt.Errorf("column %s: %w", columns[i].Name, err)
				}
			}
			if err := fn(row); err != nil {
				return err
			}
		}
		rows += n
	}
	if rows != meta.at(3).number {
		return fmt.Errorf("%d rows, the footer says %d", rows, meta.at(3).number)
	}
	return nil
}

func footer(r io.ReaderAt, size int64) (node, error) {
	var tail [8]byte
	if size < 12 {
		return node{}, errors.New("no Parquet file: too short")
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil {
		return node{}, err
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if string(tail[4:]) != magic || n > size-12 || n > maxFooter {
		return node{}, errors.New("no Parquet file: the end is missing")
	}
	b := make([]byte, n)
	if _, err := r.ReadAt(b, size-8-n); err != nil {
		return node{}, err
	}
	d := decoder{b: b, left: len(b)}
	return d.structure(0)
}

// sameSchema compares the names and types with the columns'.
func sameSchema(elements []node, columns []Column) error {
	at := 1
	for _, c := range columns {
		for i, name := range c.path() {
			if at >= len(elements) {
				return fmt.Errorf("column %s is missing", c.Name)
			}
			e := elements[at]
			last := i == len(c.path())-1
			if e.at(4).text != name || last && Type(e.at(1).number) != c.Type || i == 0 && (e.at(3).number == optional) != c.Optional {
				return fmt.Errorf("column %s is another one (%q)", c.Name, e.at(4).text)
			}
			at++
		}
	}
	if at != len(elements) {
		return errors.New("there are further columns")
	}
	return nil
}

// reader of a chunk's values.
type reader struct {
	Column
	values   []byte
	bit      int
	rep, def levels
}

// openChunk reads a chunk's page.
func openChunk(r io.ReaderAt, size int64, meta node, c Column) (*reader, error) {
	offset, whole := meta.at(9).number, meta.at(7).number
	if offset < 4 || whole < 1 || offset > size || whole > size-offset || whole > maxPage {
		return nil, errors.New("its place is outside the file")
	}
	b := make([]byte, whole)
	if _, err := r.ReadAt(b, offset); err != nil {
		return nil, err
	}
	d := decoder{b: b, left: 64}
	head, err := d.structure(0)
	if err != nil {
		return nil, err
	}
	length, count := head.at(2).number, head.at(5, 1).number
	if head.at(1).number != dataPage || head.at(5, 2).number != plain || int64(len(d.b)) != head.at(3).number {
		return nil, errors.New("not one page of plain values")
	}
	if length < 0 || length > maxPage || count < 0 || count > maxPage || count != meta.at(5).number {
		return nil, errors.New("its sizes are wrong")
	}
	page, err := unpack(d.b, meta.at(4).number, length)
	if err != nil {
		return nil, err
	}
	out := &reader{Column: c, values: page}
	if c.List {
		if out.rep, out.values, err = readLevels(out.values, int(count), 1); err != nil {
			return nil, err
		}
	}
	if c.maxDef() > 0 {
		out.def, out.values, err = readLevels(out.values, int(count), c.maxDef())
	} else {
		out.def.add(0, int(count))
	}
	return out, err
}

func unpack(b []byte, codec, length int64) ([]byte, error) {
	if codec == codecNone {
		return b, nil
	}
	if codec != codecGzip {
		return nil, fmt.Errorf("its compression (%d) is not gzip", codec)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	// Not allocated at once: a damaged length must not ask for a gigabyte.
	page, err := io.ReadAll(io.LimitReader(z, length+1))
	if err == nil && int64(len(page)) != length {
		err = errors.New("its sizes are wrong")
	}
	return page, err
}

var errValues = errors.New("there are too few values")

// take the first level, and how many alike follow at most.
func (l *levels) take() (int, error) {
	if len(l.runs) == 0 {
		return 0, errValues
	}
	r := &l.runs[0]
	level := r.level
	if r.count--; r.count == 0 {
		l.runs = l.runs[1:]
	}
	return level, nil
}

// next row's value.
func (c *reader) next() (v Value, err error) {
	if c.List {
		return c.nextList()
	}
	def, err := c.def.take()
	if err != nil || def < c.maxDef() {
		return Value{Null: true}, err
	}
	switch c.Type {
	case Bool:
		if c.bit/8 >= len(c.values) {
			return v, errValues
		}
		v.Bool = c.values[c.bit/8]>>(c.bit%8)&1 == 1
		c.bit++
	case Int32:
		var b []byte
		if b, err = c.bytes(4); err == nil {
			v.Int = int32(binary.LittleEndian.Uint32(b))
		}
	case Double:
		var b []byte
		if b, err = c.bytes(8); err == nil {
			v.Double = math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
	case String:
		var b []byte
		if b, err = c.bytes(4); err == nil {
			b, err = c.bytes(int64(binary.LittleEndian.Uint32(b)))
			v.Text = string(b)
		}
	}
	return v, err
}

func (c *reader) bytes(n int64) ([]byte, error) {
	if n > int64(len(c.values)) {
		return nil, errValues
	}
	b := c.values[:n]
	c.values = c.values[n:]
	return b, nil
}

func (c *reader) nextList() (v Value, err error) {
	rep, err := c.rep.take()
	if err != nil {
		return v, err
	}
	def, err := c.def.take()
	if err != nil {
		return v, err
	}
	if rep != 0 {
		return v, errLevels
	}
	if def < c.maxDef() {
		v.Null = c.Optional && def == 0
		v.Ints, v.Floats = []int32{}, []float32{}
		return v, nil
	}
	n := 1
	for len(c.rep.runs) > 0 && c.rep.runs[0].level == 1 && len(c.def.runs) > 0 && c.def.runs[0].level == c.maxDef() {
		step := min(c.rep.runs[0].count, c.def.runs[0].count)
		n += step
		c.rep.drop(step)
		c.def.drop(step)
	}
	b, err := c.bytes(int64(n) * 4)
	if err != nil {
		return v, err
	}
	for ; len(b) > 0; b = b[4:] {
		bits := binary.LittleEndian.Uint32(b)
		if c.Type == Float {
			v.Floats = append(v.Floats, math.Float32frombits(bits))
		} else {
			v.Ints = append(v.Ints, int32(bits))
		}
	}
	return v, nil
}

// drop n levels of the first run.
func (l *levels) drop(n int) {
	if l.runs[0].count -= n; l.runs[0].count == 0 {
		l.runs = l.runs[1:]
	}
}
