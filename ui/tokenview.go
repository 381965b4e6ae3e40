package ui

import (
	"math"
	"sort"

	"rollbench/sessions"
)

// tokenView shows the tokens of one turn, each in a cell of its own. Only what is
// on the screen is laid out: a span is cut into chunks, each of which begins a row.
type tokenView struct {
	key     sessions.Key
	attempt int
	last    int  // turn that there is
	turn    int  // shown, 0: none
	follow  bool // the last turn
	traj    sessions.Trajectory

	spans   []tokenSpan
	texts   map[int32]string
	n       int // tokens in all spans
	problem string
	have    int  // turn that the spans are of, 0: none
	stale   bool // it has changed since
	loading bool

	at    int        // token with the cursor
	top   tokenPlace // first row drawn
	below float64    // tokens under it are jumped to

	width int // of the layout
	rows  map[chunkAt][]tokenRow
}

const tokenChunk = 128

// thresholds that T goes through: probabilities of 37, 14, 5 and 1 %.
var thresholds = []float64{-1, -2, -3, -4.6}

// tokenSpan is tokens that stand alike to the training record.
type tokenSpan struct {
	kind       spanKind
	title      line
	right      line
	start      int // number of its first token in the turn
	ids        []int32
	chunks     []int     // the first token of each chunk
	logprobs   []float64 // nil when absent
	promptless bool      // a reply whose prompt ids are absent
}

type spanKind uint8

const (
	firstPrompt spanKind = iota
	observed
	remark // a row without tokens
	sampled
	superseded
	picked  // sampled, but chosen by a person
	parents // sampled, before the trajectory was forked
	written
)

// tokenPlace is a row: chunk −1 is the heading of the span.
type tokenPlace struct{ span, chunk, row int }

type chunkAt struct{ span, chunk int }

// tokenRow is tokens of the span that stand in one row.
type tokenRow struct{ from, to int }

// point the view at a trajectory, whose last turn it shows until another is
// chosen.
func (v *tokenView) point(t sessions.Trajectory, last int) {
	if v.key != t.Key || v.attempt != t.Attempt || v.rows == nil {
		below := v.below
		if below == 0 {
			below = thresholds[1]
		}
		*v = tokenView{key: t.Key, attempt: t.Attempt, follow: true, below: below, rows: map[chunkAt][]tokenRow{}, loading: v.loading}
	}
	v.traj, v.last = t, last
	if v.follow {
		v.turn = last
	}
	v.turn = min(v.turn, last)
}

// toTurn shows another turn, or goes on to those that come.
func (v *tokenView) toTurn(n int, follows bool) {
	v.turn, v.follow = max(min(n, v.last), min(v.last, 1)), follows
}

func (v *tokenView) outdated(key sessions.Key, turn int) {
	if key == v.key && turn == v.have {
		v.stale = true
	}
}

// shows reports whether the spans are those of the turn to be shown.
func (v *tokenView) shows() bool { return v.have == v.turn && v.have > 0 }

// put what was read. The cursor begins at the first sampled token.
func (v *tokenView) put(turn int, spans []tokenSpan, texts map[int32]string, problem string) {
	same := v.have == turn
	v.have, v.spans, v.texts, v.problem, v.n = turn, spans, texts, problem, 0
	for i := range spans {
		v.divide(&spans[i])
		spans[i].start = v.n
		v.n += len(spans[i].ids)
	}
	clear(v.rows)
	if same {
		v.at = max(min(v.at, v.n-1), 0)
		return
	}
	v.at, v.top = 0, tokenPlace{0, -1, 0}
	for i := len(spans) - 1; i >= 0; i-- {
		if s := spans[i]; s.kind >= sampled && len(s.ids) > 0 {
			v.at, v.top = s.start, tokenPlace{i, -1, 0}
			break
		}
	}
}

// spanOf token n of the turn.
func (v *tokenView) spanOf(n int) int {
	return sort.Search(len(v.spans), func(i int) bool { return v.spans[i].start+len(v.spans[i].ids) > n })
}

