package stats

import (
	"math"
	"time"
)

// growth is the width of a bucket: its middle is within 2 % of all it holds.
const growth = 1.04

// histogram of durations in buckets that grow by a constant factor, so that
// its size does not depend on how much it has seen.
type histogram struct {
	counts   []uint32 // by bucket, as far as seen
	n        int
	sum      time.Duration
	min, max time.Duration
}

func (h *histogram) add(d time.Duration) {
	d = max(d, 0)
	if h.n == 0 || d < h.min {
		h.min = d
	}
	h.max = max(h.max, d)
	h.n++
	h.sum += d
	b := bucket(d)
	for len(h.counts) <= b {
		h.counts = append(h.counts, 0)
	}
	h.counts[b]++
}

// bucket of a duration: 0 below 1 µs, else one more for each growth.
func bucket(d time.Duration) int {
	if d < time.Microsecond {
		return 0
	}
	return 1 + int(math.Log(float64(d)/float64(time.Microsecond))/math.Log(growth))
}

// quantile by nearest rank: the middle of the bucket that holds it.
func (h *histogram) quantile(q float64) time.Duration {
	rank := int(math.Ceil(q * float64(h.n)))
	for b, c := range h.counts {
		rank -= int(c)
		if rank > 0 {
			continue
		}
		mid := 0.0
		if b > 0 {
			mid = float64(time.Microsecond) * math.Pow(growth, float64(b)-0.5)
		}
		return min(max(time.Duration(mid), h.min), h.max)
	}
	return h.max
}

func (h *histogram) spread() Spread {
	if h.n == 0 {
		return Spread{}
	}
	return Spread{N: h.n, Mean: h.sum / time.Duration(h.n), P50: h.quantile(0.5), P90: h.quantile(0.9), P99: h.quantile(0.99), Max: h.max}
}
