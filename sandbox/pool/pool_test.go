package pool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rollbench/sandbox"
)

// yard is a provider whose sandboxes take a second to open and to close.
type yard struct {
	sandbox.Provider
	t    *testing.T
	fail error

	mu     sync.Mutex
	open   int
	most   int
	names  []string // as opened or claimed
	closed []string
}

func (y *yard) Kind() sandbox.Kind { return sandbox.Docker }

func (y *yard) count(n int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.open += n
	y.most = max(y.most, y.open)
}

// now is how many are open, and have been at most.
func (y *yard) now() (open, most int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.open, y.most
}

func (y *yard) live() int { open, _ := y.now(); return open }
func (y *yard) peak() int { _, most := y.now(); return most }

// breaks makes Open fail from now on, or work again.
func (y *yard) breaks(err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.fail = err
}

func (y *yard) said(list *[]string) []string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return slices.Clone(*list)
}

func (y *yard) say(list *[]string, name string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	*list = append(*list, name)
}

func (y *yard) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	y.count(1)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		time.Sleep(100 * time.Millisecond) // it has to be removed
		y.count(-1)
		return nil, ctx.Err()
	}
	y.mu.Lock()
	fail := y.fail
	y.mu.Unlock()
	if fail != nil {
		y.count(-1)
		return nil, fail
	}
	y.say(&y.names, spec.Name)
	return &plot{yard: y, spec: spec}, nil
}

// plot is a sandbox of the yard.
type plot struct {
	sandbox.Sandbox
	yard *yard
	spec sandbox.Spec
	dead bool
	used bool
	once sync.Once
}

func (s *plot) Claim(_ context.Context, name string) error {
	if s.dead {
		return fmt.Errorf("plot: %w", sandbox.ErrLost)
	}
	if s.used {
		s.yard.t.Error("claimed twice")
	}
	s.used = true
	s.yard.say(&s.yard.names, name)
	return nil
}

func (s *plot) Close() error {
	s.once.Do(func() {
		time.Sleep(time.Second)
		s.yard.count(-1)
		s.yard.say(&s.yard.closed, s.spec.Name)
	})
	return nil
}

// field is a pool of a yard's sandboxes, with what is wanted next.
type field struct {
	*Pool
	yard *yard
	room atomic.Int64
	mu   sync.Mutex
	want []string // images
}

func spec(image, name string) sandbox.Spec {
	return sandbox.Spec{Image: image, Name: name, Labels: map[string]string{"run": "r", "trajectory": name}}
}

func (f *field) wants(images ...string) {
	f.mu.Lock()
	f.want = images
	f.mu.Unlock()
	f.Look()
}

func newField(t *testing.T, warm, room int) *field {
	f := &field{yard: &yard{t: t}}
	f.room.Store(int64(room))
	f.Pool = New(Options{Warm: warm, Room: func() int { return int(f.room.Load()) }, Log: slog.New(slog.DiscardHandler), Wanted: func() []Wanted {
		f.mu.Lock()
		defer f.mu.Unlock()
		var all []Wanted
		for _, image := range f.want {
			all = append(all, Wanted{f.yard, spec(image, "later")})
		}
		return all
	}})
	f.Start()
	return f
}

// locked is for a look into the pool.
func (f *field) locked(do func()) {
	f.Pool.mu.Lock()
	defer f.Pool.mu.Unlock()
	do()
}

func (f *field) take(t *testing.T, image, name string) (sandbox.Sandbox, time.Duration) {
	t.Helper()
	began := time.Now()
	sb, err := f.Open(t.Context(), f.yard, spec(image, name))
	if err != nil {
		t.Fatal(err)
	}
	return sb, time.Since(began)
}

func (f *field) end(t *testing.T) {
	t.Helper()
	f.Close()
	if f.yard.live() != 0 {
		t.Errorf("%d are still open", f.yard.live())
	}
}

// What is wanted next is there at once; it takes the name of its user.
func TestClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 2, 0)
		f.wants("a", "b", "a", "a")
		time.Sleep(5 * time.Second)
		if n := f.Warm(); n != 2 || f.yard.live() != 2 {
			t.Errorf("%d warm, %d open, want 2", n, f.yard.live())
		}
		f.wants("b", "a", "a")
		sb, took := f.take(t, "a", "x#0")
		if took != 0 || !slices.Equal(f.yard.said(&f.yard.names), []string{"warm", "warm", "x#0"}) {
			t.Errorf("it took %v, %v", took, f.yard.said(&f.yard.names))
		}
		if p := sb.(*plot); p.spec.Labels["run"] != "r" || p.spec.Labels["warm"] != "1" || p.spec.Labels["trajectory"] != "" {
			t.Errorf("labels %v", p.spec.Labels)
		}
		if _, took := f.take(t, "c", "x#1"); took != time.Second {
			t.Errorf("another image took %v", took)
		}
		time.Sleep(5 * time.Second)
		if f.Warm() != 2 {
			t.Errorf("%d warm again, want 2", f.Warm())
		}
		if err := f.Give(sb); err != nil {
			t.Error(err)
		}
		f.yard.count(-1) // x#1 is never given back
		f.end(t)
	})
}

// With nothing wanted nothing is warm; what is no longer wanted is closed.
func TestOnlyWhatIsWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 2, 0)
		f.Look()
		time.Sleep(5 * time.Second)
		if f.yard.peak() != 0 {
			t.Error("opened what nobody wants")
		}
		f.wants("a", "a", "a")
		time.Sleep(5 * time.Second)
		f.wants("b", "a")
		time.Sleep(5 * time.Second)
		if f.Warm() != 2 || len(f.yard.said(&f.yard.closed)) != 1 {
			t.Errorf("%d warm, closed %v", f.Warm(), f.yard.said(&f.yard.closed))
		}
		f.wants()
		time.Sleep(5 * time.Second)
		if f.Warm() != 0 {
			t.Errorf("%d warm for nobody", f.Warm())
		}
		f.end(t)
	})
}