// logprob of token i of the span; ok is false when it is absent.
func (s *tokenSpan) logprob(i int) (p float64, ok bool) {
	if i >= len(s.logprobs) || math.IsNaN(s.logprobs[i]) {
		return 0, false
	}
	return s.logprobs[i], true
}

// trains says whether the span's tokens are in the loss, and why.
func (v *tokenView) trains(s *tokenSpan) (bool, string) {
	switch s.kind {
	case firstPrompt:
		return false, "the first prompt is not sampled"
	case observed:
		return false, "an observation: the policy did not sample it"
	case superseded:
		return false, "superseded: another reply took its place"
	case written:
		return false, "a person wrote it"
	case picked:
		return false, "a person chose this reply"
	case parents:
		return false, "the parent's: it was sampled before the fork"
	}
	switch mask := v.traj.Mask(); {
	case mask != "":
		return false, "the trajectory is masked: " + cleanLine(mask)
	case v.traj.State.Ended() && v.traj.Finish == "":
		return false, "the trajectory ended without a finish reason"
	case s.promptless:
		return false, "the ids of its prompt are absent"
	}
	why := "sampled by the policy"
	if !v.traj.State.Ended() {
		why += ", unless the trajectory ends masked"
	}
	if s.logprobs == nil {
		why += "; without logprobs exports leave it out"
	}
	if v.traj.Intervened {
		why += "; intervened: exported only when asked for"
	}
	return true, why
}

// press moves the cursor; it reports whether the key was its own, and what is to
// be said.
func (v *tokenView) press(k string, h int) (own bool, say string) {
	h = max(h-infoRows(h), 1)
	follow := false
	switch k {
	case "left":
		if v.at--; v.at < 0 && v.turn > 1 {
			say = "this is the first token: { goes to the turn before"
		}
	case "right":
		if v.at++; v.at >= v.n && v.turn < v.last {
			say = "this is the last token: } goes to the next turn"
		}
	case "up", "k":
		v.step(-1)
	case "down", "j":
		v.step(1)
	case "pgup":
		v.step(-max(h-1, 1))
	case "pgdown":
		v.step(max(h-1, 1))
	case "g", "home":
		v.at = 0
	case "G", "end":
		v.at = v.n - 1
		follow = v.turn == v.last
	case "{":
		v.toTurn(v.turn-1, false)
	case "}":
		v.toTurn(v.turn+1, false)
	case "J":
		say = v.jump(1)
	case "K":
		say = v.jump(-1)
	case "T":
		i := sort.Search(len(thresholds), func(i int) bool { return thresholds[i] <= v.below })
		v.below = thresholds[(i+1)%len(thresholds)]
		say = "J and K go to tokens with a logprob under " + number(v.below)
	default:
		return false, ""
	}
	v.follow = follow || v.follow && (k == "T")
	v.at = max(min(v.at, v.n-1), 0)
	return true, say
}

// low is the next token under the threshold after the cursor, or before it.
func (v *tokenView) low(step int) (at int, found bool) {
	for n := v.at + step; n >= 0 && n < v.n; n += step {
		s := &v.spans[v.spanOf(n)]
		if p, ok := s.logprob(n - s.start); ok && p < v.below {
			return n, true
		}
	}
	return 0, false
}

// jump there. Where there is none it says what else there is.
func (v *tokenView) jump(step int) string {
	if at, found := v.low(step); found {
		v.at = at
		return ""
	}
	_, behind := v.low(-step)
	where, back := "after", ", K goes back"
	if step < 0 {
		where, back = "before", ", J goes on"
	}
	if !behind {
		back = ""
	}
	return "no token " + where + " this one has a logprob under " + number(v.below) + ": T sets another bound" + back + v.otherTurns()
}

// otherTurns are where there may be more.
func (v *tokenView) otherTurns() string {
	switch {
	case v.turn < v.last && v.turn > 1:
		return ", { and } go to other turns"
	case v.turn < v.last:
		return ", } goes to the next turn"
	case v.turn > 1:
		return ", { goes to the turn before"
	}
	return ""
}
