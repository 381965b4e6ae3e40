package follow

import (
	"context"
	"errors"
	"sync"

	"rollbench/search"
)

// stamp tells the version of a file in every sandbox of one instance.
type stamp struct {
	path string
	size int64
	mod  int64 // ns since 1970
}

// base is an index and the files it was made of, those among them too that the index
// leaves out.
type base struct {
	index *search.Base
	files map[string]stamp
}

// Bases are the indexes that trajectories share, by a key that names the image and the
// base commit.
type Bases struct {
	mu     sync.Mutex // guards making
	making map[string]*making
}

// making is an index that is being made. It goes on with whoever asked first; when
// that one gives up, the next who waits makes it.
type making struct {
	done chan struct{}
	base *base
	err  error
}

func (b *Bases) get(ctx context.Context, key string, build func() (*base, error)) (*base, error) {
	for {
		b.mu.Lock()
		if b.making == nil {
			b.making = map[string]*making{}
		}
		m := b.making[key]
		if m == nil {
			m = &making{done: make(chan struct{})}
			b.making[key] = m
			b.mu.Unlock()
			return b.make(key, m, build)
		}
		b.mu.Unlock()
		select {
		case <-m.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if m.err == nil {
			return m.base, nil
		}
	}
}

func (b *Bases) make(key string, m *making, build func() (*base, error)) (*base, error) {
	m.err = errors.New("it was not finished") // should build panic
	defer func() {
		if m.err != nil {
			b.mu.Lock()
			delete(b.making, key)
			b.mu.Unlock()
		}
		close(m.done)
	}()
	m.base, m.err = build()
	return m.base, m.err
}
