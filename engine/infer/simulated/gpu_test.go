package simulated

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// bench is a gpu whose clock starts at a fixed moment.
type bench struct {
	gpu
	start time.Time
}

// newBench has a step of 10 ms and 1 ms for each running request, 1000 prompt
// tokens a second and so many blocks.
func newBench(blocks int) *bench {
	b := &bench{start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	b.gpu = gpu{base: 10 * time.Millisecond, each: time.Millisecond, rate: 1000, seats: 10, blocks: blocks, cache: newPrefixes()}
	return b
}

func (b *bench) at(ms int) time.Time { return b.start.Add(time.Duration(ms) * time.Millisecond) }

func (b *bench) submit(ms int, s *sequence) *sequence {
	b.advance(b.at(ms))
	b.waiting = append(b.waiting, s)
	b.interrupt(b.at(ms))
	return s
}

// asks is a request whose tokens are all n.
func asks(n, prompt, reply int) *sequence {
	ids := make([]int32, prompt+reply)
	for i := range ids {
		ids[i] = int32(n)
	}
	return newSequence(fmt.Sprint(n), ids[:prompt], ids[prompt:])
}

// state is running, waiting and used blocks, then tokens made by each.
func (b *bench) state(ms int, of ...*sequence) []int {
	b.advance(b.at(ms))
	out := []int{len(b.running), len(b.waiting), b.used}
	for _, s := range of {
		out = append(out, s.made)
	}
	return out
}

func expect(t *testing.T, when string, got []int, want ...int) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: running, waiting, blocks, made are %v, want %v", when, got, want)
	}
}

// Alone, 100 prompt tokens and 3 of a reply take 100 + 11 ms for the first
// token and 11 ms for each of the others. The second comes within the first
// one's second step (111 to 122 ms), is admitted at its end and computed in a
// step of two: 12 ms and 50 ms.
func TestStepTimes(t *testing.T) {
	b := newBench(100)
	one := b.submit(0, asks(1, 100, 4))
	expect(t, "computing", b.state(110, one), 1, 0, 7, 0)
	expect(t, "first token", b.state(111, one), 1, 0, 7, 1)
	two := b.submit(115, asks(2, 50, 2))
	expect(t, "second waits for the step's end", b.state(121, one, two), 1, 1, 7, 1, 0)
	expect(t, "admitted", b.state(122, one, two), 2, 0, 11, 2, 0)
	expect(t, "both have a token", b.state(184, one, two), 2, 0, 11, 3, 1)
	expect(t, "both are over", b.state(196, one, two), 0, 0, 0, 4, 2)
	if b.generated != 6 || b.prompt != 150 || b.hits != 0 {
		t.Errorf("generated %d, prompt %d, hits %d; want 6, 150, 0", b.generated, b.prompt, b.hits)
	}
	if _, busy := b.next(); busy {
		t.Error("an idle gpu has something to come")
	}
}

// Tokens per second grow with the batch and saturate: n requests give n tokens
// in 10 + n ms.
func TestBatchSaturates(t *testing.T) {
	for _, n := range []int{1, 4, 10} {
		b := newBench(1000)
		b.rate = 0
		for i := range n {
			b.submit(0, asks(i, 16, 1000))
		}
		b.advance(b.at(1000))
		before := b.generated
		b.advance(b.at(1000 + 10*(10+n)))
		if got := b.generated - before; got != int64(10*n) {
			t.Errorf("%d requests: %d tokens in ten steps' time, want %d", n, got, 10*n)
		}
	}
}

