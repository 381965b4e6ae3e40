package compare

import "math"

// Estimate is a mean over instances, with how well it is known: the instances are
// taken as a sample of those there could be.
type Estimate struct {
	N    int      `json:"instances"`
	Mean *float64 `json:"mean"` // nil of none
	// SE is the standard error (sample deviation / √N), nil of fewer than two.
	SE *float64 `json:"standard_error"`
	// Low and High bound the mean with 95 % confidence (Student's t). They are nil
	// where the values do not vary, which says nothing of how they would.
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
}

// estimate the mean of values.
func estimate(values []float64) Estimate {
	n := len(values)
	e := Estimate{N: n}
	if n == 0 {
		return e
	}
	var sum, squares float64
	for _, v := range values {
		sum += v
	}
	mean := sum / float64(n)
	e.Mean = &mean
	if n < 2 {
		return e
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	se := math.Sqrt(squares / float64(n-1) / float64(n))
	e.SE = &se
	if se > 1e-12*math.Abs(mean) { // else it is what rounding left
		low, high := mean-student(n-1)*se, mean+student(n-1)*se
		e.Low, e.High = &low, &high
	}
	return e
}

// Apart reports whether a difference is known not to be 0, with 95 % confidence.
func (e Estimate) Apart() bool { return e.Low != nil && (*e.Low > 0 || *e.High < 0) }

// students are the 0.975 quantiles of Student's t with 1 … 30 degrees of freedom.
var students = [...]float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
	2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042}

// student is the 0.975 quantile with so many degrees of freedom: above 30 by the
// series in their reciprocal (Abramowitz and Stegun 26.7.5), right in the third place.
func student(freedom int) float64 {
	if freedom <= len(students) {
		return students[freedom-1]
	}
	const z = 1.959964
	n := float64(freedom)
	return z + (z*z*z+z)/(4*n) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*n*n)
}
