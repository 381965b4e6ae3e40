package rows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// A page is a few runs, each with a length of its own, for which the library
// makes room as they say. So they are added up first.

var errRuns = errors.New("a page holds other values than it claims")

// soundContent decompresses a page and walks its runs. leaf is its column.
func soundContent(f io.ReaderAt, at int64, h *format.PageHeader, m *format.ColumnMetaData, leaf *field) error {
	data := make([]byte, h.CompressedPageSize)
	if _, err := f.ReadAt(data, at); err != nil {
		return fmt.Errorf("a page is cut: %w", err)
	}
	switch {
	case h.DataPageHeaderV2.Valid:
		return soundV2(data, h, m, leaf)
	case h.DataPageHeader.Valid:
		p := h.DataPageHeader.V
		data, err := unpacked(data, int(h.UncompressedPageSize), m.Codec)
		if err != nil {
			return err
		}
		values := int(p.NumValues)
		for _, l := range []struct {
			most     int
			encoding format.Encoding
		}{{leaf.depth, p.RepetitionLevelEncoding}, {leaf.level, p.DefinitionLevelEncoding}} {
			if l.most == 0 {
				continue
			}
			if l.encoding != format.RLE || len(data) < 4 {
				return errRuns
			}
			n := int64(binary.LittleEndian.Uint32(data))
			if n > int64(len(data)-4) {
				return errRuns
			}
			if err := soundRuns(data[4:4+n], bits.Len(uint(l.most)), values); err != nil {
				return err
			}
			data = data[4+n:]
		}
		return soundValues(data, p.Encoding, m.Type, values)
	}
	_, err := unpacked(data, int(h.UncompressedPageSize), m.Codec) // a dictionary
	return err
}

// soundV2: the levels stand before what is compressed.
func soundV2(data []byte, h *format.PageHeader, m *format.ColumnMetaData, leaf *field) error {
	p := h.DataPageHeaderV2.V
	repeats, defines := int64(p.RepetitionLevelsByteLength), int64(p.DefinitionLevelsByteLength)
	if repeats < 0 || defines < 0 || repeats+defines > int64(len(data)) || p.NumNulls < 0 || p.NumNulls > p.NumValues || repeats+defines > int64(h.UncompressedPageSize) {
		return errRuns
	}
	if err := soundRuns(data[:repeats], bits.Len(uint(leaf.depth)), int(p.NumValues)); err != nil {
		return err
	}
	if err := soundRuns(data[repeats:repeats+defines], bits.Len(uint(leaf.level)), int(p.NumValues)); err != nil {
		return err
	}
	codec := m.Codec
	if p.IsCompressed.Valid && !p.IsCompressed.V {
		codec = format.Uncompressed
	}
	data, err := unpacked(data[repeats+defines:], int(int64(h.UncompressedPageSize)-repeats-defines), codec)
	if err != nil {
		return err
	}
	return soundValues(data, p.Encoding, m.Type, int(p.NumValues))
}

// unpacked is a page's content, which must have the size that the header says.
func unpacked(data []byte, size int, codec format.CompressionCodec) ([]byte, error) {
	if codec == format.Uncompressed || len(data) == 0 {
		if len(data) != size {
			return nil, errRuns
		}
		return data, nil
	}
	if codec == format.Snappy { // it says itself how much room it wants
		if n, used := binary.Uvarint(data); used <= 0 || n != uint64(size) {
			return nil, errRuns
		}
	}
	out, err := parquet.LookupCompressionCodec(codec).Decode(make([]byte, size), data)
	if err != nil {
		return nil, fmt.Errorf("a page cannot be decompressed: %s", short(err.Error()))
	}
	if len(out) != size {
		return nil, errRuns
	}
	return out, nil
}

// soundValues walks the encodings that are made of runs.
func soundValues(data []byte, encoding format.Encoding, kind format.Type, values int) error {
	switch encoding {
	case format.RLEDictionary, format.PlainDictionary:
		if len(data) == 0 {
			return nil
		}
		if data[0] > 32 {
			return errRuns
		}
		return soundRuns(data[1:], int(data[0]), values)
	case format.RLE: // of booleans
		if len(data) < 4 || kind != format.Boolean {
			return errRuns
		}
		return soundRuns(data[4:], 1, values)
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray, format.DeltaByteArray:
		return soundDelta(data, values)
	}
	return nil
}

// soundRuns: runs of the hybrid encoding, which must not hold more values than
// the page (the last run of packed ones is filled up to eight).
func soundRuns(data []byte, width, values int) error {
	total := 0
	for len(data) > 0 {
		head, n := binary.Uvarint(data)
		if n <= 0 || head>>1 > maxPageValues {
			return errRuns
		}
		data = data[n:]
		count, size := int(head>>1), (width+7)/8
		if head&1 == 1 {
			size = count * width
			count *= 8
		}
		if total += count; size > len(data) || total > values+8 {
			return errRuns
		}
		data = data[size:]
	}
	return nil
}

// soundDelta: the head of the delta encodings says how many values follow.
func soundDelta(data []byte, values int) error {
	var head [3]uint64 // size of a block, parts of it, values
	for i := range head {
		v, n := binary.Uvarint(data)
		if n <= 0 {
			return errRuns
		}
		head[i], data = v, data[n:]
	}
	if head[0] == 0 || head[0] > 1<<16 || head[0]%128 != 0 || head[1] == 0 || head[0]%head[1] != 0 || head[2] > uint64(values) {
		return errRuns
	}
	return nil
}
