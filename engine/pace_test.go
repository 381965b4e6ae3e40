package engine

import (
	"fmt"
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	every := func(from, step, n int) (list []int) {
		for i := range n {
			list = append(list, from+i*step)
		}
		return list
	}
	for _, c := range []struct {
		name string
		ends []int // seconds after the start
		now  int
		n    int
		span time.Duration
		rate float64 // a minute
	}{
		{"nothing yet", nil, 120, 0, 2 * time.Minute, 0},
		{"a young run", every(0, 20, 6), 120, 6, 2 * time.Minute, 3},
		{"no time yet", []int{0}, 0, 1, 0, 0},
		{"the last five minutes", every(10, 10, 60), 600, 31, 5 * time.Minute, 6.2},
		// Ends at 100, 200 … 2000: in the last 300 s (1750–2050) three, so the pace is
		// that of the eight since the one at 1200.
		{"seldom", every(100, 100, 20), 2050, 8, 850 * time.Second, 8 * 60.0 / 850},
		{"few in all", []int{100, 400, 900}, 1200, 3, 20 * time.Minute, 0.15},
		// Nothing for an hour after a burst of 20 in the first minutes: eight since the
		// last but eight, at 110 s, in 3500 s.
		{"it slowed down", every(0, 10, 20), 3610, 8, 3500 * time.Second, 8 * 60.0 / 3500},
	} {
		p := &pace{}
		for _, s := range c.ends {
			p.mark(at(s), false)
		}
		p.mark(at(c.now), true) // a person's cancel is no pace
		n, span := p.recent(at(c.now), start)
		if rate := perMinute(n, span); n != c.n || span != c.span || rate != c.rate {
			t.Errorf("%s: %d in %v, %v a minute", c.name, n, span, rate)
		}
		if p.ended() != len(c.ends)+1 {
			t.Errorf("%s: %d ended", c.name, p.ended())
		}
	}
}

// What is remembered of the ends is bounded.
func TestPaceIsBounded(t *testing.T) {
	p, start := &pace{}, time.Unix(1000, 0)
	for i := range 3 * paceMarks {
		p.mark(start.Add(time.Duration(i)*time.Millisecond), false)
	}
	if len(p.marks) > paceMarks || p.ended() != 3*paceMarks {
		t.Errorf("%d marks of %d ends", len(p.marks), p.ended())
	}
}

// Worked out by hand: eta = span·left/n, s = √(1/n + 1/left), from eta/(1+s) to
// eta/(1−s).
func TestForecast(t *testing.T) {
	for _, c := range []struct {
		left, n int
		span    time.Duration
		want    string
	}{
		{8, 8, 5 * time.Minute, "5m0s 3m20s 10m0s"},      // s = 1/2
		{72, 9, 5 * time.Minute, "40m0s 29m33s 1h1m53s"}, // s = √(1/9 + 1/72) = 0.35355
		{32, 32, 4 * time.Minute, "4m0s 3m12s 5m20s"},    // s = 1/4
		{4, 4, time.Minute, "1m0s 35s 3m25s"},            // s = 0.70711
		{1, 50, 100 * time.Second, "2s 1s –"},            // the last one: s > 1
		{2, 2, time.Minute, "nothing is known"},          // two are no pace
		{0, 50, time.Minute, "nothing is known"},         // none is left, or all are held
		{-1, 50, time.Minute, "nothing is known"},
		{5, 50, time.Millisecond, "nothing is known"},
	} {
		got := "nothing is known"
		if f := Foresee(c.left, c.n, c.span); f != nil {
			high := "–"
			if f.High != nil {
				high = f.High.Round(time.Second).String()
			}
			got = fmt.Sprint(f.ETA.Round(time.Second), " ", f.Low.Round(time.Second), " ", high)
		}
		if got != c.want {
			t.Errorf("%d left, %d in %v: %s, want %s", c.left, c.n, c.span, got, c.want)
		}
	}
}
