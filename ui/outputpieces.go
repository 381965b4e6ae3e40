package ui

import (
	"bytes"
	"context"
	"unicode/utf8"

	"rollbench/sessions"
)

// What a call printed is shown in pieces of pieceSize bytes, each a section. A
// piece begins behind the first line end of its first pieceLook bytes, so that
// a line is cut in two only where it is longer than that.
const (
	pieceSize = 64 << 10
	pieceLook = 4 << 10
)

// pieces of an output: those of its head, the gap, those of its tail.
type pieces struct {
	kept       sessions.Output
	head, tail int
}

func piecesOf(o sessions.Output) pieces {
	p := pieces{kept: o, head: piecesIn(o.Head)}
	if o.Dropped > 0 {
		p.tail = piecesIn(o.Size - o.Head)
	}
	return p
}

func piecesIn(n int64) int { return int((n + pieceSize - 1) / pieceSize) }

func (p pieces) count() int {
	if p.kept.Dropped > 0 {
		return p.head + 1 + p.tail
	}
	return max(p.head, 1)
}

// gap reports whether piece i stands for what was not kept.
func (p pieces) gap(i int) bool { return p.kept.Dropped > 0 && i == p.head }

// read piece i as a section.
func (p pieces) read(ctx context.Context, r sessions.Reader, at sessions.CallPlace, i int) (*section, error) {
	if p.gap(i) {
		text := thousands(p.kept.Dropped) + " bytes were not kept: the session holds the first and the last 8 MiB of a call"
		return &section{labels: 1, blocks: []block{{id: "gap", body: warn, text: "⋯ " + text + " ⋯"}}}, nil
	}
	text, err := p.text(ctx, r, at, i)
	if err != nil {
		return nil, err
	}
	return &section{labels: 1, bytes: len(text), blocks: []block{{id: "piece", body: plain, text: text}}}, nil
}

// text of piece i, clean.
func (p pieces) text(ctx context.Context, r sessions.Reader, at sessions.CallPlace, i int) (string, error) {
	raw, err := p.raw(ctx, r, at, i)
	return clean(string(raw)), err
}

// raw is what was printed of piece i.
func (p pieces) raw(ctx context.Context, r sessions.Reader, at sessions.CallPlace, i int) ([]byte, error) {
	start, end := int64(0), p.kept.Head
	if i > p.head {
		start, end, i = p.kept.Head, p.kept.Size, i-p.head-1
	}
	from, to := start+int64(i)*pieceSize, start+int64(i+1)*pieceSize
	data, err := r.Output(ctx, at, from, int(min(end, to+pieceLook)-from))
	if err != nil {
		return nil, err
	}
	first, last := 0, len(data)
	if i > 0 {
		first = begins(data)
	}
	if to < end {
		cut := min(int(to-from), len(data))
		last = cut + begins(data[cut:])
	}
	return data[min(first, last):last], nil
}

// begins is where a piece begins in the bytes from its nominal start on. Both
// pieces that meet there find the same place.
func begins(data []byte) int {
	if i := bytes.IndexByte(data[:min(len(data), pieceLook)], '\n'); i >= 0 {
		return i + 1
	}
	for i := range min(len(data), utf8.UTFMax) {
		if utf8.RuneStart(data[i]) {
			return i
		}
	}
	return 0
}
