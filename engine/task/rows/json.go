package rows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of what is held in memory at once, in bytes: a line, and a file that is
// one JSON document.
const (
	maxLine     = 256 << 20
	maxDocument = 2 << 30
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// readJSON yields the rows of a .jsonl file, a line at a time, or those of a
// document: a list of rows, an object of rows by id, or one row.
func readJSON(file string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		f, err := os.Open(file)
		if err != nil {
			yield(Row{}, err)
			return
		}
		defer f.Close()
		in := bufio.NewReaderSize(f, 1<<20)
		first, lines, err := looksLike(in, filepath.Ext(file) == ".json")
		switch {
		case err != nil:
			yield(Row{}, err)
		case lines:
			readLines(in, first, yield)
		default:
			readDocument(io.MultiReader(bytes.NewReader(first), in), yield)
		}
	}
}

// looksLike reads up to the first row and says whether it is a line of its own.
func looksLike(in *bufio.Reader, document bool) (head []byte, lines bool, err error) {
	var first []byte // the first line that is not blank
	for {
		line, err := readLine(in)
		head = append(head, line...)
		first = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), byteOrderMark))
		if errors.Is(err, io.EOF) {
			if len(first) == 0 {
				return nil, false, errors.New("the file is empty; it must hold a JSON row a line")
			}
			break
		}
		if err != nil {
			return nil, false, err
		}
		if len(first) > 0 {
			break
		}
	}
	switch {
	case bytes.HasPrefix(first, []byte("version https://git-lfs")):
		return nil, false, errors.New("it is a pointer of Git LFS and not the data: run git lfs pull in its repository")
	case first[0] == '[':
		return head, false, nil
	case first[0] != '{':
		return nil, false, errors.New("line 1: not a JSON row; give rows as .jsonl, .json or .parquet, or a folder of tasks")
	case !json.Valid(first): // an object of several lines, or a broken one
		if document {
			return head, false, nil
		}
		rest, err := io.ReadAll(io.LimitReader(in, maxDocument))
		head = append(head, rest...)
		return head, !json.Valid(bytes.TrimPrefix(head, byteOrderMark)), err
	}
	// One whole object: the first of several, or all there is.
	for {
		next, err := in.Peek(1)
		if err != nil {
			return head, !document, nil
		}
		if !strings.ContainsAny(string(next), " \t\r\n") {
			return head, true, nil
		}
		if _, err := in.Discard(1); err != nil {
			return head, !document, nil
		}
		head = append(head, next...)
	}
}

// readLine keeps the end of line. Its error is io.EOF behind the last one.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, fmt.Errorf("a line is longer than %d bytes", maxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// readLines yields a row a line; head was read before.
func readLines(in io.Reader, head []byte, yield func(Row, error) bool) {
	lines := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(head), in), 1<<20)
	for number := 1; ; number++ {
		line, err := readLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			yield(Row{}, fmt.Errorf("line %d: %w", number, err))
			return
		}
		if number == 1 {
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			if !yieldObject(text, fmt.Sprintf("line %d", number), yield) {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func yieldObject(data []byte, place string, yield func(Row, error) bool) bool {
	fields, err := parseObject(data)
	if err != nil {
		return yield(Row{Place: place}, &Bad{place, err})
	}
	return yield(Row{Place: place, fields: fields}, nil)
}

// readDocument yields the rows of one JSON value.
func readDocument(in io.Reader, yield func(Row, error) bool) {
	data, err := io.ReadAll(io.LimitReader(in, maxDocument+1))
	if err == nil && len(data) > maxDocument {
		err = fmt.Errorf("the document has more than %d bytes; write it as .jsonl, a row a line", maxDocument)
	}
	if err != nil {
		yield(Row{}, err)
		return
	}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, byteOrderMark))
	rows, labels, err := splitDocument(data)
	if err == nil && len(rows) == 0 {
		err = errors.New("the file holds no rows")
	}
	if err != nil {
		yield(Row{}, err)
		return
	}
	for i, row := range rows {
		if !yieldObject(row, labels[i], yield) {
			return
		}
	}
}

func splitDocument(data []byte) (rows []json.RawMessage, labels []string, err error) {
	if data[0] == '[' {
		if err := json.Unmarshal(data, &rows); err != nil {
			return nil, nil, brokenJSON(data, err)
		}
		for i := range rows {
			labels = append(labels, fmt.Sprintf("row %d", i+1))
		}
		return rows, labels, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, nil, brokenJSON(data, err)
	}
	if !allObjects(fields) { // one row: those have fields that are no objects
		return []json.RawMessage{data}, []string{"row 1"}, nil
	}
	for _, id := range slices.Sorted(maps.Keys(fields)) {
		rows, labels = append(rows, fields[id]), append(labels, fmt.Sprintf("row %q", id))
	}
	return rows, labels, nil
}

func allObjects(fields map[string]json.RawMessage) bool {
	for _, v := range fields {
		if !bytes.HasPrefix(bytes.TrimSpace(v), []byte("{")) {
			return false
		}
	}
	return len(fields) > 0
}
