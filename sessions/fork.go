package sessions

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Fork is where a trajectory left another of its instance. What the policy did
// before Turn is the parent's: it is read from there and belongs to its record.
type Fork struct {
	Parent  int `json:"parent"`         // its trajectory_id
	Attempt int `json:"parent_attempt"` // the one whose turns these are
	Turn    int `json:"turn"`           // the first turn of the child's own
	// Shared turns are read from the parent. Of those before Turn the last one may
	// be the child's own copy: the parent's could still change when it was forked.
	Shared int `json:"shared"`
	// Children of one act, of which Group is the first one's trajectory_id, have the
	// same prompt and are compared with one another.
	Group int `json:"group"`
	Count int `json:"of"`
	// What the turns before Turn used of the budgets.
	Tokens   int `json:"tokens"`
	FirstLen int `json:"first_prompt_tokens"`
}

// ParentOf is the key of the trajectory that a fork left.
func (f *Fork) ParentOf(child Key) Key { return Key{Instance: child.Instance, ID: f.Parent} }

// The payloads of forks.
type (
	// Forked makes a trajectory. It is its first event.
	Forked struct {
		Fork
		Feedback string          `json:"feedback,omitempty"` // a user message before its first own model call
		Sampling json.RawMessage `json:"sampling,omitempty"` // what differs from the run's settings
		Hold     bool            `json:"hold,omitempty"`     // before it goes on, in any case
		// Differs says what to do where a recorded call answers otherwise as the
		// sandbox is rebuilt: hold (also ""), go, drop.
		Differs string `json:"if_differs,omitempty"`
		By      string `json:"by"` // operator
	}
	// Rebuilt says how the sandbox of a fork came to have the files that its
	// parent's had before the turn.
	Rebuilt struct {
		By      string        `json:"by"`            // snapshot, replay
		Why     string        `json:"why,omitempty"` // why it is a replay
		Calls   int           `json:"calls"`         // that ran again
		Differs []Difference  `json:"differs,omitempty"`
		More    int           `json:"more,omitempty"` // further differences, not listed
		Wall    time.Duration `json:"wall_ns"`
	}
	// Difference is a recorded call that answered otherwise as it ran again, or that
	// could not run again; of a snapshot a program that ran in the parent's sandbox.
	Difference struct {
		Turn int    `json:"turn"`
		Call int    `json:"call"` // number in the reply, from 0; −1: a person's command
		Tool string `json:"tool"`
		Args string `json:"arguments"`
		Was  string `json:"was"`           // recorded: what the policy has read
		Now  string `json:"now"`           // in the rebuilt sandbox
		Why  string `json:"why,omitempty"` // why it did not run again
	}
)

// Recorded is how many calls should have answered as recorded: those that ran again,
// and those that could not.
func (r *Rebuilt) Recorded() int {
	n := r.Calls
	for _, d := range r.Differs {
		if d.Why != "" {
			n++
		}
	}
	return max(n, len(r.Differs)+r.More)
}

// Say in a sentence how many differences there are, "" for none.
func (r *Rebuilt) Say() string {
	n := len(r.Differs) + r.More
	switch {
	case n == 0:
		return ""
	case r.By == BySnapshot && n == 1:
		return "a program that ran in its parent's sandbox does not run in its own"
	case r.By == BySnapshot:
		return fmt.Sprintf("%d programs that ran in its parent's sandbox do not run in its own", n)
	}
	return fmt.Sprintf("%d of %d recorded calls answer differently in its sandbox", n, r.Recorded())
}

// By what a sandbox was rebuilt.
const (
	BySnapshot = "snapshot"
	ByReplay   = "replay"
)

func applyForked(t *Trajectory, p Forked, at time.Time) {
	*t = NewTrajectory(t.Key, at)
	t.startFrom(&p.Fork)
}

// startFrom the parent's turns: what they used counts as used.
func (t *Trajectory) startFrom(f *Fork) {
	t.Fork, t.Turn, t.Tokens, t.FirstLen = f, f.Turn-1, f.Tokens, f.FirstLen
}

func applyRebuilt(t *Trajectory, p Rebuilt, _ time.Time) { t.Differs = len(p.Differs) + p.More }

// segment is the turns from up to to of one attempt of one trajectory.
type segment struct {
	key         Key
	tr, attempt int
	from, to    int
	foreign     bool // of another trajectory than the one that is read
}

// finder looks a trajectory up.
type finder func(key Key) (tr int, row Trajectory, err error)

// lineage is where the turns of an attempt are stored, in their order.
func lineage(find finder, key Key, attempt int) ([]segment, error) {
	tr, row, err := find(key)
	if err != nil {
		return nil, err
	}
	own := segment{key: key, tr: tr, attempt: attempt, from: 1, to: 1<<31 - 1}
	f := row.Fork
	if f == nil {
		return []segment{own}, nil
	}
	own.from = f.Turn
	copied := segment{key: key, tr: tr, attempt: 1, from: f.Shared + 1, to: f.Turn - 1} // stored with the fork, for all attempts
	list, err := lineage(find, f.ParentOf(key), f.Attempt)
	if err != nil {
		return nil, err
	}
	list = clip(list, 1, f.Shared)
	for i := range list {
		list[i].foreign = true
	}
	return clip(append(list, copied, own), 1, own.to), nil
}

