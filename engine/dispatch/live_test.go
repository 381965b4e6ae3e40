package dispatch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// work is a Stages whose stages take a fixed time and keep a log.
type work struct {
	mu   sync.Mutex
	log  []string
	live *Live
	init func(ctx context.Context, it Item) bool
	run  func(ctx context.Context, it Item) bool
	eval func(ctx context.Context, it Item)
}

func (w *work) say(format string, a ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, a...))
}

func (w *work) Init(ctx context.Context, it Item) bool {
	defer w.say("init %d", it)
	if w.init != nil {
		return w.init(ctx, it)
	}
	return wait(ctx, time.Second) == nil
}

func (w *work) Run(ctx context.Context, it Item) bool {
	defer w.say("run %d", it)
	if w.run != nil {
		return w.run(ctx, it)
	}
	return wait(ctx, time.Second) == nil
}

func (w *work) Eval(ctx context.Context, it Item) {
	defer w.say("eval %d", it)
	if w.eval != nil {
		w.eval(ctx, it)
		return
	}
	_ = wait(ctx, time.Second)
}

func (w *work) Panicked(it Item, s Stage, err error) {
	first, _, _ := strings.Cut(err.Error(), "\n")
	w.say("%d: %s", it, first)
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func start(n int, l Limits, w *work) *Live {
	w.live = NewLive(NewCore(AsyncPipeline, l, n, nil), w)
	return w.live
}

// Three stages of one second overlap: with one slot each, item k ends at 3+k s.
func TestLivePipelines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &work{}
		began := time.Now()
		if err := start(4, Limits{Init: 1, Run: 1, Eval: 1}, w).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(began); got != 6*time.Second {
			t.Errorf("4 items took %v, want 6s", got)
		}
		if len(w.log) != 12 {
			t.Errorf("log %q", w.log)
		}
	})
}

func TestLivePanicIsTheItemsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &work{}
		w.run = func(ctx context.Context, it Item) bool {
			if it == 0 {
				panic("boom")
			}
			return true
		}
		if err := start(2, Limits{Init: 1, Run: 1, Eval: 1}, w).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(w.log, ", "); !strings.Contains(got, "0: panic in run: boom") || strings.Contains(got, "eval 0") || !strings.Contains(got, "eval 1") {
			t.Errorf("log %q", w.log)
		}
	})
}

func TestLiveHoldAndWant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &work{}
		w.run = func(ctx context.Context, it Item) bool {
			if it == 0 {
				w.live.Hold(it)
				if err := wait(ctx, 10*time.Second); err != nil {
					t.Error(err)
				}
				if err := w.live.Want(ctx, it, func() {}); err != nil {
					t.Error(err)
				}
			}
			return wait(ctx, time.Second) == nil
		}
		began := time.Now()
		if err := start(3, Limits{Init: 1, Run: 1, Eval: 1}, w).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Items 1 and 2 pass while 0 is held (from 1 s to 11 s); then 0 runs and is evaluated.
		if got := time.Since(began); got != 13*time.Second {
			t.Errorf("took %v, want 13s", got)
		}
	})
}

func TestLiveCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &work{}
		w.run = func(ctx context.Context, it Item) bool {
			err := wait(ctx, time.Minute)
			w.say("%d ended by %v", it, err)
			return err == nil
		}
		d := start(2, Limits{Init: 2, Run: 1, Eval: 1}, w)
		go func() {
			_ = wait(t.Context(), 2*time.Second)
			d.Cancel(1) // ready, waits for the run slot
			d.Cancel(0) // runs
		}()
		began := time.Now()
		if err := d.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(began); got != 2*time.Second {
			t.Errorf("took %v, want 2s", got)
		}
		for it := range 2 {
			if want := fmt.Sprintf("%d ended by cancelled", it); !strings.Contains(strings.Join(w.log, ","), want) {
				t.Errorf("no %q in %q", want, w.log)
			}
		}
	})
}

// Stopping waits for what is busy and starts nothing more.
func TestLiveStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &work{}
		ctx, stop := context.WithCancelCause(t.Context())
		why := errors.New("stopped by the person")
		go func() {
			_ = wait(t.Context(), 500*time.Millisecond)
			stop(why)
		}()
		if err := start(3, Limits{Init: 1, Run: 1, Eval: 1}, w).Run(ctx); !errors.Is(err, why) {
			t.Errorf("Run() = %v, want %v", err, why)
		}
		if got := strings.Join(w.log, ", "); got != "init 0" {
			t.Errorf("log %q, want only init 0", got)
		}
	})
}

func BenchmarkThreeEmptyStages(b *testing.B) {
	b.ReportAllocs()
	d := NewLive(NewCore(AsyncPipeline, Limits{Init: 8, Run: 8, Eval: 8, Live: 24}, b.N, nil), &empty{})
	if err := d.Run(context.Background()); err != nil {
		b.Fatal(err)
	}
}

type empty struct{}

func (empty) Init(context.Context, Item) bool { return true }
func (empty) Run(context.Context, Item) bool  { return true }
func (empty) Eval(context.Context, Item)      {}
func (empty) Panicked(Item, Stage, error)     {}

// crowd counts the goroutines there are while its stages work.
type crowd struct {
	empty
	most atomic.Int64
}

func (c *crowd) Init(context.Context, Item) bool {
	if n := int64(runtime.NumGoroutine()); n > c.most.Load() {
		c.most.Store(n)
	}
	return true
}

const many = 100_000

var manyLimits = Limits{Init: 96, Run: 96, Eval: 96, Live: 192}

// A waiting trajectory costs no goroutine: of 100,000 only those in a stage
// have one.
func TestHundredThousand(t *testing.T) {
	before := int64(runtime.NumGoroutine())
	c := &crowd{}
	if err := NewLive(NewCore(AsyncPipeline, manyLimits, many, nil), c).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Those in a stage, and those that have just handed on and end.
	if most := c.most.Load() - before; most > 2*(96+96+96) {
		t.Errorf("%d goroutines at once", most)
	}
}

// heap is in use after 50,000 of 100,000 trajectories: B/trajectory.
func BenchmarkHundredThousand(b *testing.B) {
	for b.Loop() {
		var before, during runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		m := &halfway{during: &during}
		if err := NewLive(NewCore(AsyncPipeline, manyLimits, many, nil), m).Run(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(during.HeapAlloc-before.HeapAlloc)/many, "heap-B/trajectory")
	}
}

type halfway struct {
	empty
	n      atomic.Int64
	during *runtime.MemStats
}

func (h *halfway) Eval(context.Context, Item) {
	if h.n.Add(1) == many/2 {
		runtime.GC()
		runtime.ReadMemStats(h.during)
	}
}
