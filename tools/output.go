package tools

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// What is kept of a call's output: the first and the last maxHalf bytes, 16 MiB
// in all. maxMemory of it is kept in memory, so that many trajectories at once
// cost little; the rest in a file without a name, gone with the process.
const (
	maxHalf   = 8 << 20
	maxMemory = 256 << 10
)

// Output is what one call printed, as it came. Its methods are called by one
// goroutine at a time. Close frees its file.
type Output struct {
	folder  string // for the file
	memory  []byte // until there is a file
	file    *os.File
	total   int64 // bytes printed
	half    int64
	gap     int64 // bytes that were lost before they came here, behind head
	head    int64 // of the bytes that came here, where gap > 0
	failure error // the file could not be made or written
}

// write the next piece. After a failure nothing is kept.
func (o *Output) write(p []byte) {
	o.total += int64(len(p))
	if o.failure != nil {
		return
	}
	if o.file == nil && len(o.memory)+len(p) <= maxMemory {
		o.memory = append(o.memory, p...)
		return
	}
	at := o.total - int64(len(p))
	if o.file == nil {
		if o.file, o.failure = nameless(o.folder); o.failure == nil {
			o.failure = o.put(o.memory, 0)
		}
		o.memory = nil
	}
	if o.failure == nil {
		o.failure = o.put(p, at)
	}
}

// put p, which is the output from byte at on, into the file: the head where it
// came, the tail round and round behind it.
func (o *Output) put(p []byte, at int64) error {
	for len(p) > 0 {
		to, room := at, o.half-at
		if at >= o.half {
			to = o.half + (at-o.half)%o.half
			room = 2*o.half - to
		}
		n := min(int64(len(p)), room)
		if _, err := o.file.WriteAt(p[:n], to); err != nil {
			return err
		}
		p, at = p[n:], at+n
	}
	return nil
}

// nameless makes a file that is gone with its descriptor.
func nameless(folder string) (*os.File, error) {
	f, err := os.CreateTemp(folder, ".output-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Size is how many bytes are kept, Head how many of them stand before the gap
// (all where there is none), Dropped how many were in the gap.
func (o *Output) Size() int64 {
	if o.file == nil {
		return int64(len(o.memory))
	}
	return min(o.total, 2*o.half)
}

func (o *Output) Head() int64 {
	switch {
	case o.gap > 0:
		return o.head
	case o.Dropped() > 0:
		return o.half
	}
	return o.Size()
}

func (o *Output) Dropped() int64 { return o.gap + o.total - o.Size() }

// ReadAt reads what is kept, head and tail in one.
func (o *Output) ReadAt(p []byte, off int64) (int, error) {
	if err := o.Err(); err != nil {
		return 0, err
	}
	size, n := o.Size(), 0
	for n < len(p) && off < size {
		var m int
		if o.file == nil {
			m = copy(p[n:], o.memory[off:])
		} else {
			at, room := o.at(off)
			var err error
			m, err = o.file.ReadAt(p[n:n+int(min(int64(len(p)-n), room, size-off))], at)
			if err != nil {
				return n + m, fmt.Errorf("read what the call printed: %w", err)
			}
		}
		n, off = n+m, off+int64(m)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// at is where in the file a byte of what is kept stands, and how many follow it there.
func (o *Output) at(off int64) (at, room int64) {
	if off < o.half {
		return off, o.half - off
	}
	oldest := int64(0) // of the tail, in its ring
	if o.total > 2*o.half {
		oldest = (o.total - o.half) % o.half
	}
	at = (oldest + off - o.half) % o.half
	return o.half + at, o.half - at
}

// Err is why nothing is kept, nil when something is.
func (o *Output) Err() error {
	if o.failure == nil {
		return nil
	}
	return fmt.Errorf("what the call printed (%d bytes) could not be kept: %w", o.total, o.failure)
}

// Close may be called on none.
func (o *Output) Close() error {
	if o == nil || o.file == nil {
		return nil
	}
	return o.file.Close()
}

// capture takes what the tools of a trajectory print. Pieces come from any
// goroutine; what comes between two calls belongs to the next.
type capture struct {
	folder string
	mu     sync.Mutex
	out    *Output // guarded by mu
}

func newCapture(folder string) *capture { return &capture{folder: folder, out: newOutput(folder)} }

func newOutput(folder string) *Output { return &Output{folder: folder, half: maxHalf} }

// tee hands each piece on.
func (c *capture) tee(next func([]byte)) func([]byte) {
	return func(p []byte) {
		c.mu.Lock()
		c.out.write(p)
		c.mu.Unlock()
		if next != nil {
			next(p)
		}
	}
}

// take what was printed since the last take.
func (c *capture) take() *Output {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.out
	c.out = newOutput(c.folder)
	return out
}

// keep gives a result its Output: what was captured, where the tool itself
// holds less of it.
func (c *capture) keep(r *Result) {
	out := c.take()
	if r.Full != nil && out.total <= int64(len(r.Full)) {
		r.Output = &Output{memory: r.Full, total: int64(len(r.Full)), half: maxHalf, gap: r.gap, head: r.head}
	} else if r.Full != nil {
		r.Output = out
		return
	}
	// Nothing of its file is wanted, so how closing it goes does not matter.
	_ = out.Close()
}