// clip the segments to a range of turns.
func clip(list []segment, from, to int) []segment {
	var out []segment
	for _, s := range list {
		if s.from, s.to = max(s.from, from), min(s.to, to); s.from <= s.to {
			out = append(out, s)
		}
	}
	return out
}

// row of a trajectory as it is stored.
func (v *view) row(ctx context.Context, key Key) (tr int, t Trajectory, err error) {
	var data []byte
	err = v.db.QueryRowContext(ctx, "SELECT tr, json FROM trajectory WHERE instance = ? AND id = ?", key.Instance, key.ID).Scan(&tr, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, t, notMember(key, v.run.ID)
	}
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil {
		return 0, t, v.fail("trajectory "+key.String(), err)
	}
	return tr, t, nil
}

func (v *view) lineage(ctx context.Context, key Key, attempt int) ([]segment, error) {
	return lineage(func(k Key) (int, Trajectory, error) { return v.row(ctx, k) }, key, attempt)
}

// printedBy is the trajectory that made a call: the parent, for those before a fork.
func (v *view) printedBy(ctx context.Context, at CallPlace) (CallPlace, int, error) {
	for {
		tr, row, err := v.row(ctx, at.Key)
		if err != nil {
			return at, 0, err
		}
		if at.Attempt == 0 {
			at.Attempt = row.Attempt
		}
		if row.Fork == nil || at.Turn >= row.Fork.Turn {
			return at, tr, nil
		}
		at.Key, at.Attempt = row.Fork.ParentOf(at.Key), row.Fork.Attempt
	}
}

// add makes the trajectory that a fork begins with. It is part of the run once
// the transaction is committed.
func (tx *transaction) add(e Event) (int, error) {
	var p Forked
	if err := json.Unmarshal(e.Data, &p); err != nil {
		return 0, fmt.Errorf("event %s of %s: unreadable payload: %w", e.Kind, e.Key, err)
	}
	parent, ok := tx.find(p.ParentOf(e.Key))
	if !ok {
		return 0, notMember(p.ParentOf(e.Key), tx.conn.run)
	}
	row := tx.row(parent)
	switch f := p.Fork; {
	case f.Turn < 1 || f.Turn > row.Turn+1:
		return 0, fmt.Errorf("fork of %s at turn %d: it has %d", row.Key, f.Turn, row.Turn)
	case f.Attempt < 1 || f.Attempt > row.Attempt || f.Shared < 0 || f.Shared >= f.Turn || f.Shared < f.Turn-2:
		return 0, fmt.Errorf("fork of %s at turn %d cannot have %d turns of attempt %d", row.Key, f.Turn, f.Shared, f.Attempt)
	case f.Count < 1 || e.Key.ID < f.Group || e.Key.ID >= f.Group+f.Count:
		return 0, fmt.Errorf("fork %s is none of the %d from %d on", e.Key, f.Count, f.Group)
	}
	tr := len(tx.rows) + len(tx.added)
	tx.added[e.Key] = tr
	tx.pending[tr] = NewTrajectory(e.Key, e.Time)
	return tr, nil
}

// find the position of a trajectory, also of one that this transaction makes.
func (tx *transaction) find(key Key) (int, bool) {
	if tr, ok := tx.conn.byKey[key]; ok {
		return tr, true
	}
	tr, ok := tx.added[key]
	return tr, ok
}

// segments of an attempt as the writer knows it.
func (tx *transaction) segments(key Key, attempt int) ([]segment, error) {
	return lineage(func(k Key) (int, Trajectory, error) {
		tr, ok := tx.find(k)
		if !ok {
			return 0, Trajectory{}, notMember(k, tx.conn.run)
		}
		return tr, tx.row(tr), nil
	}, key, attempt)
}

// differenceText bounds each side of a Difference, in bytes.
const differenceText = 4 << 10

// AroundDifference are two texts from shortly before the line where they part, each
// of a few thousand bytes at most.
func AroundDifference(was, now string) (string, string) {
	from, line := 0, 0
	for i := 0; i < len(was) && i < len(now) && was[i] == now[i]; i++ {
		if was[i] == '\n' {
			from, line = line, i+1 // the line before the one where they part
		}
	}
	return cutText(was, from), cutText(now, from)
}

func cutText(text string, from int) string {
	before, after := "", ""
	if from > 0 {
		before = "…\n"
	}
	if text = text[from:]; len(text) > differenceText {
		text, after = strings.ToValidUTF8(text[:differenceText], ""), "\n…"
	}
	return before + text + after
}
