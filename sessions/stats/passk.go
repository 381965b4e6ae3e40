package stats

// Pass is pass@k of an instance of whose n trajectories c are solved, estimated
// without bias: 1 − C(n−c, k)/C(n, k), as a product so that nothing overflows.
// It needs n ≥ k.
func Pass(n, c, k int) float64 {
	if n-c < k {
		return 1
	}
	fail := 1.0
	for i := n - c + 1; i <= n; i++ {
		fail *= 1 - float64(k)/float64(i)
	}
	return 1 - fail
}
