package dispatch

import (
	"fmt"
	"math"
)

// Load is one look at the endpoint and at the run stage. NaN: not known.
type Load struct {
	Seconds     float64 // of any steady clock
	Busy        int     // run slots in use
	Waiting     int     // trajectories that wait for a run slot
	Done        float64 // trajectories that have left their run stage, a counter
	Running     float64 // requests that the endpoint works on
	Queued      float64 // requests that wait at the endpoint
	KVUse       float64 // 0..1, of running requests
	Preemptions float64 // a counter
	Tokens      float64 // generated per second
}

// Adaptive finds the run limit with the highest throughput from what the
// endpoint shows. It has no clock; give it a look each second or two. Zero
// values of the settings take the defaults in brackets.
//
// More trajectories at once make a larger batch, until their contexts no longer
// fit: then the prefix cache loses what their next turns need, requests queue,
// and at last running ones are preempted. Where the loss outweighs the gain
// hangs on the server and the tools: the best limit may have a KV use of a
// third or a full cache and a queue. So:
//
//   - While trajectories wait for a slot and KV use is below High, the limit
//     climbs by a step; the step is kept when tokens per second grew by a share
//     of it, else it is taken back. Below Low a step is given a part of a
//     generation, from there on nearly two.
//   - Where no step up helps, one down is tried. Between limits that were worse
//     it rests, longer each time, and looks above and below in turn; at once
//     when KV use has changed.
//   - Requests that queue trim it softly, to where half a batch waits.
//   - Preempted requests, or a queue at a limit that was not reached from below,
//     cut it hard, to less than what fits: it then climbs. From above the best
//     limit cannot be seen, since a lost cache is not won back by a little less.
//
// A generation is the time that a trajectory spends in its run stage: a step
// shows fully when the contexts of that many have grown up. Nothing running is
// stopped, so a lowered limit takes as long to show as trajectories to end.
type Adaptive struct {
	Min, Max  int     // bounds of the limit [1, none]
	Low, High float64 // marks of KV use [0.5, 0.95]
	Settle    float64 // seconds that a change is given at least [20]

	limit   int
	last    Load
	started float64 // seconds of the first look
	blind   bool    // said that metrics are missing
	reached float64 // seconds when Busy had followed the limit; NaN: not yet

	recent        recent
	preempted     float64 // requests, of the last seconds
	slots, ended  float64 // slot seconds and trajectories ended, of the last generations
	tokens, known float64 // tokens and the seconds they are known of, at this limit
	measured      float64 // seconds measured at this limit

	from           int     // limit before the step that is tried, 0: none is
	fromRate       float64 // tokens per second there
	down           bool    // direction of the next step
	step           float64 // its size, as a share of the limit
	floor, ceiling int     // limits that were worse than those between, 0: unknown
	fell           bool    // a limit that was too high is known: no more quick steps
	climbed        bool    // this limit was reached from below
	best           int     // limit with the highest rate
	bestRate       float64

	rest    float64 // generations
	resting float64 // seconds when the rest is over, 0: none
	restKV  float64 // KV use when it began
	looks   int     // after rests
}

// What the rules compare with.
const (
	maxQueue  = 0.8  // of the running requests may queue,
	trimTo    = 0.5  // and a trim leaves so many,
	softest   = 0.6  // and at least this share of the limit
	preempts  = 0.5  // of the running requests, preempted within a few seconds, cut
	cutTo     = 0.8  // of what fits,
	hardest   = 0.25 // but at least this share of the limit remains
	minGain   = 0.1  // of throughput, as a share of the step, keeps a step
	leapGain  = 0.3  // a large one
	surprise  = 1.6  // a loss of so many times the step has another reason
	slack     = 0.95 // of the best rate is enough to stay
	firstStep = 0.5
	laterStep = 0.25 // at most, once a limit was too high
	minStep   = 0.12
	moved     = 0.15 // change of KV use that ends a rest

	firstRest, longestRest = 4.0, 16.0 // generations
	unknownGeneration      = 120.0     // seconds, where Done is not known
)

// Next is the run limit after this look, and why it changed ("" when it did not).
func (a *Adaptive) Next(limit int, l Load) (int, string) {
	a.defaults()
	if a.limit == 0 {
		a.started, a.last = l.Seconds, l
		a.restart(0, firstStep)
		a.settle(limit)
	} else if limit != a.limit { // somebody else changed it
		a.restart(0, minStep)
		a.settle(limit)
	}
	before := a.last
	a.last = l
	if to := min(max(limit, a.Min), a.Max); to != limit {
		a.settle(to)
		return to, fmt.Sprintf("bounds are %d to %d: %d → %d", a.Min, a.Max, limit, to)
	}
	if math.IsNaN(l.Running + l.Queued + l.KVUse) {
		if a.blind {
			return limit, ""
		}
		a.blind = true
		return limit, fmt.Sprintf("the endpoint does not show KV use, running and waiting requests: the limit stays %d", limit)
	}
	a.blind = false
	dt := max(0, l.Seconds-before.Seconds)
	a.watch(l, before, dt)
	return a.decide(l, dt)
}