// One that is being opened ahead is waited for by whoever wants it, and given up
// where its place is wanted for another. There is room for one.
func TestWhileWarming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 1, 1)
		f.wants("a")
		time.Sleep(600 * time.Millisecond)
		sb, took := f.take(t, "a", "x")
		if took != 400*time.Millisecond {
			t.Errorf("waited %v for it", took)
		}
		if err := f.Give(sb); err != nil {
			t.Error(err)
		}
		time.Sleep(600 * time.Millisecond) // the next one is on its way
		sb, took = f.take(t, "b", "y")
		if took != 100*time.Millisecond+time.Second || f.yard.peak() != 1 {
			t.Errorf("took %v with at most %d open", took, f.yard.peak())
		}
		if err := f.Give(sb); err != nil {
			t.Error(err)
		}
		f.wants("a")
		time.Sleep(5 * time.Second) // now it is warm
		sb, took = f.take(t, "b", "z")
		if took != 2*time.Second || f.yard.peak() != 1 {
			t.Errorf("took %v with at most %d open", took, f.yard.peak())
		}
		_ = f.Give(sb)
		f.end(t)
	})
}

// A warm sandbox that died is replaced; one that cannot be opened is left to
// whoever asks, and not tried again and again.
func TestDeadAndFailing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 1, 0)
		f.wants("a")
		time.Sleep(5 * time.Second)
		f.locked(func() { f.warm[0].sb.(*plot).dead = true })
		f.wants()
		sb, took := f.take(t, "a", "x")
		if took != 2*time.Second { // the dead one is closed first
			t.Errorf("took %v", took)
		}
		_ = f.Give(sb)
		f.yard.breaks(errors.New("no such image"))
		f.wants("b", "b")
		time.Sleep(time.Minute)
		if n := len(f.yard.said(&f.yard.names)); n != 2 || f.Warm() != 0 {
			t.Errorf("%d opened, %d warm", n, f.Warm())
		}
		if _, err := f.Open(t.Context(), f.yard, spec("b", "y")); err == nil || err.Error() != "no such image" {
			t.Error(err)
		}
		f.yard.breaks(nil)
		sb, _ = f.take(t, "b", "z")
		time.Sleep(5 * time.Second)
		if f.Warm() != 1 {
			t.Error("not warm again after one was opened")
		}
		_ = f.Give(sb)
		f.end(t)
		if _, err := f.Open(t.Context(), f.yard, spec("b", "y")); err == nil {
			t.Error("opened after Close")
		}
	})
}

// A lowered limit closes what is warm.
func TestTrim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 3, 4)
		f.wants("a", "a", "a")
		sb, _ := f.take(t, "b", "x")
		time.Sleep(9 * time.Second)
		if f.yard.live() != 4 {
			t.Errorf("%d open", f.yard.live())
		}
		f.room.Store(2)
		f.Trim()
		if f.yard.live() != 2 || f.Warm() != 1 {
			t.Errorf("%d open, %d warm", f.yard.live(), f.Warm())
		}
		_ = f.Give(sb)
		f.end(t)
	})
}

// Whatever users do, there are never more than there is room for, and nothing is
// left. Users are no more than there is room for either: the dispatcher's part.
func TestNeverTooMany(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 5))
			room := 1 + rng.IntN(4)
			f := newField(t, 1+rng.IntN(4), room)
			var wg sync.WaitGroup
			for u := range room {
				seed := rng.Uint64()
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(seed, uint64(u)))
					for range 30 {
						f.wants([][]string{{"a", "b", "a"}, {"b"}, nil}[rng.IntN(3)]...)
						time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.IntN(4000))*time.Millisecond)
						sb, err := f.Open(ctx, f.yard, spec([]string{"a", "b"}[rng.IntN(2)], "x"))
						cancel()
						if err != nil {
							if !errors.Is(err, context.DeadlineExceeded) {
								t.Error(err)
							}
							continue
						}
						time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
						_ = f.Give(sb)
					}
				})
			}
			wg.Wait()
			f.end(t)
			if f.yard.peak() > room {
				t.Errorf("seed %d: %d open, room for %d", seed, f.yard.peak(), room)
			}
		})
	}
}

// A sandbox is claimed for exactly the environment that it was opened with.
func TestShapesOfEnvironments(t *testing.T) {
	one := shapeOf(sandbox.Docker, sandbox.Spec{Env: map[string]string{"A": "1 B:2"}})
	two := shapeOf(sandbox.Docker, sandbox.Spec{Env: map[string]string{"A": "1", "B": "2"}})
	if one == two {
		t.Errorf("both are %s", one)
	}
}

// Nor for other companions, whatever the rest of it; equal keys are equal companions.
func TestShapesOfCompanions(t *testing.T) {
	of := func(b *sandbox.Beside) shape { return shapeOf(sandbox.Docker, sandbox.Spec{Beside: b}) }
	if of(nil) == of(&sandbox.Beside{Key: "a"}) || of(&sandbox.Beside{Key: "a"}) == of(&sandbox.Beside{Key: "b"}) {
		t.Error("different companions are alike")
	}
	if of(&sandbox.Beside{Key: "a"}) != of(&sandbox.Beside{Key: "a"}) {
		t.Error("equal companions are not alike")
	}
}
