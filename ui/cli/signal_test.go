package cli

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// The second of two signals that were sent together is no wish to end at once.
func TestSignalsThatBelongTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, first := context.WithCancel(t.Context())
		atOnce := false
		endAtOnceNext(ctx, func() { atOnce = true })
		first()
		time.Sleep(sameStop - 1)
		synctest.Wait()
		if atOnce {
			t.Error("a signal right behind the first ends the process at once")
		}
		time.Sleep(1)
		synctest.Wait()
		if !atOnce {
			t.Error("a later signal is not heeded")
		}
	})
}