func (a *Adaptive) defaults() {
	set := func(v *float64, to float64) {
		if *v == 0 {
			*v = to
		}
	}
	a.Min = max(a.Min, 1)
	if a.Max == 0 {
		a.Max = math.MaxInt
	}
	a.Max = max(a.Max, a.Min)
	set(&a.Low, 0.5)
	set(&a.High, 0.95)
	set(&a.Settle, 20)
}

// decide whether load calls for fewer, and else measure.
func (a *Adaptive) decide(l Load, dt float64) (int, string) {
	r, gen, since := &a.recent, a.generation(), l.Seconds-a.reached
	crowded := r.queued > maxQueue*r.running
	switch {
	case math.IsNaN(a.reached): // it drains or fills
		return a.limit, ""
	case a.preempted >= max(5, preempts*r.running):
		why := fmt.Sprintf("%.0f waiting, %.0f preempted", l.Queued, a.preempted)
		to, why := a.cut(float64(a.limit)-l.Queued, why)
		a.climbed = true // the limit was right a moment ago
		return to, why
	case since < a.Settle:
		return a.limit, ""
	case crowded && !a.climbed:
		return a.cut(r.running, a.queue())
	case crowded && since > gen/2:
		return a.trim()
	}
	settle, window := 0.75*gen, max(gen, 4*a.Settle)
	quick := (r.kv < a.Low && !a.fell || r.kv < a.Low/2) && r.queued < 1 && a.limit >= a.from
	if quick {
		settle, window = 0.15*gen, 0.25*gen
	}
	window = max(window, a.Settle)
	if since < settle || l.Busy != a.limit {
		return a.limit, ""
	}
	keep := math.Exp(-dt / (2 * window))
	a.measured += dt
	a.tokens, a.known = a.tokens*keep, a.known*keep
	if !math.IsNaN(l.Tokens) {
		a.tokens, a.known = a.tokens+dt*l.Tokens, a.known+dt
	}
	if since < settle+window || a.measured < window/2 {
		return a.limit, ""
	}
	return a.judge(a.tokens/a.known, quick)
}

func (a *Adaptive) queue() string {
	return fmt.Sprintf("%.0f waiting, %.0f running", a.recent.queued, a.recent.running)
}

// cut hard, to less than what fits, and climb from there.
func (a *Adaptive) cut(fits float64, why string) (int, string) {
	a.preempted = 0
	a.restart(max(a.ceiling, a.limit), laterStep)
	return a.move(min(a.limit-1, int(max(cutTo*fits, hardest*float64(a.limit)))), why)
}

// trim softly; not below the limit from which a step was tried.
func (a *Adaptive) trim() (int, string) {
	to := float64(a.limit) - (a.recent.queued - trimTo*a.recent.running)
	to = max(to, softest*float64(a.limit))
	if a.leapt() {
		to = float64(a.from)
	} else if a.from < a.limit {
		to = max(to, float64(a.from))
	}
	floor := a.floor
	if a.from < a.limit && a.from != 0 {
		floor = a.from
	}
	a.restart(a.limit, minStep)
	a.floor, a.fell, a.climbed, a.down = floor, true, true, floor == 0
	return a.move(min(a.limit-1, int(to)), a.queue())
}

// leapt says that the step that is tried is a large one upwards.
func (a *Adaptive) leapt() bool {
	return a.from != 0 && float64(a.limit) > (1+laterStep)*float64(a.from)+1
}

// restart the search, with nothing known but a ceiling (0: none).
func (a *Adaptive) restart(ceiling int, step float64) {
	a.from, a.floor, a.ceiling, a.step = 0, 0, ceiling, step
	a.fell, a.climbed, a.down = false, false, false
	a.best, a.bestRate = 0, 0
	a.rest, a.resting, a.looks = 0, 0, 0
}

// judge the step that was tried, then rest or try another. rate is in tokens
// per second, NaN when not known.
func (a *Adaptive) judge(rate float64, quick bool) (int, string) {
	if a.from != 0 && !a.keep(rate, quick) {
		to := a.from
		a.from = 0
		return a.move(to, fmt.Sprintf("%s instead of %.0f", speed(rate), a.fromRate))
	}
	a.from = 0
	switch {
	case !a.climbed && a.recent.kv >= a.High:
		return a.cut(a.recent.running, a.queue())
	case !a.climbed && a.ceiling != 0 && a.recent.kv >= a.Low: // a cut was not enough
		return a.cut(float64(a.limit), a.queue())
	case a.limit == a.best || rate > a.bestRate && !quick:
		a.best, a.bestRate = a.limit, rate
	case rate < slack*a.bestRate:
		to, was := a.best, a.bestRate
		a.bestRate, a.floor, a.ceiling = 0, 0, 0
		a.from, a.fromRate = a.limit, rate
		return a.move(to, fmt.Sprintf("%.0f tokens/s, and %.0f before", rate, was))
	}
	if a.last.Seconds < a.resting {
		change := a.recent.kv - a.restKV
		if math.Abs(change) < moved {
			return a.limit, ""
		}
		a.restart(0, minStep)
		a.fell, a.down = change > 0, change > 0
	}
	for range 2 {
		if to := a.next(rate); to != a.limit {
			return a.try(to, rate)
		}
		a.down = !a.down
	}
	a.pause()
	return a.limit, ""
}

