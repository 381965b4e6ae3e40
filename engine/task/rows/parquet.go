package rows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/big"
	"os"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// Bounds of a Parquet file: rows read at once, values of one row, rows at all.
const (
	batchRows    = 16
	maxRowValues = 16 << 20
	maxRows      = 100 << 20
)

// readParquet yields the rows of a file. Pages are read as they are needed, so
// that memory is bounded by a page of each column.
func readParquet(file string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		f, err := os.Open(file)
		if err != nil {
			yield(Row{}, err)
			return
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			yield(Row{}, err)
			return
		}
		for row, err := range ParquetRows(f, info.Size()) {
			if !yield(row, err) {
				return
			}
		}
	}
}

// ParquetRows yields the rows of a Parquet file. What is broken in it ends the
// sequence with one error.
func ParquetRows(f io.ReaderAt, size int64) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		r := &parquetReader{}
		if err := contained(func() error { return r.open(f, size) }); err != nil {
			yield(Row{}, err)
			return
		}
		defer r.close()
		number := 0
		for {
			var batch []map[string]any
			err := contained(func() (err error) { batch, err = r.next(); return err })
			for _, fields := range batch {
				number++
				if !yield(Row{Place: fmt.Sprintf("row %d", number), fields: fields}, nil) {
					return
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Row{}, fmt.Errorf("after row %d: %w", number, err))
				return
			}
		}
	}
}

// contained turns a panic of the library into an error: on a hostile file it
// trusts numbers that it finds there.
func contained(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("broken Parquet file: %s", short(fmt.Sprint(p)))
		}
	}()
	return do()
}

// short is a text as part of a line.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 200 {
		text = text[:200] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

type parquetReader struct {
	file   io.ReaderAt
	meta   []format.RowGroup
	root   *field
	leaves int
	groups []parquet.RowGroup // the rest of them, as meta
	rows   parquet.Rows       // of groups[0], nil before it is begun
	buffer []parquet.Row
	column [][]parquet.Value
}

func (r *parquetReader) open(f io.ReaderAt, size int64) error {
	head := make([]byte, 7)
	if n, err := f.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	} else if head = head[:n]; string(head) == "version" {
		return errors.New("it is a pointer of Git LFS and not the data: run git lfs pull in its repository")
	}
	if size < 12 || string(head[:4]) != "PAR1" {
		return errors.New("it is not a Parquet file: it does not begin with PAR1")
	}
	if err := soundFooter(f, size); err != nil {
		return err
	}
	file, err := parquet.OpenFile(f, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(1<<16))
	if err != nil {
		return fmt.Errorf("broken Parquet file: %s; it may be cut, fetch it again", short(err.Error()))
	}
	if err := sensible(file, size); err != nil {
		return err
	}
	if r.root, r.leaves, err = schemaOf(file.Metadata().Schema); err != nil {
		return err
	}
	r.file, r.groups, r.meta = f, file.RowGroups(), file.Metadata().RowGroups
	if len(r.groups) != len(r.meta) {
		return errors.New("broken Parquet file: its row groups do not add up")
	}
	r.buffer, r.column = make([]parquet.Row, batchRows), make([][]parquet.Value, r.leaves)
	return nil
}

// maxFooter bounds what describes a file, in bytes.
const maxFooter = 64 << 20

// soundFooter walks what describes the file, which stands before its last 8 bytes.
func soundFooter(f io.ReaderAt, size int64) error {
	tail := make([]byte, 8)
	if _, err := f.ReadAt(tail, size-8); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	if string(tail[4:]) != "PAR1" || n > size-12 || n > maxFooter {
		return errors.New("broken Parquet file: it has no footer; it may be cut, fetch it again")
	}
	footer := make([]byte, n)
	if _, err := f.ReadAt(footer, size-8-n); err != nil {
		return err
	}
	_, err := thriftStruct(footer)
	return err
}

