package replay

import (
	"encoding/json"
	"slices"

	"rollbench/sessions"
)

// ledger remembers what happened to the turns of each trajectory and when: the
// recording has each turn as it was in the end.
type ledger struct {
	of  map[sessions.Key][]fact // in the order they happened
	seq int64                   // of the last event noted; going back notes none again
}

// fact is something that happened to a turn, or that the patch was taken.
type fact struct {
	seq     int64
	what    happened
	attempt int
	turn    int
	version int
	edit    *sessions.Intervention // of an edited observation
}

type happened uint8

const (
	inEffect  happened = iota // a reply came, or took the place of another
	alternate                 // a reply that is not in effect
	answered                  // its calls all have their observations
	rejected                  // they have, by a person
	edited                    // an observation
	patched
)

// note an event of a trajectory, in the order they happened.
func (l *ledger) note(e sessions.Event, attempt int) error {
	if e.Seq <= l.seq {
		return nil
	}
	l.seq = e.Seq
	f := fact{seq: e.Seq, attempt: attempt}
	switch e.Kind {
	case sessions.KindReply, sessions.KindPicked:
		f.what = inEffect
	case sessions.KindResampled:
		f.what = alternate
	case sessions.KindTurnDone:
		f.what = answered
	case sessions.KindPatch:
		f.what = patched
	case sessions.KindIntervention:
		var i sessions.Intervention
		if err := json.Unmarshal(e.Data, &i); err != nil {
			return err
		}
		switch i.Verb {
		case "reject":
			f.what = rejected
		case "edit_observation":
			f.what, f.edit = edited, &i
		default:
			return nil
		}
	default:
		return nil
	}
	var at struct {
		Turn    int `json:"turn"`
		Version int `json:"version"`
	}
	if f.what != patched {
		if err := json.Unmarshal(e.Data, &at); err != nil {
			return err
		}
	}
	f.turn, f.version = at.Turn, max(at.Version, 1)
	l.of[e.Key] = append(l.of[e.Key], f)
	return nil
}

// before are the facts of an attempt with a seq up to one.
func (l *ledger) before(key sessions.Key, attempt int, seq int64) []fact {
	all := l.of[key]
	n := len(all)
	for n > 0 && all[n-1].seq > seq {
		n--
	}
	var out []fact
	for _, f := range all[:n] {
		if f.attempt == attempt {
			out = append(out, f)
		}
	}
	return out
}

// has reports whether it has happened to the trajectory's attempt.
func (l *ledger) has(what happened, key sessions.Key, attempt int, seq int64) bool {
	return slices.ContainsFunc(l.before(key, attempt, seq), func(f fact) bool { return f.what == what })
}

// place of a reply among those of its attempt.
type place struct{ turn, version int }

// asOf takes turns back to how they were after the event with that seq; those that
// were not there are left out.
func (l *ledger) asOf(turns []sessions.Turn, key sessions.Key, attempt int, seq int64) []sessions.Turn {
	known, current := map[place]bool{}, map[int]int{}
	seen, whole := map[place]bool{}, map[place]bool{}
	edits := map[int][]*sessions.Intervention{}
	for _, f := range l.before(key, attempt, seq) {
		at := place{f.turn, current[f.turn]} // the reply it happened to
		switch f.what {
		case inEffect:
			known[place{f.turn, f.version}], current[f.turn] = true, f.version
		case alternate:
			known[place{f.turn, f.version}] = true
		case rejected:
			seen[at] = true
		case answered:
			seen[at], whole[at] = true, true
		case edited:
			edits[f.turn] = append(edits[f.turn], f.edit)
		}
	}
	out := turns[:0:0]
	for _, t := range turns {
		at := place{t.Index, t.Version}
		if !known[at] {
			continue
		}
		t.Superseded, t.Complete = current[t.Index] != t.Version, whole[at]
		if !seen[at] {
			t.Observations = nil
		}
		t.Observations = redo(t.Observations, edits[t.Index])
		out = append(out, t)
	}
	return out
}

// redo what was edited of observations as far as it was by then.
func redo(list []sessions.Observation, edits []*sessions.Intervention) []sessions.Observation {
	out := slices.Clone(list)
	for i := range out {
		o := &out[i]
		if o.Was == "" {
			continue
		}
		text, touched := o.Before, false
		for _, e := range edits {
			if e.Before == text {
				text, touched = e.After, true
			}
		}
		if o.Text = text; !touched {
			o.Source, o.Before, o.Was = o.Was, "", ""
		}
	}
	return out
}
