// Package pack is the text format of a bundle.
package pack

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"example.invalid/bundle/tree"
)

// Write the tree as a bundle.
func Write(t *tree.Tree) []byte {
	var out bytes.Buffer
	for _, name := range t.Names("") {
		data, _ := t.Get(name)
		fmt.Fprintf(&out, "file %d %s\n", len(data), strconv.Quote(name))
		out.Write(data)
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// Read a bundle. A name that comes twice, in any spelling, is an error.
func Read(bundle []byte) (*tree.Tree, error) {
	t := &tree.Tree{}
	for number := 1; len(bundle) > 0; number++ {
		name, data, rest, err := entry(bundle)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", number, err)
		}
		if _, twice := t.Get(name); twice {
			return nil, fmt.Errorf("entry %d: %q comes twice", number, name)
		}
		if err := t.Put(name, data); err != nil {
			return nil, fmt.Errorf("entry %d: %w", number, err)
		}
		bundle = rest
	}
	return t, nil
}

func entry(bundle []byte) (name string, data, rest []byte, err error) {
	end := bytes.IndexByte(bundle, '\n')
	if end < 0 {
		return "", nil, nil, errors.New("no end of line")
	}
	words := strings.SplitN(string(bundle[:end]), " ", 3)
	if len(words) != 3 || words[0] != "file" {
		return "", nil, nil, errors.New("expected: file SIZE NAME")
	}
	size, err := strconv.Atoi(words[1])
	if err != nil {
		return "", nil, nil, fmt.Errorf("size %q is not a number", words[1])
	}
	if name, err = strconv.Unquote(words[2]); err != nil {
		return "", nil, nil, fmt.Errorf("name %s is not quoted", words[2])
	}
	body := bundle[end+1:]
	if size > len(body) || body[size] != '\n' {
		return "", nil, nil, fmt.Errorf("%q does not have %d bytes", name, size)
	}
	return name, body[:size], body[size+1:], nil
}
