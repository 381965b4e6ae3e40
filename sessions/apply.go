package sessions

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// NewTrajectory is the row of a member before its first event.
func NewTrajectory(key Key, created time.Time) Trajectory {
	return Trajectory{Key: key, Attempt: 1, State: Queued, Since: created}
}

// Apply reduces one event into its trajectory. It is the only place where a
// fact becomes state; a full replay from NewTrajectory gives the same row.
// Kinds that change no row (and kinds of later versions) are passed over; an
// error means that the payload cannot be read, and t is then unchanged.
func Apply(t *Trajectory, e Event) error {
	apply, ok := reducers[e.Kind]
	if !ok {
		return nil
	}
	next := *t
	if err := apply(&next, e); err != nil {
		return fmt.Errorf("event %s of %s: unreadable payload: %w", e.Kind, e.Key, err)
	}
	*t = next
	return nil
}

// reducers never change what t's slices and pointers refer to: rows are
// copied by value and share them.
var reducers = map[Kind]func(t *Trajectory, e Event) error{
	KindState:        with(applyState),
	KindAttempt:      with(applyAttempt),
	KindSandbox:      with(applySandbox),
	KindReply:        with(applyReply),
	KindToolStarted:  with(applyToolStarted),
	KindToolFinished: with(applyToolFinished),
	KindFinish:       with(applyFinish),
	KindCause:        with(applyCause),
	KindPatch:        with(applyPatch),
	KindReward:       with(applyReward),
	KindTampering:    with(func(t *Trajectory, p Tampering, _ time.Time) { t.Tampering = p.Signs }),
	KindBreak:        func(t *Trajectory, _ Event) error { t.Breaks++; return nil },
	KindResampled:    with(applyResampled),
	KindPicked:       with(applyPicked),
	KindBudget:       with(applyBudget),
	KindMarks:        with(applyMarks),
	KindForked:       with(applyForked),
	KindRebuilt:      with(applyRebuilt),
	KindIntervention: func(t *Trajectory, _ Event) error { t.Intervened = true; return nil },
}

// with decodes the payload for a typed reducer.
func with[P any](apply func(t *Trajectory, p P, at time.Time)) func(*Trajectory, Event) error {
	return func(t *Trajectory, e Event) error {
		var p P
		if err := json.Unmarshal(e.Data, &p); err != nil {
			return err
		}
		apply(t, p, e.Time)
		return nil
	}
}

func applyState(t *Trajectory, p StateChange, at time.Time) {
	if t.State != p.State || t.Held != p.Held || t.HeldAt != p.At {
		t.Since = at // the same state said again (new limits) is not entered again
	}
	t.State, t.Held, t.HeldAt, t.HeldWhy = p.State, "", "", ""
	t.Ended = time.Time{}
	switch {
	case p.State == Queued:
		t.Started = time.Time{}
	case p.State.Ended():
		t.Ended, t.ToolSince = at, time.Time{}
	case t.Started.IsZero():
		t.Started = at
	}
	if p.State == Held {
		t.Held, t.HeldAt, t.HeldWhy = p.Held, p.At, p.Why
	}
	if p.Budget > 0 {
		t.Budget = p.Budget
	}
	if p.Turns > 0 {
		t.MaxTurns = p.Turns
	}
}

// applyAttempt starts a clean row: what was done to an earlier attempt
// (interventions too) belongs to that attempt, which is kept and not exported.
// A person's marks are of the trajectory, and so is what it was forked from.
func applyAttempt(t *Trajectory, p Attempt, at time.Time) {
	if p.N == t.Attempt {
		return // announces the attempt that is already going on
	}
	fresh := NewTrajectory(t.Key, at)
	fresh.Attempt = p.N
	fresh.Masked, fresh.Dropped, fresh.Tags, fresh.Note = t.Masked, t.Dropped, t.Tags, t.Note
	if t.Fork != nil {
		fresh.startFrom(t.Fork)
	}
	*t = fresh
}

func applySandbox(t *Trajectory, p SandboxChange, _ time.Time) {
	id := p.ID
	if p.Kind == "docker" && len(id) > 12 {
		id = id[:12] // as docker ps shows it
	}
	label := strings.TrimSpace(p.Kind + " " + id)
	switch {
	case p.Open:
		t.Sandbox = label
	case p.ID == "" || t.Sandbox == label:
		t.Sandbox = "" // a late close of the run sandbox must not hide the eval sandbox
	}
}

func applyReply(t *Trajectory, p ReplyMade, _ time.Time) {
	t.Turn, t.Tokens = p.Turn, p.Tokens
	if p.FirstLen > 0 {
		t.FirstLen = p.FirstLen
	}
	if p.Source == FromModel {
		t.Sampled += p.OutputTokens
	}
}

func applyResampled(t *Trajectory, p Resampled, _ time.Time) { t.Sampled += p.OutputTokens }

// applyPicked: its tokens were counted as they were sampled.
func applyPicked(t *Trajectory, p ReplyMade, _ time.Time) { t.Turn, t.Tokens = p.Turn, p.Tokens }

func applyBudget(t *Trajectory, p Budget, _ time.Time) {
	t.MaxTurns, t.Budget = cmp.Or(p.Turns, t.MaxTurns), cmp.Or(p.Tokens, t.Budget)
}

func applyMarks(t *Trajectory, p Marks, _ time.Time) {
	t.Masked, t.Dropped, t.Tags, t.Note = p.Mask, p.Drop, p.Tags, p.Note
}

func applyToolStarted(t *Trajectory, p ToolStarted, at time.Time) {
	t.Tool, t.ToolSince = p.Tool, at
}

func applyToolFinished(t *Trajectory, p ToolFinished, _ time.Time) {
	t.Tool, t.ToolSince = p.Tool, time.Time{}
}

// applyFinish keeps the first reason and adds later ones as causes. A clean
// end (finish_tool, final_answer) is no cause of anything: what goes wrong
// after it (no patch, a failed evaluation, a cancel) becomes the reason.
func applyFinish(t *Trajectory, p Finished, _ time.Time) {
	switch {
	case t.Finish == "" || cleanEnd(FinishReason(t.Finish)) && !cleanEnd(p.Reason):
		t.Finish = string(p.Reason)
		if p.Detail != "" && !p.Reason.Rule().Evaluated { // what failed, not how the policy ended
			addCause(t, p.Detail)
		}
	case t.Finish == string(p.Reason):
	case p.Detail != "":
		addCause(t, string(p.Reason)+": "+p.Detail)
	default:
		addCause(t, string(p.Reason))
	}
}

func cleanEnd(r FinishReason) bool { return r == FinishTool || r == FinalAnswer }

func applyCause(t *Trajectory, p Cause, _ time.Time) {
	if p.Stage == "" {
		addCause(t, p.Error)
		return
	}
	addCause(t, p.Stage+": "+p.Error)
}

func addCause(t *Trajectory, cause string) {
	t.Causes = append(slices.Clip(t.Causes), cause)
}

func applyPatch(t *Trajectory, p PatchTaken, _ time.Time) {
	t.HasPatch, t.PatchBytes = p.Bytes > 0, p.Bytes
}

func applyReward(t *Trajectory, p Rewarded, _ time.Time) {
	t.Reward, t.EvalNote = p.Reward, p.Note
}
