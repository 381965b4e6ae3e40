package rows

import (
	"encoding/binary"
	"errors"
)

// The library makes room for as many items as a list claims before it reads
// them, so what is written in Thrift's compact protocol is walked first.

// Bounds of one structure: its lists' items in all, and its nesting.
const (
	maxThriftItems = 1 << 19
	maxThriftDepth = 32
)

var errThrift = errors.New("broken Parquet file: what describes it does not add up; it may be cut, fetch it again")

// thriftStruct is the length of the structure that data begins with. Ends,
// lists and texts beyond data are errThrift.
func thriftStruct(data []byte) (int, error) {
	w := thriftWalk{data: data}
	if !w.structure(0) {
		return 0, errThrift
	}
	return w.at, nil
}

type thriftWalk struct {
	data  []byte
	at    int
	items int
}

func (w *thriftWalk) skip(n uint64) bool {
	if n > uint64(len(w.data)-w.at) {
		return false
	}
	w.at += int(n)
	return true
}

func (w *thriftWalk) octet() (byte, bool) {
	if w.at >= len(w.data) {
		return 0, false
	}
	w.at++
	return w.data[w.at-1], true
}

func (w *thriftWalk) varint() (uint64, bool) {
	v, n := binary.Uvarint(w.data[w.at:])
	if n <= 0 {
		return 0, false
	}
	w.at += n
	return v, true
}

// structure: fields with a type each, up to a zero.
func (w *thriftWalk) structure(depth int) bool {
	for depth <= maxThriftDepth {
		head, ok := w.octet()
		if !ok || head == 0 {
			return ok
		}
		if head>>4 == 0 { // the field's number stands behind
			if _, ok := w.varint(); !ok {
				return false
			}
		}
		if kind := head & 15; kind != 1 && kind != 2 && !w.value(kind, depth) { // those two are booleans themselves
			return false
		}
	}
	return false
}

func (w *thriftWalk) value(kind byte, depth int) bool {
	switch kind {
	case 1, 2, 3: // boolean as an item, byte
		return w.skip(1)
	case 4, 5, 6: // integers
		_, ok := w.varint()
		return ok
	case 7: // double
		return w.skip(8)
	case 8: // bytes
		n, ok := w.varint()
		return ok && w.skip(n)
	case 9, 10: // list, set
		head, ok := w.octet()
		n := uint64(head >> 4)
		if n == 15 {
			n, ok = w.varint()
		}
		return ok && w.list(n, depth, head&15)
	case 11: // map
		n, ok := w.varint()
		if !ok || n == 0 {
			return ok
		}
		kinds, ok := w.octet()
		return ok && w.list(n, depth, kinds>>4, kinds&15)
	case 12:
		return w.structure(depth + 1)
	case 13: // uuid
		return w.skip(16)
	}
	return false
}

// list of n items, each of one value or of two.
func (w *thriftWalk) list(n uint64, depth int, kinds ...byte) bool {
	if n > uint64(len(w.data)-w.at) || n > uint64(maxThriftItems-w.items) || depth >= maxThriftDepth {
		return false
	}
	w.items += int(n)
	for range n {
		for _, kind := range kinds {
			if !w.value(kind, depth+1) {
				return false
			}
		}
	}
	return true
}
