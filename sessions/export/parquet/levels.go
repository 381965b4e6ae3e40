package parquet

import (
	"encoding/binary"
	"errors"
)

// levels are repetition or definition levels as runs. Parquet's hybrid
// encoding knows runs and bit-packed values (Encodings.md); ours are all runs.
type levels struct {
	runs []run
}

type run struct{ level, count int }

func (l *levels) add(level, count int) {
	if count == 0 {
		return
	}
	if n := len(l.runs); n > 0 && l.runs[n-1].level == level {
		l.runs[n-1].count += count
		return
	}
	l.runs = append(l.runs, run{level, count})
}

// appendTo writes the runs with their length in bytes before them.
func (l *levels) appendTo(b []byte) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	for _, r := range l.runs {
		b = append(binary.AppendUvarint(b, uint64(r.count)<<1), byte(r.level))
	}
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

var errLevels = errors.New("damaged levels")

// readLevels takes count levels off the page, none above most.
func readLevels(page []byte, count, most int) (l levels, rest []byte, err error) {
	if len(page) < 4 {
		return l, nil, errLevels
	}
	size := binary.LittleEndian.Uint32(page)
	page = page[4:]
	if uint64(size) > uint64(len(page)) {
		return l, nil, errLevels
	}
	b, rest := page[:size], page[size:]
	for left := count; left > 0; {
		head, n := binary.Uvarint(b)
		if n <= 0 || head&1 != 0 || len(b) < n+1 || head>>1 == 0 || head>>1 > uint64(left) || int(b[n]) > most {
			return l, nil, errLevels
		}
		l.add(int(b[n]), int(head>>1))
		left -= int(head >> 1)
		b = b[n+1:]
	}
	return l, rest, nil
}

// appendBits packs booleans, the first in the lowest bit.
func appendBits(b []byte, bits []bool) []byte {
	at := len(b)
	b = append(b, make([]byte, (len(bits)+7)/8)...)
	for i, v := range bits {
		if v {
			b[at+i/8] |= 1 << (i % 8)
		}
	}
	return b
}
