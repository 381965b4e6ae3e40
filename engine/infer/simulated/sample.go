package simulated

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// candidate is one reply that the policy could give now, ending with idEnd.
type candidate struct {
	weight float64
	ids    []int32
}

// sampling settings of a request, resolved.
type sampling struct {
	temperature float64
	topP        float64
	topK        int // 0: off
	minP        float64
}

// choiceOf is a possible next token with its probability.
type choiceOf struct {
	id int32
	p  float64
}

// sample walks the tree of all candidates token by token. A token's
// probability is the weight of the candidates that go on with it over the
// weight of those still possible, then temperature and the cuts; its logprob
// is the logarithm of that. max > 0 cuts the reply.
func sample(candidates []candidate, set sampling, rng *rand.Rand, max int) (ids []int32, logprobs []float64) {
	alive := slices.Clone(candidates)
	var next []choiceOf
	for at := 0; ; at++ {
		next = next[:0]
		for _, c := range alive {
			id := c.ids[at]
			k := slices.IndexFunc(next, func(n choiceOf) bool { return n.id == id })
			if k < 0 {
				k = len(next)
				next = append(next, choiceOf{id: id})
			}
			next[k].p += c.weight
		}
		chosen := choiceOf{next[0].id, 1}
		if len(next) > 1 {
			chosen = draw(set.apply(next), rng)
			alive = slices.DeleteFunc(alive, func(c candidate) bool { return c.ids[at] != chosen.id })
		}
		ids = append(ids, chosen.id)
		logprobs = append(logprobs, math.Log(chosen.p))
		if chosen.id == idEnd || len(ids) == max {
			return ids, logprobs
		}
	}
}

// apply turns weights into the final distribution, likeliest first. The order
// of the cuts is the usual servers': temperature, min-p, top-k, top-p.
func (s sampling) apply(next []choiceOf) []choiceOf {
	normalise(next)
	slices.SortFunc(next, func(a, b choiceOf) int {
		return cmp.Or(cmp.Compare(b.p, a.p), cmp.Compare(a.id, b.id))
	})
	if s.temperature == 0 {
		next[0].p = 1
		return next[:1]
	}
	if s.temperature != 1 {
		top := next[0].p // kept at 1 so that a small temperature does not underflow all
		for i := range next {
			next[i].p = math.Pow(next[i].p/top, 1/s.temperature)
		}
		normalise(next)
	}
	keep := len(next)
	if s.minP > 0 {
		floor := s.minP * next[0].p
		for keep > 1 && next[keep-1].p < floor {
			keep--
		}
	}
	if s.topK > 0 {
		keep = min(keep, s.topK)
	}
	next = next[:keep]
	if s.topP < 1 {
		normalise(next)
		sum := 0.0
		for i, n := range next {
			sum += n.p
			if sum >= s.topP {
				next = next[:i+1]
				break
			}
		}
	}
	normalise(next)
	return next
}

func normalise(next []choiceOf) {
	sum := 0.0
	for _, n := range next {
		sum += n.p
	}
	for i := range next {
		next[i].p /= sum
	}
}

func draw(next []choiceOf, rng *rand.Rand) choiceOf {
	u := rng.Float64()
	for _, n := range next {
		if u -= n.p; u < 0 {
			return n
		}
	}
	return next[len(next)-1] // rounding left a sliver above the sum
}

// sortCandidates puts them in an order that does not hang on a map's.
func sortCandidates(list []candidate) {
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(slices.Compare(a.ids, b.ids), cmp.Compare(a.weight, b.weight))
	})
}
