package rows

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Bounds of a page: its size once it is decompressed, in bytes, how many times
// larger that may be than what is stored, and its values.
const (
	maxPage       = 256 << 20
	maxExpansion  = 2000 // repetitive texts reach some hundreds
	smallPage     = 1 << 20
	maxPageValues = 64 << 20
	maxHeader     = 16 << 20
)

// soundPages reads a row group's pages before the library does, which makes room
// for whatever they claim.
func soundPages(f io.ReaderAt, g format.RowGroup, leaves []*field) error {
	if len(leaves) != len(g.Columns) {
		return errors.New("broken Parquet file: a row group lacks a column")
	}
	for i := range g.Columns {
		m := &g.Columns[i].MetaData
		name := "?"
		if len(m.PathInSchema) > 0 {
			name = m.PathInSchema[0]
		}
		if err := soundColumn(f, m, leaves[i]); err != nil {
			return fmt.Errorf("broken Parquet file: column %q: %w", short(name), err)
		}
	}
	return nil
}

func soundColumn(f io.ReaderAt, m *format.ColumnMetaData, leaf *field) error {
	switch m.Codec {
	case format.Uncompressed, format.Snappy, format.Gzip, format.Zstd, format.Brotli:
	default: // the library's own LZ4 never ends on broken pages
		return fmt.Errorf("compression %v is not read; write the file with snappy or zstd", m.Codec)
	}
	at := m.DataPageOffset
	if m.DictionaryPageOffset > 0 && m.DictionaryPageOffset < at {
		at = m.DictionaryPageOffset
	}
	values, end := int64(0), at+m.TotalCompressedSize
	for at < end && values < m.NumValues {
		header, size, err := pageHeader(f, at, end)
		if err != nil {
			return err
		}
		if err := soundPage(header, end-at-size); err != nil {
			return err
		}
		if err := soundContent(f, at+size, &header, m, leaf); err != nil {
			return err
		}
		switch {
		case header.DataPageHeader.Valid:
			values += int64(header.DataPageHeader.V.NumValues)
		case header.DataPageHeaderV2.Valid:
			values += int64(header.DataPageHeaderV2.V.NumValues)
		}
		at += size + int64(header.CompressedPageSize)
	}
	if values != m.NumValues {
		return fmt.Errorf("its pages hold %d values and not %d; it may be cut, fetch it again", values, m.NumValues)
	}
	return nil
}

// pageHeader decodes one, of a small piece of the file where that is enough.
func pageHeader(f io.ReaderAt, at, end int64) (header format.PageHeader, size int64, err error) {
	for _, piece := range []int64{8 << 10, maxHeader} {
		data := make([]byte, min(piece, end-at))
		n, readErr := f.ReadAt(data, at)
		if readErr != nil && !errors.Is(readErr, io.EOF) {
			return header, 0, readErr
		}
		length := 0
		if length, err = thriftStruct(data[:n]); err == nil {
			in := (&thrift.CompactProtocol{}).NewReaderFromBytes(data[:length])
			return header, int64(length), thrift.NewDecoder(in).Decode(&header)
		}
		if int64(n) < piece {
			break
		}
	}
	return header, 0, fmt.Errorf("a page has no header: %s", short(err.Error()))
}

func soundPage(h format.PageHeader, room int64) error {
	packed, whole := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	values := int64(0)
	switch {
	case h.DataPageHeader.Valid:
		values = int64(h.DataPageHeader.V.NumValues)
	case h.DataPageHeaderV2.Valid:
		values = int64(h.DataPageHeaderV2.V.NumValues)
	case h.DictionaryPageHeader.Valid:
		values = int64(h.DictionaryPageHeader.V.NumValues)
	}
	switch {
	case packed < 0 || packed > room:
		return fmt.Errorf("a page claims %d bytes where %d are left", packed, room)
	case whole < 0 || whole > maxPage || whole > smallPage && whole > maxExpansion*packed:
		return fmt.Errorf("a page of %d bytes claims to become %d", packed, whole)
	case values < 0 || values > maxPageValues:
		return fmt.Errorf("a page claims %d values", values)
	}
	return nil
}
