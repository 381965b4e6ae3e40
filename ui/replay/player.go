package replay

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"rollbench/sessions"
)

// page is how many events are read from the recording at once.
const page = 2000

// Max is the speed of a replay that goes on as soon as what it showed was read.
var Max = math.Inf(1)

// The slowest and the fastest speed that has a number.
const (
	Slowest = 0.1
	Fastest = 1000
)

// speeds are those that Slower and Faster go through.
var speeds = []float64{Slowest, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, Fastest, Max}

// burst is how many events Max reveals at a time.
const burst = 1500

// Position is where a replay is.
type Position struct {
	At, Length time.Duration
	Now        time.Time // the run's clock
	Speed      float64   // Max: as fast as it is read
	Paused     bool
	Over       bool   // at the end of the recording
	Parts      []Part // of the run, the first one too
}

// Player is a recording that is revealed as its clock moves on. It is a
// sessions.Reader; its other methods return at once, and what they change is
// seen by the next read.
type Player struct {
	src  sessions.Reader
	line *timeline
	sessions.Hub

	mu     sync.Mutex // guards those below
	base   time.Duration
	anchor time.Time // wall time at which the position was base
	speed  float64
	paused bool

	changed chan struct{} // capacity one: the pacer looks anew
	stop    context.CancelFunc
	pacer   sync.WaitGroup
	once    sync.Once
	err     error // of Close

	reading sync.Mutex // guards past: one reduction at a time
	past    *past
}

var _ sessions.Reader = (*Player)(nil)

// Open a recording at a position, at a speed; it takes over r. What is
// recorded after this moment is not part of it.
func Open(ctx context.Context, r sessions.Reader, from time.Duration, speed float64) (*Player, error) {
	line, err := readTimeline(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("read the events to replay: %w", err)
	}
	if from > line.length() {
		return nil, fmt.Errorf("the recording is %s long, and %s is behind its end", line.length().Round(time.Second), from)
	}
	past, err := newPast(ctx, r)
	if err != nil {
		return nil, err
	}
	p := &Player{src: r, line: line, base: from, anchor: time.Now(), speed: speed, changed: make(chan struct{}, 1), past: past}
	pacing, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	p.pacer.Go(func() { p.pace(pacing) })
	return p, nil
}

// Close ends the replay and closes the recording.
func (p *Player) Close() error {
	p.once.Do(func() {
		p.stop()
		p.pacer.Wait()
		p.err = p.src.Close()
	})
	return p.err
}

// at is the position; it needs mu.
func (p *Player) at() time.Duration {
	pos := p.base
	if !p.paused && p.speed != Max {
		pos += time.Duration(p.speed * float64(time.Since(p.anchor)))
	}
	return min(max(pos, 0), p.line.length())
}

// moveTo a position; it needs mu.
func (p *Player) moveTo(pos time.Duration) {
	p.base, p.anchor = min(max(pos, 0), p.line.length()), time.Now()
}

// Position of the replay.
func (p *Player) Position() Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	pos := p.at()
	return Position{At: pos, Length: p.line.length(), Now: p.line.clock(pos, p.line.upTo(pos)), Speed: p.speed, Paused: p.paused,
		Over: pos >= p.line.length(), Parts: p.line.parts}
}

// Now is the run's clock.
func (p *Player) Now() time.Time { return p.Position().Now }

// Faster and Slower go to the next speed; what they answer is in force.
func (p *Player) Faster() float64 { return p.pick(1) }

// Slower is the other way.
func (p *Player) Slower() float64 { return p.pick(-1) }

func (p *Player) pick(by int) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moveTo(p.at())
	p.speed = next(p.speed, by)
	p.tell()
	return p.speed
}

// next speed after one, which need not be among them.
func next(speed float64, by int) float64 {
	if by > 0 {
		for _, s := range speeds {
			if s > speed {
				return s
			}
		}
		return Max
	}
	for i := len(speeds) - 1; i >= 0; i-- {
		if speeds[i] < speed {
			return speeds[i]
		}
	}
	return Slowest
}

// Pause stops the clock, or lets it go on; it says whether it stands.
func (p *Player) Pause() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moveTo(p.at())
	p.paused = !p.paused
	p.tell()
	return p.paused
}

// Skip a while of the run, back where it is negative.
func (p *Player) Skip(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moveTo(p.at() + by)
	p.tell()
}

// tell the pacer that something is otherwise.
func (p *Player) tell() {
	select {
	case p.changed <- struct{}{}:
	default: // it will look anyway
	}
}

// pace wakes the readers whenever there are events they have not been woken for.
func (p *Player) pace(ctx context.Context) {
	told := -1
	for {
		n, wait := p.due()
		if n != told {
			told = n
			p.Notify()
		}
		var timer <-chan time.Time
		if wait >= 0 {
			timer = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-timer:
		case <-p.changed:
			told = -1
		}
	}
}

// due is how many events have happened, and when the next one does: never
// (negative) while it is paused or over, or at Max, where reading moves it.
func (p *Player) due() (int, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pos := p.at()
	n := p.line.upTo(pos)
	if p.paused || p.speed == Max || n == len(p.line.at) {
		return n, -1
	}
	return n, time.Duration(math.Ceil(float64(p.line.at[n]-pos) / p.speed))
}

// reach is how many events a read may show. At Max it moves on.
func (p *Player) reach() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.speed == Max && !p.paused {
		n := p.line.upTo(p.base)
		if last := len(p.line.at); n < last {
			p.moveTo(p.line.at[min(n+burst, last)-1])
			p.tell()
		}
	}
	return p.line.upTo(p.at())
}
