package sessions

import "sync"

// Hub wakes subscribers; its zero value is ready. Channels have capacity one: a subscriber that is
// behind finds one token and pulls everything since its seq.
type Hub struct {
	mu   sync.Mutex
	subs map[chan struct{}]bool // guarded by mu
}

// Wake subscribes anew; cancel ends the subscription.
func (h *Hub) Wake() (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
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

// Notify wakes all of them; it waits for none.
func (h *Hub) Notify() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.subs {
		select {
		case ch <- struct{}{}:
		default: // already due to wake
		}
	}
}
