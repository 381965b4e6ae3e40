//go:build unix

package ui

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// onResize calls f with the size of the terminal whenever it changes, and once at
// the start, until stop is called, which waits.
func onResize(tty *os.File, f func(rows, cols int)) (stop func()) {
	changed, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(changed, syscall.SIGWINCH)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			if rows, cols := sizeOf(tty); rows > 0 && cols > 0 {
				f(rows, cols)
			}
			select {
			case <-changed:
			case <-done:
				return
			}
		}
	})
	return func() {
		signal.Stop(changed)
		close(done)
		wg.Wait()
	}
}
