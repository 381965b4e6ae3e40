package stats

import (
	"math"
	"testing"
)

// By hand: 1 − C(n−c, k)/C(n, k).
func TestPass(t *testing.T) {
	for _, c := range []struct {
		n, c, k int
		want    float64
	}{
		{4, 1, 1, 0.25},
		{4, 1, 2, 0.5},          // 1 − 3/6
		{4, 2, 2, 5.0 / 6},      // 1 − 1/6
		{4, 3, 2, 1},            // two of them cannot both miss
		{4, 0, 4, 0},            //
		{8, 2, 4, 1 - 15./70},   // C(6,4) of C(8,4)
		{10, 3, 5, 1 - 21./252}, // C(7,5) of C(10,5)
		{1, 1, 1, 1},
	} {
		if got := Pass(c.n, c.c, c.k); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("pass@%d of %d of %d is %v, want %v", c.k, c.c, c.n, got, c.want)
		}
	}
}