// Four blocks. The first two requests take all (32 and 30 tokens); after their
// first token, at 10+2+62 ms, the first needs a third block: the second, admitted
// last, gives its two and goes before the third request, which would fit now.
// When the first has ended, at 74+11+11 ms, both are admitted: 31 and 16 tokens
// are computed in 10+2+47 ms. The rest of the second takes 11+11 ms.
func TestPreemption(t *testing.T) {
	b := newBench(4)
	one, two, three := asks(1, 32, 3), asks(2, 30, 4), asks(3, 16, 1)
	b.waiting = []*sequence{one, two, three}
	b.interrupt(b.at(0))
	expect(t, "two fit", b.state(73, one, two, three), 2, 1, 4, 0, 0, 0)
	expect(t, "one preempted", b.state(74, one, two, three), 1, 2, 3, 1, 1, 0)
	if b.waiting[0] != two || b.preempted != 1 {
		t.Error("the preempted request is not the next one")
	}
	expect(t, "alone", b.state(95, one, two, three), 1, 2, 3, 2, 1, 0)
	expect(t, "both admitted", b.state(96, one, two, three), 2, 0, 3, 3, 1, 0)
	expect(t, "computed", b.state(155, one, two, three), 1, 0, 2, 3, 2, 1)
	expect(t, "a block from the cache", b.state(166, one, two, three), 1, 0, 3, 3, 3, 1)
	expect(t, "all over", b.state(177, one, two, three), 0, 0, 0, 3, 4, 1)
	if b.preempted != 1 || b.generated != 8 || b.prompt != 78 {
		t.Errorf("preempted %d, generated %d, prompt %d; want 1, 8, 78", b.preempted, b.generated, b.prompt)
	}
}

// A session's 50 tokens leave 3 whole blocks; its next prompt of 60 finds 48.
// Of six blocks a stranger then takes 3, so one of the session's four is lost,
// the last: its third prompt finds 48 again instead of 64.
func TestPrefixCache(t *testing.T) {
	b := newBench(6)
	b.submit(0, asks(1, 40, 10))
	again := b.submit(1000, asks(1, 60, 7))
	b.advance(b.at(1022)) // 10 + 1 + 12 ms
	if again.made != 0 || again.cached != 48 {
		t.Errorf("%d tokens after 22 ms, %d found; want 0, 48", again.made, again.cached)
	}
	if b.advance(b.at(1023)); again.made != 1 {
		t.Errorf("%d tokens after 23 ms, want 1", again.made)
	}
	b.submit(2000, asks(2, 48, 1))
	third := b.submit(3000, asks(1, 70, 1))
	b.advance(b.at(4000))
	if third.cached != 48 || b.hits != 96 || b.prompt != 40+60+48+70 {
		t.Errorf("found %d, %d hits of %d; want 48, 96 of 218", third.cached, b.hits, b.prompt)
	}
}

// No seat, and no overtaking: the small third request waits behind the second,
// which is too large for the blocks that are left.
func TestFirstComeFirstServed(t *testing.T) {
	b := newBench(4)
	one := b.submit(0, asks(1, 40, 2))
	two, three := b.submit(1, asks(2, 40, 1)), b.submit(2, asks(3, 1, 1))
	expect(t, "two waits", b.state(51+10, one, two, three), 1, 2, 3, 1, 0, 0)
	b.seats = 1
	expect(t, "no seat for three", b.state(51+11, one, two, three), 1, 1, 3, 2, 0, 0)
}

// An aborted request frees its blocks at once and leaves nothing in the cache.
func TestAbort(t *testing.T) {
	b := newBench(4)
	one, two := b.submit(0, asks(1, 40, 50)), b.submit(0, asks(2, 40, 1))
	b.advance(b.at(60))
	b.abort(one)
	b.interrupt(b.at(60))
	if b.used != 0 || b.cache.blocks != 0 || len(b.running) != 0 {
		t.Errorf("%d blocks, %d cached after the abort", b.used, b.cache.blocks)
	}
	b.advance(b.at(62)) // the step that was in progress ends
	if b.abort(two); b.used != 0 {
		t.Errorf("%d blocks in use", b.used)
	}
}

