package sessions

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// OutputChunk is how many bytes each chunk of a call's output holds, but for
// the last one. A read takes the chunks it touches from disk and no others.
const OutputChunk = 256 << 10

// CallPlace names a call of a trajectory: the one with this number (from 0) in
// the reply of the turn. Attempt 0 is the latest.
type CallPlace struct {
	Key
	Attempt int
	Turn    int
	Call    int
}

func (p CallPlace) String() string {
	return fmt.Sprintf("call %d of turn %d of %s", p.Call, p.Turn, p.Key)
}

// Chunk is a piece of what a call printed, committed before the turn whose
// observation tells of it. Chunks come in order from 0; chunk 0 takes the place
// of all that is stored for the call, so a call that runs again after a crash
// leaves nothing of the run before.
type Chunk struct {
	CallPlace
	N    int
	Data []byte
}

func (c *Chunk) check() error {
	if c.Attempt < 1 || c.Turn < 1 || c.Call < 0 || c.N < 0 || len(c.Data) == 0 || len(c.Data) > OutputChunk {
		return fmt.Errorf("chunk %d of %s (attempt %d) has %d bytes: it needs its place and 1 to %d bytes", c.N, c.CallPlace, c.Attempt, len(c.Data), OutputChunk)
	}
	return nil
}

// A stored chunk is one format byte and the bytes, as they are or by flate.
const (
	chunkPlain = 0
	chunkFlate = 1
)

// flaters are kept for the next chunk: each has tables of some 600 kB.
var flaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(io.Discard, flate.BestSpeed)
	if err != nil {
		panic("sessions: " + err.Error()) // the level is a constant that exists
	}
	return w
}}

// packChunk compresses where that saves a tenth or more.
func packChunk(data []byte) []byte {
	var b bytes.Buffer
	b.WriteByte(chunkFlate)
	w := flaters.Get().(*flate.Writer)
	defer flaters.Put(w)
	w.Reset(&b)
	_, err := w.Write(data)
	if err = errors.Join(err, w.Close()); err == nil && b.Len() <= len(data)-len(data)/10 {
		return b.Bytes()
	}
	return append([]byte{chunkPlain}, data...)
}

func unpackChunk(stored []byte) ([]byte, error) {
	switch {
	case len(stored) > 0 && stored[0] == chunkPlain:
		return stored[1:], nil
	case len(stored) > 0 && stored[0] == chunkFlate:
		r := flate.NewReader(bytes.NewReader(stored[1:]))
		data, err := io.ReadAll(io.LimitReader(r, OutputChunk+1))
		if err == nil && len(data) <= OutputChunk {
			return data, nil
		}
	}
	return nil, errors.New("a chunk of it is damaged")
}

// storeChunk into the transaction; packed is its data as it is stored.
func (tx *transaction) storeChunk(c *Chunk, packed []byte) error {
	tr, _ := tx.find(c.Key)
	if c.N == 0 {
		if _, err := tx.conn.exec("DELETE FROM output WHERE tr = ? AND attempt = ? AND turn = ? AND call = ?", tr, c.Attempt, c.Turn, c.Call); err != nil {
			return err
		}
	}
	_, err := tx.conn.exec("INSERT INTO output VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET data = excluded.data", tr, c.Attempt, c.Turn, c.Call, c.N, packed)
	return err
}

// Output is up to n bytes from offset from of what a call printed, as it came.
// What the observation has no Output for, or what lies behind its end, is empty.
func (v *view) Output(ctx context.Context, at CallPlace, from int64, n int) ([]byte, error) {
	if from < 0 || n <= 0 {
		return nil, nil
	}
	at, tr, err := v.printedBy(ctx, at)
	if err != nil {
		return nil, err
	}
	if there, err := v.has(ctx, "output"); err != nil || !there {
		return nil, err
	}
	first := from / OutputChunk
	rows, err := v.db.QueryContext(ctx, `SELECT chunk, data FROM output
		WHERE tr = ? AND attempt = ? AND turn = ? AND call = ? AND chunk BETWEEN ? AND ? ORDER BY chunk`,
		tr, at.Attempt, at.Turn, at.Call, first, (from+int64(n)-1)/OutputChunk)
	if err != nil {
		return nil, v.fail("the output of "+at.String(), err)
	}
	defer rows.Close()
	var out []byte
	for next := first; rows.Next(); next++ {
		var chunk int64
		var stored []byte
		if err := rows.Scan(&chunk, &stored); err != nil {
			return nil, v.fail("the output of "+at.String(), err)
		}
		data, err := unpackChunk(stored)
		if err == nil && chunk != next {
			err = errors.New("a chunk of it is missing")
		}
		if err != nil {
			return nil, v.fail("the output of "+at.String(), err)
		}
		if chunk == first {
			data = data[min(from-first*OutputChunk, int64(len(data))):]
		}
		out = append(out, data[:min(len(data), n-len(out))]...)
	}
	if err := rows.Err(); err != nil {
		return nil, v.fail("the output of "+at.String(), err)
	}
	return out, nil
}

// has reports whether the file has the table: those of earlier versions lack some.
func (v *view) has(ctx context.Context, table string) (bool, error) {
	var n int
	if err := v.db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = ?", table).Scan(&n); err != nil {
		return false, v.fail(table, err)
	}
	return n > 0, nil
}
