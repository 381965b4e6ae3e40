//go:build linux

package cli

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var latencyKeys = flag.Int("latency.keys", 0, "keys that TestKeyToFrame types at each screen; 0 leaves it out")

// screenBytes is what a program writes to its terminal, for one who waits for a part.
type screenBytes struct {
	mu   sync.Mutex // guards text
	text strings.Builder
	wake chan struct{} // capacity one
}

func (s *screenBytes) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}()
	return s.text.Write(p)
}

func (s *screenBytes) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// until the part stands behind the first so many bytes; "" is anything.
func (s *screenBytes) until(t *testing.T, from int, part string) {
	t.Helper()
	late := time.After(time.Minute)
	for {
		if all := s.all(); len(all) > from && strings.Contains(all[from:], part) {
			return
		}
		select {
		case <-s.wake:
		case <-late:
			t.Fatalf("the screen never shows %q", part)
		}
	}
}

// TestKeyToFrame measures from a key that is written to the terminal of the program
// until the bytes of its frame are read from it: in the list of a run that is over,
// where nothing else is written, and in the filter of one that another process writes
// at 200 events a second, where the frame is the one that shows what was typed. It prints
// figures and asserts none: they are of the machine and what else it does.
//
//	go test ./ui/cli -run KeyToFrame -latency.keys 300 -v
func TestKeyToFrame(t *testing.T) {
	if *latencyKeys == 0 {
		t.Skip("-latency.keys is 0")
	}
	over, busy := newShop(t), newShop(t)
	over.run("run", "--headless", "--sandbox", "local", "--set", "tools.enable_search=false")
	run := newSynthetic(t, busy.home, 10)
	stop := make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() { run.work(stop) })
	defer func() {
		close(stop)
		working.Wait()
		if err := run.store.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, size := range []unix.Winsize{{Row: 24, Col: 80}, {Row: 40, Col: 120}, {Row: 60, Col: 200}} {
		name := fmt.Sprintf("%dx%d", size.Col, size.Row)
		list := keyLatency{out: &screenBytes{wake: make(chan struct{}, 1)}}
		list.press = over.pty(list.out, size, "open", "latest")
		list.out.until(t, 0, "finished")
		time.Sleep(10 * time.Second) // its messages have gone
		list.measure(t, name+" list, over", func(i int) (key, frame string) { return string("jk"[i%2]), "" })
		list.press("q")

		filter := keyLatency{out: &screenBytes{wake: make(chan struct{}, 1)}}
		filter.press = busy.pty(filter.out, size, "open", "r-watch")
		filter.out.until(t, 0, "read only")
		filter.press("/")
		typed := ""
		filter.measure(t, name+" filter, 200 events a second", func(i int) (key, frame string) {
			if len(typed) == 12 { // it must have room
				filter.press(strings.Repeat("\x7f", len(typed)))
				time.Sleep(500 * time.Millisecond)
				typed = ""
			}
			key = string(rune('a' + i*7%26))
			typed += key
			return key, typed
		})
		filter.press("\x1b")
		time.Sleep(300 * time.Millisecond)
		filter.press("q")
	}
}

// keyLatency types into a program and waits for its frames.
type keyLatency struct {
	out   *screenBytes
	press func(keys string)
}

// measure keys, each at another moment of the program's clocks.
func (k keyLatency) measure(t *testing.T, what string, next func(i int) (key, frame string)) {
	t.Helper()
	var took []time.Duration
	for i := range *latencyKeys {
		key, frame := next(i)
		time.Sleep(time.Duration(60+i*37%90) * time.Millisecond)
		from := len(k.out.all())
		began := time.Now()
		k.press(key)
		k.out.until(t, from, frame)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	at := func(share float64) time.Duration {
		return took[int(share*float64(len(took)-1))].Round(100 * time.Microsecond)
	}
	t.Logf("%s: median %v, p90 %v, p99 %v, slowest %v", what, at(0.5), at(0.9), at(0.99), at(1))
}