// Of 11 blocks 4 are left: the second request is preempted, and the third, of
// 5 blocks, is given up.
func TestResize(t *testing.T) {
	b := newBench(11)
	one, two, three := asks(1, 32, 20), asks(2, 32, 20), asks(3, 75, 5)
	b.waiting = []*sequence{one, two, three}
	b.interrupt(b.at(0))
	expect(t, "before", b.state(10+3+64+75, one, two, three), 3, 0, 11, 1, 1, 1)
	b.resize(4*blockSize+5, fmt.Errorf("too long"))
	b.interrupt(b.at(152))
	expect(t, "after", b.state(152, one, two, three), 1, 1, 3, 1, 1, 1)
	if <-three.done; three.err == nil || one.err != nil || two.err != nil || b.preempted != 1 {
		t.Errorf("errors %v, %v, %v; %d preempted", one.err, two.err, three.err, b.preempted)
	}
	b.advance(b.at(5000))
	expect(t, "the end", b.state(5000, one, two), 0, 0, 0, 20, 20)
}

// Random requests, aborts and sizes: blocks add up at all times, every request
// ends, and it makes no difference how often somebody looks.
func TestGPUInvariants(t *testing.T) {
	for seed := range uint64(200) {
		var ends [2][]int
		for k, looks := range []int{1, 40} {
			rng := rand.New(rand.NewPCG(seed, 7))
			b := newBench(8 + rng.IntN(40))
			b.seats = 1 + rng.IntN(8)
			var all []*sequence
			for ms := 0; ms < 20_000; {
				gap := 1 + rng.IntN(300)
				for i := range looks {
					b.advance(b.at(ms + gap*i/looks))
					check(t, b)
				}
				ms += gap
				b.advance(b.at(ms))
				switch {
				case rng.IntN(10) == 0 && len(all) > 0:
					if s := all[rng.IntN(len(all))]; s.made < s.reply && s.err == nil {
						b.abort(s)
						s.err = fmt.Errorf("aborted")
						b.interrupt(b.at(ms))
					}
				case rng.IntN(30) == 0:
					b.resize((8+rng.IntN(40))*blockSize, fmt.Errorf("too long"))
					b.interrupt(b.at(ms))
				default:
					if s := asks(rng.IntN(20), 1+rng.IntN(90), 1+rng.IntN(30)); b.holds(len(s.ids)) {
						all = append(all, b.submit(ms, s))
					}
				}
				check(t, b)
				ends[k] = append(ends[k], b.state(ms, all...)...)
			}
			b.advance(b.at(10_000_000))
			check(t, b)
			for i, s := range all {
				if s.made != s.reply && s.err == nil {
					t.Fatalf("seed %d: request %d has %d of %d tokens", seed, i, s.made, s.reply)
				}
			}
		}
		if !reflect.DeepEqual(ends[0], ends[1]) {
			t.Fatalf("seed %d: looking more often changed what happened", seed)
		}
	}
}

func check(t *testing.T, b *bench) {
	t.Helper()
	held, cached := 0, 0
	for _, s := range b.running {
		held += s.blocks
		if s.blocks < blocks(s.prompt+s.made) {
			t.Fatalf("%d blocks for %d tokens", s.blocks, s.prompt+s.made)
		}
	}
	for e := b.cache.order.Front(); e != nil; e = e.Next() {
		cached += len(e.Value.(*prefix).ids) / blockSize
	}
	for _, s := range b.waiting {
		if s.blocks != 0 {
			t.Fatal("a waiting request holds blocks")
		}
	}
	if held != b.used || cached != b.cache.blocks || held+cached > b.blocks || len(b.running) > b.seats {
		t.Fatalf("%d blocks held (%d counted), %d cached (%d counted) of %d; %d run", held, b.used, cached, b.cache.blocks, b.blocks, len(b.running))
	}
	if len(b.waiting) > 0 && b.steps == 0 {
		t.Fatal("requests wait for nothing")
	}
}
