// Package budget limits how many retries may be made, over all calls.
package budget

import (
	"fmt"
	"sync"
)

// Budget holds tokens. A retry takes one; a success gives a share of one back.
// It is safe for use by several goroutines.
type Budget struct {
	mu      sync.Mutex
	tenths  int // tokens, in tenths
	limit   int
	returns int // tenths given back by a success
}

// New budget, full, of so many tokens. A success returns the given tenths of a token.
func New(tokens, returnTenths int) (*Budget, error) {
	if tokens < 1 || returnTenths < 0 {
		return nil, fmt.Errorf("budget: %d tokens, %d tenths returned: out of range", tokens, returnTenths)
	}
	return &Budget{tenths: 10 * tokens, limit: 10 * tokens, returns: returnTenths}, nil
}

// Take a token for a retry. It reports false, and takes nothing, when there is
// less than a whole one.
func (b *Budget) Take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tenths <= 0 {
		return false
	}
	b.tenths -= 10
	return true
}

// Success gives tokens back, up to the limit.
func (b *Budget) Success() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tenths += b.returns
}

// Left is the number of whole tokens.
func (b *Budget) Left() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tenths / 10
}
