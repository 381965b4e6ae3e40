package parquet

import (
	"encoding/binary"
	"errors"
)

// Parts of Thrift's compact protocol (apache/thrift,
// doc/specs/thrift-compact-protocol.md), in which Parquet writes its metadata.
const (
	kindTrue   = 1
	kindFalse  = 2
	kindByte   = 3
	kindI16    = 4
	kindI32    = 5
	kindI64    = 6
	kindDouble = 7
	kindBinary = 8
	kindList   = 9
	kindSet    = 10
	kindStruct = 12
)

// encoder appends a struct's fields, in order of their numbers.
type encoder struct {
	b     []byte
	last  int   // number of the field before
	outer []int // last of the structs around this one
}

func (e *encoder) field(id, kind int) {
	e.b = append(e.b, byte((id-e.last)<<4|kind)) // no gap of ours is above 15
	e.last = id
}

func (e *encoder) varint(v int64) { e.b = binary.AppendVarint(e.b, v) } // zigzag, as Thrift's

func (e *encoder) i32(id int, v int32) {
	e.field(id, kindI32)
	e.varint(int64(v))
}

func (e *encoder) i64(id int, v int64) {
	e.field(id, kindI64)
	e.varint(v)
}

func (e *encoder) text(id int, s string) {
	e.field(id, kindBinary)
	e.string(s)
}

func (e *encoder) string(s string) {
	e.b = append(binary.AppendUvarint(e.b, uint64(len(s))), s...)
}

func (e *encoder) list(id, kind, n int) {
	e.field(id, kindList)
	if n < 15 {
		e.b = append(e.b, byte(n<<4|kind))
		return
	}
	e.b = binary.AppendUvarint(append(e.b, byte(0xf0|kind)), uint64(n))
}

// open starts a struct as a field, or as an element of a list (id 0).
func (e *encoder) open(id int) {
	if id > 0 {
		e.field(id, kindStruct)
	}
	e.outer = append(e.outer, e.last)
	e.last = 0
}

func (e *encoder) close() {
	e.b = append(e.b, 0)
	e.last = e.outer[len(e.outer)-1]
	e.outer = e.outer[:len(e.outer)-1]
}

var errThrift = errors.New("damaged metadata")

// node is a decoded value: a struct's fields by number, a list's elements, or
// a scalar.
type node struct {
	fields map[int]node
	list   []node
	text   string
	number int64
}

func (n node) at(path ...int) node {
	for _, id := range path {
		n = n.fields[id]
	}
	return n
}

// decoder reads a struct of bytes that may be anything.
type decoder struct {
	b    []byte
	left int // values that may still come
}

func (d *decoder) byte() (byte, error) {
	if len(d.b) == 0 {
		return 0, errThrift
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c, nil
}

func (d *decoder) uvarint() (uint64, error) {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		return 0, errThrift
	}
	d.b = d.b[n:]
	return v, nil
}

func (d *decoder) varint() (int64, error) {
	u, err := d.uvarint()
	return int64(u>>1) ^ -int64(u&1), err
}

func (d *decoder) structure(depth int) (node, error) {
	n := node{fields: map[int]node{}}
	last := int64(0)
	for {
		head, err := d.byte()
		if err != nil || head == 0 {
			return n, err
		}
		if delta := int64(head >> 4); delta > 0 {
			last += delta
		} else if last, err = d.varint(); err != nil {
			return n, err
		}
		if n.fields[int(last)], err = d.value(int(head&15), depth); err != nil {
			return n, err
		}
	}
}

func (d *decoder) value(kind, depth int) (n node, err error) {
	if d.left--; d.left < 0 || depth > 12 {
		return n, errThrift
	}
	switch kind {
	case kindTrue, kindFalse:
		n.number = int64(kindFalse - kind)
	case kindByte:
		_, err = d.byte()
	case kindI16, kindI32, kindI64:
		n.number, err = d.varint()
	case kindDouble:
		for range 8 {
			if _, err = d.byte(); err != nil {
				break
			}
		}
	case kindBinary:
		var size uint64
		if size, err = d.uvarint(); err == nil && size > uint64(len(d.b)) {
			err = errThrift
		}
		if err == nil {
			n.text, d.b = string(d.b[:size]), d.b[size:]
		}
	case kindList, kindSet:
		n.list, err = d.elements(depth)
	case kindStruct:
		return d.structure(depth + 1)
	default:
		err = errThrift
	}
	return n, err
}

func (d *decoder) elements(depth int) ([]node, error) {
	head, err := d.byte()
	if err != nil {
		return nil, err
	}
	size := uint64(head >> 4)
	if size == 15 {
		if size, err = d.uvarint(); err != nil {
			return nil, err
		}
	}
	if size > uint64(d.left) {
		return nil, errThrift
	}
	var list []node
	for range size {
		one, err := d.value(int(head&15), depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}
