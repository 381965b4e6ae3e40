package pool

import "context"

// keepWarm closes what is no longer wanted and opens what will be, one at a time
// and only while nothing is opened on the spot, until Close.
func (p *Pool) keepWarm() {
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-p.wake:
		}
		for p.ctx.Err() == nil && p.step() {
		}
	}
}

// step closes or opens one sandbox; false when nothing is to do.
func (p *Pool) step() bool {
	wanted := p.opt.Wanted()
	shapes := make([]shape, len(wanted))
	for i, w := range wanted {
		shapes[i] = shapeOf(w.From.Kind(), w.Spec)
	}
	p.mu.Lock()
	// Each warm sandbox stands for the first wish that it fulfils.
	fulfilled := make([]bool, len(shapes))
	for i, x := range p.warm {
		k := first(shapes, func(k int) bool { return shapes[k] == x.shape && !fulfilled[k] })
		if k < 0 {
			p.retire(i)
			p.mu.Unlock()
			return true
		}
		fulfilled[k] = true
	}
	room := p.opt.Room()
	k := first(shapes, func(k int) bool { return !fulfilled[k] && !p.bad[shapes[k]] })
	if k < 0 || p.asking > 0 || len(p.warm) >= p.opt.Warm || room > 0 && p.used+p.idle() >= room {
		p.mu.Unlock()
		return false
	}
	o := &opening{shape: shapes[k]}
	o.ctx, o.cancel = context.WithCancel(p.ctx)
	p.warming = o
	p.mu.Unlock()
	p.open(o, wanted[k])
	return true
}

func first[T any](list []T, right func(int) bool) int {
	for i := range list {
		if right(i) {
			return i
		}
	}
	return -1
}

// open a sandbox ahead. One that cannot be is left to whoever asks for it, who
// then gets the error.
func (p *Pool) open(o *opening, w Wanted) {
	defer o.cancel()
	spec := w.Spec
	spec.Name = "warm"
	spec.Labels = map[string]string{"run": w.Spec.Labels["run"], "warm": "1"}
	sb, err := w.From.Open(o.ctx, spec)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.warming = nil
	switch {
	case err == nil:
		p.warm = append(p.warm, warm{sb, o.shape})
		if o.ctx.Err() != nil { // its room was wanted when it was nearly there
			p.retire(len(p.warm) - 1)
		}
	case o.ctx.Err() == nil:
		p.bad[o.shape] = true
		p.opt.Log.Warn("open a sandbox ahead", "image", w.Spec.Image, "error", err)
	}
	p.tell()
}
