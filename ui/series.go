package ui

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"rollbench/engine"
)

// series is the run's time series made ready to be drawn. It is never changed
// once it is made.
type series struct {
	points []engine.Point
	at     []time.Duration // of each point on the axis
	end    time.Duration   // of the axis
	usual  time.Duration   // between two points
	breaks []time.Duration // on the axis: where the engine was away
	away   time.Duration   // in all; the axis leaves it out
}

// breakAfter is how long there is no point before the axis leaves the time out.
const breakAfter = time.Minute

// readSeries decodes the points of a session, oldest first; nil when there is none.
func readSeries(data []json.RawMessage) (*series, error) {
	points, err := engine.Points(data)
	if err != nil {
		return nil, err
	}
	return newSeries(points), nil
}

func newSeries(points []engine.Point) *series {
	if len(points) == 0 {
		return nil
	}
	steps := make([]time.Duration, 0, len(points))
	for i := 1; i < len(points); i++ {
		steps = append(steps, max(points[i].At.Sub(points[i-1].At), 0)) // a clock may be set back
	}
	s := &series{points: points, at: make([]time.Duration, len(points)), usual: time.Second}
	if len(steps) > 0 {
		sorted := slices.Sorted(slices.Values(steps))
		s.usual = max(sorted[len(sorted)/2], time.Millisecond)
	}
	for i, step := range steps {
		if step > max(breakAfter, s.stands()) {
			s.away += step - s.usual
			step = s.usual
			s.breaks = append(s.breaks, s.at[i]+step)
		}
		s.at[i+1] = s.at[i] + step
	}
	s.end = s.at[len(points)-1] + s.usual
	return s
}

// stands is how long a point stands for the time after it, at most.
func (s *series) stands() time.Duration { return 3 * s.usual }

// quantity of a point; false where it was not known.
type quantity func(p *engine.Point) (float64, bool)

// columns are the means of a quantity over w equal pieces of the axis between
// from and to, NaN where nothing is known.
func (s *series) columns(get quantity, from, to time.Duration, w int) []float64 {
	sum, weight := make([]float64, w), make([]float64, w)
	scale := float64(w) / float64(max(to-from, 1))
	first, _ := slices.BinarySearch(s.at, from-s.stands())
	for i := first; i < len(s.points); i++ {
		next := s.end
		if i+1 < len(s.points) {
			next = s.at[i+1]
		}
		v, known := get(&s.points[i])
		if !known {
			continue
		}
		x0 := max(float64(s.at[i]-from)*scale, 0)
		x1 := min(float64(min(next, s.at[i]+s.stands())-from)*scale, float64(w))
		for c := int(x0); float64(c) < x1; c++ {
			over := min(x1, float64(c+1)) - max(x0, float64(c))
			sum[c] += v * over
			weight[c] += over
		}
	}
	for c := range sum {
		if weight[c] < 1e-9 {
			sum[c] = math.NaN()
		} else {
			sum[c] /= weight[c]
		}
	}
	return sum
}

// peak is the largest value of a quantity, and the last one that is known.
func (s *series) peak(get quantity) (peak, last float64, known bool) {
	for i := range s.points {
		if v, ok := get(&s.points[i]); ok {
			if !known || v > peak {
				peak = v
			}
			last, known = v, true
		}
	}
	return peak, last, known
}

var blocks = []rune(" ▁▂▃▄▅▆▇█")

// bars draws columns over h rows, top row first; full is the value that fills
// them. A zero is a faint line, anything above it is higher, and where nothing
// is known there is nothing.
func bars(columns []float64, full float64, h int) []line {
	rows := make([]line, h)
	for i := range rows {
		below := 8 * (h - 1 - i) // eighths in the rows under this one
		var text strings.Builder
		r := live
		for _, v := range columns {
			cell, as := ' ', r
			switch high := eighths(v, full, h); {
			case high == 0 && below == 0:
				cell, as = blocks[1], dim
			case high > below:
				cell, as = blocks[min(high-below, 8)], live
			}
			if as != r {
				rows[i].add(r, text.String())
				text.Reset()
				r = as
			}
			text.WriteRune(cell)
		}
		rows[i].add(r, text.String())
	}
	return rows
}

// eighths is the height of a value in eighths of a row, -1 where it is not known.
func eighths(v, full float64, h int) int {
	switch {
	case math.IsNaN(v):
		return -1
	case v <= 0:
		return 0
	case full <= 0:
		return 8 * h
	}
	return min(max(int(v/full*float64(8*h)+0.5), 2), 8*h)
}

// sparkFor is how far the sparkline of the head goes back.
const sparkFor = 10 * time.Minute

// spark is the run slots in use in the last minutes, n cells and a label wide.
func (s *series) spark(n int) line {
	if s == nil || len(s.points) < 2 {
		return nil
	}
	get := func(p *engine.Point) (float64, bool) { return float64(p.Busy[1]), true }
	peak, _, _ := s.peak(func(p *engine.Point) (float64, bool) { return float64(max(p.Busy[1], p.Limit[1])), true })
	from := max(s.end-sparkFor, 0)
	l := line{{dim, fmt.Sprintf("run slots %s ", age(s.end-from))}}
	return append(l, bars(s.columns(get, from, s.end, n), peak, 1)[0]...)
}
