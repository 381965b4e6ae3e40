package ui

import "time"

// useLooks are how each kind of time is drawn: by its pattern alone where there is
// no colour.
var useLooks = [useKinds]struct {
	glyph rune
	r     role
	name  string
}{
	useOther: {'·', dim, "rest"}, useQueue: {'░', dim, "waits"}, useInit: {'╱', plain, "init"}, useModel: {'▒', live, "model"},
	useTool: {'█', call, "tools"}, useHeld: {'◇', warn, "held"}, useEval: {'╲', plain, "eval"}, useAway: {' ', plain, "away"},
}

// bar of spans on an axis of w cells. Each cell is what took most of its time; a call
// that did not end well puts ✘ where it ended, if wanted, and whatever was is one cell
// at least.
func bar(spans []stretch, from, to, now time.Time, w int, failed bool) line {
	shares := make([]sums, w)
	marks := map[int]bool{}
	scale := float64(w) / float64(max(to.Sub(from), 1))
	cell := func(at time.Time) int { return min(max(int(float64(at.Sub(from))*scale), 0), w-1) }
	for i := range spans {
		s := &spans[i]
		x0 := float64(s.from.Sub(from)) * scale
		x1 := x0 + float64(s.took(now))*scale
		for c := max(int(x0), 0); c < w && float64(c) < x1; c++ {
			over := min(x1, float64(c+1)) - max(x0, float64(c))
			shares[c][s.kind] += time.Duration(over / scale)
		}
		if c := cell(s.from); shares[c] == (sums{}) {
			shares[c][s.kind] = 1
		}
		if failed && s.bad() {
			marks[cell(s.from.Add(s.took(now)))] = true
		}
	}
	l := line{}
	for c := range shares {
		switch k, some := shares[c].most(); {
		case marks[c]:
			l.put(warn, "✘")
		case some:
			l.put(useLooks[k].r, string(useLooks[k].glyph))
		default:
			l.put(plain, " ")
		}
	}
	return l
}

// most is the kind with the most time. The rest between others counts only where
// nothing else is.
func (s *sums) most() (kind use, some bool) {
	for k := use(1); k < useKinds; k++ {
		if s[k] > 0 && (!some || s[k] > s[kind]) {
			kind, some = k, true
		}
	}
	return kind, some || s[useOther] > 0
}

// put a piece behind a line, with the one before where the role is the same.
func (l *line) put(r role, text string) {
	if n := len(*l); n > 0 && (*l)[n-1].r == r {
		(*l)[n-1].text += text
		return
	}
	l.add(r, text)
}
