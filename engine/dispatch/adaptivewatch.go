package dispatch

import "math"

// recent are means over the last seconds, at one limit.
type recent struct{ weight, running, queued, kv, waiting float64 }

// watch brings the means up to date. Counters that went back began again: that
// look counts as nothing.
func (a *Adaptive) watch(l, before Load, dt float64) {
	gen := a.generation()
	a.recent.add(l, dt, max(a.Settle, gen/4))
	a.preempted = a.preempted*math.Exp(-dt/3) + grown(l.Preemptions, before.Preemptions)
	keep := math.Exp(-dt / (3 * gen))
	a.slots = a.slots*keep + float64(l.Busy)*dt
	a.ended = a.ended*keep + grown(l.Done, before.Done)
	filled := l.Busy == a.limit || l.Busy < a.limit && (a.limit < a.from || l.Waiting == 0)
	if math.IsNaN(a.reached) && filled {
		a.reached, a.recent = l.Seconds, recent{}
		if a.ended > 2 { // a generation may be another at this limit
			a.slots, a.ended = a.slots*2/a.ended, 2
		}
	}
}

func (r *recent) add(l Load, dt, seconds float64) {
	r.weight = r.weight*math.Exp(-dt/seconds) + dt
	if r.weight == 0 {
		return
	}
	part := dt / r.weight
	r.running += part * (l.Running - r.running)
	r.queued += part * (l.Queued - r.queued)
	r.kv += part * (l.KVUse - r.kv)
	r.waiting += part * (float64(min(l.Waiting, 1)) - r.waiting)
}

// grown is how much a counter grew, 0 when that is not known.
func grown(now, before float64) float64 {
	if d := now - before; d > 0 {
		return d
	}
	return 0
}

// generation in seconds: slots in use over trajectories ended in a second.
func (a *Adaptive) generation() float64 {
	switch {
	case math.IsNaN(a.last.Done):
		return max(a.Settle, unknownGeneration)
	case a.ended < 2: // it takes longer than the time so far
		return max(a.Settle, a.last.Seconds-a.started)
	}
	return max(a.Settle, a.slots/a.ended)
}
