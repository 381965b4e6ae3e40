package export

import (
	"math"

	"rollbench/sessions"
)

// reply is a turn of the record: one that was not superseded.
type reply struct {
	*sessions.Turn
	logprobs []float64 // nil when a row may not show them
	picked   bool      // sampled, but chosen by a person
	parents  bool      // before a fork: it is of the parent's record
}

// repliesOf the latest attempt, with what is true of them counted.
func repliesOf(c chosen, turns []sessions.Turn, sum *Summary) []reply {
	list := make([]reply, 0, len(turns))
	for i := range turns {
		t := &turns[i]
		if t.Superseded {
			sum.Superseded++
			continue
		}
		r := reply{t, logprobs(t), picked(t, c.did), t.Origin != nil}
		list = append(list, r)
		if r.empty() {
			sum.NoOutput++
			continue
		}
		for _, c := range []struct {
			n  *int
			is bool
		}{
			{&sum.TextOnly, t.OutputIDs == nil},
			{&sum.NoLogprobs, r.logprobs == nil},
			{&sum.Operator, t.Source == sessions.FromOperator},
			{&sum.Picked, r.picked},
			{&sum.Parents, r.parents},
		} {
			if c.is {
				*c.n++
			}
		}
	}
	return list
}

// empty says that the endpoint reported a reply without a single token.
func (r reply) empty() bool { return r.OutputIDs != nil && len(r.OutputIDs) == 0 }

// trains says that the policy sampled the reply in this trajectory, and nobody chose
// it for it.
func (r reply) trains() bool { return r.Source == sessions.FromModel && !r.picked && !r.parents }

// logprobs of a sampled reply; nil for text a person made, without the ids that
// they belong to, and when a value is no finite number, which JSON could not hold.
func logprobs(t *sessions.Turn) []float64 {
	if t.Source != sessions.FromModel || t.OutputIDs == nil {
		return nil
	}
	for _, v := range t.Logprobs {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	}
	return t.Logprobs
}

// commonPrefix is how many tokens two arrays begin with alike. Prompts that
// extend one another share memory (sessions.Reader), which needs no look.
func commonPrefix(a, b []int32) int {
	n := min(len(a), len(b))
	if n > 0 && &a[0] == &b[0] {
		return n
	}
	a, b = a[:n], b[:n]
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
