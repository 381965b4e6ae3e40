package cli

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// heedPipes makes a reader that went away (… | head) an error of the write to it. By
// itself it ends the process on the spot, with its sandboxes left behind. A handler, not
// an ignored signal: what runs in sandboxes would inherit that.
func heedPipes() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// unread says that what is printed reaches nobody any more.
type unread struct{ err error }

func (u *unread) Error() string { return fmt.Sprintf("its output cannot be written (%v)", u.err) }
func (u *unread) Unwrap() error { return u.err }

// heard writes until that fails, and then stops what is told of.
type heard struct {
	io.Writer
	stop func()

	mu  sync.Mutex // guards err
	err error      // of the first write that failed
}

func (h *heard) Write(p []byte) (int, error) {
	n, err := h.Writer.Write(p)
	if err != nil {
		h.mu.Lock()
		first := h.err == nil
		if first {
			h.err = &unread{err}
		}
		h.mu.Unlock()
		if first {
			h.stop()
		}
	}
	return n, err
}

// failed is why nobody hears it, nil while they do.
func (h *heard) failed() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}
