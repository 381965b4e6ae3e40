package replay

import "sync"

// hub wakes the readers of a replay, as the store of a run does its own.
type hub struct {
	mu   sync.Mutex
	subs map[chan struct{}]bool // guarded by mu
}

func (h *hub) notify() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.subs {
		select {
		case ch <- struct{}{}:
		default: // already due to wake
		}
	}
}

// Wake subscribes anew; cancel ends it.
func (p *Player) Wake() (<-chan struct{}, func()) {
	h, ch := &p.hub, make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subs == nil {
		h.subs = map[chan struct{}]bool{}
	}
	h.subs[ch] = true
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.subs, ch)
	}
}