// sensible refuses a footer whose numbers the file cannot bear out.
func sensible(file *parquet.File, size int64) error {
	total := int64(0)
	for i, g := range file.Metadata().RowGroups {
		if g.NumRows < 0 || g.NumRows > maxRows {
			return fmt.Errorf("broken Parquet file: row group %d claims %d rows", i+1, g.NumRows)
		}
		total += g.NumRows
		for _, c := range g.Columns {
			m := c.MetaData
			if m.TotalCompressedSize < 0 || m.TotalCompressedSize > size || m.DataPageOffset < 0 || m.DataPageOffset > size || m.NumValues < 0 {
				return fmt.Errorf("broken Parquet file: row group %d has a column outside of it; it may be cut, fetch it again", i+1)
			}
		}
	}
	if total > maxRows {
		return fmt.Errorf("broken Parquet file: it claims %d rows", total)
	}
	return nil
}

func (r *parquetReader) close() {
	if r.rows != nil {
		_ = contained(r.rows.Close) // nothing was written
	}
}

// next batch of rows; io.EOF behind the last one.
func (r *parquetReader) next() ([]map[string]any, error) {
	for {
		if r.rows == nil {
			if len(r.groups) == 0 {
				return nil, io.EOF
			}
			if err := soundPages(r.file, r.meta[0], r.root.ends(nil)); err != nil {
				return nil, err
			}
			r.rows = r.groups[0].Rows()
		}
		n, err := r.rows.ReadRows(r.buffer)
		batch := make([]map[string]any, 0, n)
		for _, row := range r.buffer[:n] {
			fields, err := r.assemble(row)
			if err != nil {
				return batch, err
			}
			batch = append(batch, fields)
		}
		switch {
		case errors.Is(err, io.EOF) || err == nil && n == 0:
			err = r.rows.Close()
			r.rows, r.groups, r.meta = nil, r.groups[1:], r.meta[1:]
			if err != nil || n > 0 {
				return batch, err
			}
		case err != nil:
			return batch, fmt.Errorf("broken Parquet file: %s", short(err.Error()))
		default:
			return batch, nil
		}
	}
}

// assemble a row of its values, which lie in the order of the columns.
func (r *parquetReader) assemble(row parquet.Row) (map[string]any, error) {
	if len(row) > maxRowValues {
		return nil, fmt.Errorf("a row has %d values, more than %d", len(row), maxRowValues)
	}
	clear(r.column)
	for from := 0; from < len(row); {
		c, to := row[from].Column(), from+1
		for to < len(row) && row[to].Column() == c {
			to++
		}
		if c < 0 || c >= r.leaves || r.column[c] != nil {
			return nil, errors.New("broken Parquet file: a row has a value of no column")
		}
		r.column[c] = row[from:to]
		from = to
	}
	for _, values := range r.column {
		if len(values) == 0 {
			return nil, errors.New("broken Parquet file: a row lacks a column")
		}
	}
	fields, ok := r.root.value(r.column).(map[string]any)
	if !ok {
		return nil, errors.New("broken Parquet file: its rows have no columns")
	}
	return fields, nil
}

// plain is a value of a leaf.
func (f *field) plain(v parquet.Value) any {
	switch v.Kind() {
	case parquet.Boolean:
		return v.Boolean()
	case parquet.Int32:
		if f.unsigned {
			return int64(v.Uint32())
		}
		return f.scaled(int64(v.Int32()))
	case parquet.Int64:
		if f.unsigned && v.Uint64() > math.MaxInt64 {
			return float64(v.Uint64())
		}
		return f.scaled(v.Int64())
	case parquet.Float:
		return float64(v.Float())
	case parquet.Double:
		return v.Double()
	case parquet.ByteArray, parquet.FixedLenByteArray:
		if f.decimal {
			n := new(big.Int).SetBytes(v.ByteArray())
			if b := v.ByteArray(); len(b) > 0 && b[0]&0x80 != 0 { // two's complement
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			}
			whole, _ := n.Float64()
			return whole / math.Pow10(f.scale)
		}
		if f.text {
			return strings.ToValidUTF8(string(v.ByteArray()), "\uFFFD")
		}
		return append([]byte{}, v.ByteArray()...)
	}
	return v.String()
}

// scaled is a decimal that is stored as a whole number.
func (f *field) scaled(n int64) any {
	if f.scale == 0 {
		return n
	}
	return float64(n) / math.Pow10(f.scale)
}
