package cli

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The second of two signals that were sent together is no wish to end at once.
func TestSignalsThatBelongTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, first := context.WithCancel(t.Context())
		var atOnce atomic.Bool
		endAtOnceNext(ctx, func() { atOnce.Store(true) })
		first()
		time.Sleep(sameStop - 1)
		synctest.Wait()
		if atOnce.Load() {
			t.Error("a signal right behind the first ends the process at once")
		}
		time.Sleep(1)
		synctest.Wait()
		if !atOnce.Load() {
			t.Error("a later signal is not heeded")
		}
	})
}
