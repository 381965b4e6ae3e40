package simulated

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func text(weight float64, s string) candidate {
	return candidate{weight, append(appendText(nil, s, replyMarker), idEnd)}
}

func seeded(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 7)) }

func equal(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

// leaves are all replies that can be sampled, with the product of their
// tokens' probabilities.
func leaves(candidates []candidate, set sampling) map[string]float64 {
	out := map[string]float64{}
	var walk func(alive []candidate, at int, p float64)
	walk = func(alive []candidate, at int, p float64) {
		next := map[int32]float64{}
		for _, c := range alive {
			next[c.ids[at]] += c.weight
		}
		var list []choiceOf
		for id, w := range next {
			list = append(list, choiceOf{id, w})
		}
		for _, n := range set.apply(list) {
			var rest []candidate
			for _, c := range alive {
				if c.ids[at] == n.id {
					rest = append(rest, c)
				}
			}
			if n.id == idEnd {
				out[decode(rest[0].ids)] += p * n.p
			} else {
				walk(rest, at+1, p*n.p)
			}
		}
	}
	walk(candidates, 0, 1)
	return out
}

// The tree of ab (0.5), ac (0.3) and d (0.2), worked out by hand:
// P(a) = 0.8, P(b|a) = 0.5/0.8 = 0.625.
func TestSmallTree(t *testing.T) {
	tree := []candidate{text(0.5, "ab"), text(0.3, "ac"), text(0.2, "d")}
	half := 1 / (1 + math.Sqrt(0.6)) // √0.625 / (√0.625 + √0.375)
	cases := []struct {
		name string
		set  sampling
		want map[string][]float64 // probabilities of the tokens before the end
	}{
		{"as it is", sampling{temperature: 1, topP: 1}, map[string][]float64{"ab": {0.8, 0.625}, "ac": {0.8, 0.375}, "d": {0.2}}},
		// √0.8 = 2·√0.2, so 2/3 and 1/3.
		{"temperature 2", sampling{temperature: 2, topP: 1}, map[string][]float64{"ab": {2.0 / 3, half}, "ac": {2.0 / 3, 1 - half}, "d": {1.0 / 3}}},
		// 0.64/0.68 and 0.04/0.68; 25/34 and 9/34.
		{"temperature 1/2", sampling{temperature: 0.5, topP: 1}, map[string][]float64{"ab": {16.0 / 17, 25.0 / 34}, "ac": {16.0 / 17, 9.0 / 34}, "d": {1.0 / 17}}},
		{"greedy", sampling{temperature: 0, topP: 1}, map[string][]float64{"ab": {1, 1}}},
		// 0.8 ≥ 0.7 keeps a alone; 0.625 < 0.7 keeps both after it.
		{"top-p 0.7", sampling{temperature: 1, topP: 0.7}, map[string][]float64{"ab": {1, 0.625}, "ac": {1, 0.375}}},
		{"top-p 0.6", sampling{temperature: 1, topP: 0.6}, map[string][]float64{"ab": {1, 1}}},
		{"top-p 0.9", sampling{temperature: 1, topP: 0.9}, map[string][]float64{"ab": {0.8, 0.625}, "ac": {0.8, 0.375}, "d": {0.2}}},
		{"top-k 1", sampling{temperature: 1, topP: 1, topK: 1}, map[string][]float64{"ab": {1, 1}}},
		// 0.2 < 0.3·0.8, but 0.375 ≥ 0.3·0.625.
		{"min-p 0.3", sampling{temperature: 1, topP: 1, minP: 0.3}, map[string][]float64{"ab": {1, 0.625}, "ac": {1, 0.375}}},
		{"tiny temperature", sampling{temperature: 1e-6, topP: 1}, map[string][]float64{"ab": {1, 1}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			const draws = 20000
			rng, count := seeded(1), map[string]int{}
			for range draws {
				ids, logs := sample(tree, c.set, rng, 0)
				reply := decode(ids[:len(ids)-1])
				count[reply]++
				want, ok := c.want[reply]
				if !ok || len(logs) != len(want)+1 || ids[len(ids)-1] != idEnd || logs[len(want)] != 0 {
					t.Fatalf("reply %q with logprobs %v", reply, logs)
				}
				for i, p := range want {
					if !equal(logs[i], math.Log(p)) {
						t.Fatalf("reply %q: logprob %v of token %d, want ln %v", reply, logs[i], i, p)
					}
				}
			}
			for reply, want := range c.want {
				p := 1.0
				for _, q := range want {
					p *= q
				}
				// Four standard deviations of a binomial count.
				if d := math.Abs(float64(count[reply]) - p*draws); d > 4*math.Sqrt(draws*p*(1-p))+1e-9 {
					t.Errorf("reply %q came %d times in %d, want about %.0f", reply, count[reply], draws, p*draws)
				}
			}
		})
	}
}

// Two replies of the same text are one: their weights add up.
func TestSameTextTwice(t *testing.T) {
	got := leaves([]candidate{text(1, "x"), text(2, "x"), text(1, "y")}, sampling{temperature: 1, topP: 1})
	if !equal(got["x<|im_end|>"], 0.75) || !equal(got["y<|im_end|>"], 0.25) {
		t.Errorf("got %v", got)
	}
}

func TestCutReply(t *testing.T) {
	ids, logs := sample([]candidate{text(1, "abcdef")}, sampling{temperature: 1, topP: 1}, seeded(1), 3)
	if decode(ids) != "abc" || len(logs) != 3 {
		t.Errorf("got %q, %v", decode(ids), logs)
	}
}

// Over all replies of the real policy the probabilities sum to 1, at any
// setting, and at temperature 1 a reply's is the weight the policy gave it.
func TestPolicySumsToOne(t *testing.T) {
	_, task := newWorld(2)
	for _, session := range []string{"a", "b", "c"} {
		for _, set := range []sampling{{temperature: 1, topP: 1}, {temperature: 0.7, topP: 1}, {temperature: 1.5, topP: 0.9, minP: 0.01}} {
			c := conversation{task: "fix it"}
			c.readTools(mustSystem(t))
			s := readState(c, &task)
			s.looks = len(session)
			list := DefaultBehaviour.candidates(s)
			sum, all := 0.0, leaves(list, set)
			for _, p := range all {
				sum += p
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Errorf("%+v: sum %v", set, sum)
			}
			if set == (sampling{temperature: 1, topP: 1}) {
				weights := map[string]float64{}
				for _, cand := range list {
					weights[decode(cand.ids)] += cand.weight
				}
				for reply, w := range weights {
					if math.Abs(all[reply]-w) > 1e-9 {
						t.Fatalf("reply %q: %v, the policy's weight is %v", reply, all[reply], w)
					}
				}
			}
			rng := seeded(3)
			for range 50 {
				ids, logs := sample(list, set, rng, 0)
				total := 0.0
				for _, l := range logs {
					total += l
				}
				if p := all[decode(ids)]; math.Abs(math.Exp(total)-p) > 1e-9 {
					t.Fatalf("reply %q: exp of its logprobs is %v, its probability %v", decode(ids), math.Exp(total), p)
				}
			}
		}
	}
}

func mustSystem(t testing.TB) string {
	t.Helper()
	text, err := systemText("You solve issues.", toolsJSON)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func BenchmarkSample30k(b *testing.B) {
	_, task := newWorld(2)
	s := &Server{opt: Options{}.withDefaults(), known: map[string]Task{"s": task}}
	long := make([]byte, 30000)
	for i := range long {
		long[i] = 'a' + byte(i%26)
	}
	prompt, err := render([]message{{Role: "user", Content: content(long)}}, toolsJSON, true)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		out := s.sample(job{settings: &settings{}, form: chatForm, prompt: prompt}, "s", 4000)
		_ = fmt.Sprint(len(out.ids))
	}
}