// keep says whether the step that was tried is right, and what follows from it.
func (a *Adaptive) keep(rate float64, quick bool) bool {
	up := a.limit > a.from
	gain := math.Log(rate/a.fromRate) / math.Log(float64(a.limit)/float64(a.from))
	if math.IsNaN(gain) { // no rates: KV use and queue alone must do
		gain = 1
	}
	least := minGain
	if a.leapt() {
		least = leapGain
	}
	switch {
	case up && (gain >= least || quick && (gain > -minGain || a.recent.kv < a.Low/2)):
		a.floor, a.step = a.from, 1.5*a.step
	case up:
		a.ceiling, a.down, a.fell = a.limit, true, true
		return false
	case gain <= -minGain:
		a.ceiling, a.step = a.from, 1.5*a.step
	case gain > surprise: // the endpoint or the work has changed
		a.restart(0, minStep)
		a.fell, a.down = true, true
	default:
		a.floor, a.down = a.limit, false
		return false
	}
	if a.fell || a.ceiling != 0 || !up {
		a.step = min(a.step, laterStep)
	}
	a.step = min(a.step, firstStep)
	return true
}

func (a *Adaptive) try(to int, rate float64) (int, string) {
	a.from, a.fromRate = a.limit, rate
	what := "fewer"
	if to > a.limit {
		a.climbed, what = true, "more"
	}
	return a.move(to, fmt.Sprintf("%s, trying %s", speed(rate), what))
}

func speed(rate float64) string {
	if math.IsNaN(rate) {
		return "tokens/s unknown"
	}
	return fmt.Sprintf("%.0f tokens/s", rate)
}

// pause between limits that are worse. After it one of them is tried again,
// above and below in turn, above by a small, a middle and a large step.
func (a *Adaptive) pause() {
	if a.resting == 0 {
		a.rest = min(longestRest, max(firstRest, 2*a.rest))
		a.resting, a.restKV = a.last.Seconds+a.rest*a.generation(), a.recent.kv
		return
	}
	a.resting = 0
	a.down, a.step = a.looks%2 == 1, minStep
	if a.down {
		a.floor = 0
	} else {
		a.ceiling, a.step = 0, minStep*[]float64{2, 4, 1}[a.looks/2%3]
	}
	a.looks++
}

// next limit to try in the present direction; the present one when there is
// none. Towards a limit that was worse it is at most the middle.
func (a *Adaptive) next(rate float64) int {
	n, r := float64(a.limit), &a.recent
	if a.down {
		to := min(a.limit-1, int(n/(1+min(a.step, laterStep))+0.5))
		if r.kv < a.Low || a.limit <= a.Min || math.IsNaN(rate) {
			return a.limit
		}
		if a.floor != 0 {
			to = max(to, a.between(a.floor))
		}
		return max(to, a.Min)
	}
	to := max(a.limit+1, int(min(n*(1+a.step), math.MaxInt32)+0.5))
	if r.kv >= a.High || r.waiting < 0.5 || a.limit >= a.Max {
		return a.limit
	}
	if a.ceiling != 0 {
		to = min(to, a.between(a.ceiling))
	}
	return min(to, a.Max)
}

// between this limit and another one; this one when they are near.
func (a *Adaptive) between(other int) int {
	n, m := float64(a.limit), float64(other)
	to := int(math.Sqrt(n*m) + 0.5)
	if to == other || max(n, m) < (1+2*minStep)*min(n, m) {
		return a.limit
	}
	return to
}

// move the limit, within its bounds.
func (a *Adaptive) move(to int, why string) (int, string) {
	to = min(max(to, a.Min), a.Max)
	from := a.limit
	if to == from {
		return from, ""
	}
	why = fmt.Sprintf("KV %.0f %%, %s: %d → %d", 100*a.recent.kv, why, from, to)
	a.settle(to)
	return to, why
}

// settle at a limit: what was seen at another one does not count.
func (a *Adaptive) settle(limit int) {
	a.limit, a.reached, a.recent = limit, math.NaN(), recent{}
	a.tokens, a.known, a.measured = 0, 0, 0
}
