package docker

import (
	"context"
	"sync"
)

// turns lets one at a time do what has a key.
type turns struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // closed when the turn is over
}

// take waits for the turn of key and returns what ends it.
func (t *turns) take(ctx context.Context, key string) (end func(), err error) {
	for {
		t.mu.Lock()
		before, busy := t.busy[key]
		if !busy {
			mine := make(chan struct{})
			if t.busy == nil {
				t.busy = map[string]chan struct{}{}
			}
			t.busy[key] = mine
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				delete(t.busy, key)
				t.mu.Unlock()
				close(mine)
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
