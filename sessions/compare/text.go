package compare

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Numbers are all that was measured in the order of a table: the reward, pass@k, then
// what trajectories used.
func (r *Report) Numbers() []Metric {
	rows := slices.Clone(r.Metrics[:min(1, len(r.Metrics))])
	for _, p := range r.Pass {
		rows = append(rows, Metric{"pass@" + strconv.Itoa(p.K), p.A, p.B, p.Diff})
	}
	return append(rows, r.Metrics[len(rows)-len(r.Pass):]...)
}

// LeftOut says why rewards do not count, and of how many trajectories each; "" for none.
func (c Counted) LeftOut() string {
	var parts []string
	for _, why := range []string{Unfinished, NoReward, NoTurn, Intervened, Dropped, Forked} {
		if n := c.Left[why]; n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+strings.ReplaceAll(why, "_", " "))
		}
	}
	return strings.Join(parts, ", ")
}

// Text is the mean ± its error, a dash for none. Where nothing varied the error is
// left away: it would read as certainty.
func (e Estimate) Text() string {
	if e.Mean == nil {
		return "–"
	}
	digits := digitsOf(*e.Mean)
	text := number(*e.Mean, digits)
	if e.SE != nil && *e.SE > 0 {
		text += " ± " + number(*e.SE, digits)
	}
	return text
}

// Interval is "low … high", with a star where it does not hold 0; a dash for none.
func (e Estimate) Interval() string {
	if e.Low == nil {
		return "–"
	}
	text := Signed(*e.Low) + " … " + Signed(*e.High)
	if e.Apart() {
		text += " *"
	}
	return text
}

// Signed is a difference: +0.090, −3.25, 0.000.
func Signed(v float64) string {
	if v > 0 {
		return "+" + number(v, digitsOf(v))
	}
	return number(v, digitsOf(v))
}

// digitsOf are the decimals with which about three digits of a number are shown.
func digitsOf(v float64) int {
	switch size := math.Abs(v); {
	case size >= 100:
		return 0
	case size >= 10:
		return 1
	case size >= 1:
		return 2
	}
	return 3
}

func number(v float64, digits int) string {
	return strings.Replace(strconv.FormatFloat(v, 'f', digits, 64), "-", "−", 1)
}
