package engine

import (
	"math"
	"sync"
	"time"
)

// pace is how fast trajectories end.
type pace struct {
	mu    sync.Mutex  // guards marks and n
	marks []time.Time // of the newest ends that say something of the pace, in order
	n     int         // ended, all of them
}

// The pace is that of the last paceWindow; where fewer than paceEnds ended in it, of
// the time since the last but paceEnds: long trajectories end seldom.
const (
	paceWindow = 5 * time.Minute
	paceEnds   = 8
	paceMarks  = 1 << 14 // kept at most
)

// mark an end. One by a person's cancel counts as ended and says nothing of the pace.
func (p *pace) mark(at time.Time, cancelled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	if cancelled {
		return
	}
	p.marks = append(p.marks, at)
	old := max(len(p.marks)-paceMarks, 0)
	for old < len(p.marks)-paceEnds-1 && at.Sub(p.marks[old]) > paceWindow {
		old++
	}
	p.marks = p.marks[old:]
}

func (p *pace) ended() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

// recent is how many ended in the time that the pace is taken from.
func (p *pace) recent(now, start time.Time) (n int, span time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	span = min(now.Sub(start), paceWindow)
	for i := len(p.marks) - 1; i >= 0 && now.Sub(p.marks[i]) <= span; i-- {
		n++
	}
	if n >= paceEnds || now.Sub(start) <= paceWindow {
		return n, span
	}
	if last := len(p.marks) - 1 - paceEnds; last >= 0 { // from one end on, without it
		return paceEnds, now.Sub(p.marks[last])
	}
	return len(p.marks), now.Sub(start)
}

// perMinute at which trajectories end.
func perMinute(n int, span time.Duration) float64 {
	if span < time.Second {
		return 0
	}
	return float64(n) / span.Minutes()
}

// fewest trajectories that must have ended before an ETA means something.
const fewest = 3

// Forecast is when the trajectories that go on will have ended, should the pace
// stay. Low and High are one standard deviation of the counts away from it.
type Forecast struct {
	ETA time.Duration `json:"eta_ns"`
	Low time.Duration `json:"low_ns"`
	// High is absent where so few have ended that nothing bounds it.
	High *time.Duration `json:"high_ns"`
}

// Foresee left ends from n ends in a span, nil while too few have ended. Ends
// come as in a Poisson process: n vary by √n, and so do those that are left.
func Foresee(left, n int, span time.Duration) *Forecast {
	if left <= 0 || n < fewest || span < time.Second {
		return nil
	}
	eta := float64(span) * float64(left) / float64(n)
	s := math.Sqrt(1/float64(n) + 1/float64(left))
	f := &Forecast{ETA: time.Duration(eta), Low: time.Duration(eta / (1 + s))}
	if s < 1 {
		high := time.Duration(min(eta/(1-s), math.MaxInt64/2))
		f.High = &high
	}
	return f
}
