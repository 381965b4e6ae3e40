package replay

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"rollbench/sessions"
)

var t0 = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

var (
	alice = sessions.Key{Instance: "alice", ID: 0}
	bob   = sessions.Key{Instance: "alice", ID: 1}
)

// live is what a reader saw of a run right after a commit.
type live struct {
	at      time.Duration
	rows    []sessions.Trajectory
	turns   map[sessions.Key][]sessions.Turn
	patch   []byte
	log     []byte
	output  []byte
	written int64 // seq
}

// recorder writes a run a second at a time and remembers how it looked after each write.
type recorder struct {
	t    *testing.T
	s    *sessions.Store
	now  time.Duration
	seen []live
}

func record(t *testing.T, home string) *recorder {
	t.Helper()
	s, err := sessions.Create(t.Context(), home, sessions.Run{ID: "r-1", Created: t0, Title: "two", N: 2, Members: []sessions.Key{alice, bob}, Model: "m", Policy: "async_pipeline"})
	if err != nil {
		t.Fatal(err)
	}
	return &recorder{t: t, s: s}
}

func (r *recorder) event(k sessions.Key, kind sessions.Kind, payload any) sessions.Event {
	return sessions.NewEvent(t0.Add(r.now), k, kind, payload)
}

// commit a write a second after the one before, and look.
func (r *recorder) commit(w sessions.Write) {
	r.t.Helper()
	if err := r.s.Commit(r.t.Context(), w); err != nil {
		r.t.Fatal(err)
	}
	r.seen = append(r.seen, look(r.t, r.s, r.now))
	r.now += time.Second
}

func look(t *testing.T, s sessions.Reader, at time.Duration) live {
	t.Helper()
	l := live{at: at, turns: map[sessions.Key][]sessions.Turn{}}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	l.rows, l.written, err = s.Trajectories(t.Context())
	must(err)
	for _, row := range l.rows {
		l.turns[row.Key], err = s.Turns(t.Context(), row.Key, 0, 0, 0, true)
		must(err)
	}
	l.patch, err = s.Patch(t.Context(), alice)
	must(err)
	l.log, err = s.EvalLog(t.Context(), alice)
	must(err)
	l.output, err = s.Output(t.Context(), sessions.CallPlace{Key: alice, Turn: 2}, 0, 100)
	must(err)
	return l
}

func reply(turn, version int, source sessions.Source) sessions.ReplyMade {
	return sessions.ReplyMade{Turn: turn, Version: version, Source: source, OutputTokens: 2, Tokens: 10 * turn}
}

func turn(k sessions.Key, n, version int, text string) *sessions.Turn {
	return &sessions.Turn{Key: k, Attempt: 1, Index: n, Version: version, Source: sessions.FromModel, Content: text, Raw: text,
		PromptIDs: []int32{1, 2, int32(n)}, OutputIDs: []int32{7, int32(version)}, Logprobs: []float64{-0.1, -0.2},
		Calls: []sessions.Call{{ID: "c1", Name: "execute_bash", Arguments: `{"command":"ls"}`}}, Started: t0}
}

func saw(text string) []sessions.Observation {
	return []sessions.Observation{{CallID: "c1", Tool: "execute_bash", Text: text, Status: "ok", Started: t0, Source: sessions.FromTool}}
}

// everything that happens to a turn happens in it: an edited call, fresh replies of
// which one is picked, a rejection, an edited observation, a new attempt.
func (r *recorder) everything() {
	write := func(t *sessions.Turn, supersede int, events ...sessions.Event) {
		r.t.Helper()
		r.commit(sessions.Write{Turn: t, Supersede: supersede, Events: events})
	}
	r.commit(sessions.Write{Events: []sessions.Event{
		r.event(sessions.Key{}, sessions.KindRunStarted, sessions.RunStarted{PID: 1}),
		r.event(sessions.Key{}, sessions.KindLimits, sessions.Limits{Who: "config", MaxInit: 2, MaxAgents: 2, MaxEval: 1, MaxLive: 3, Policy: "async_pipeline"})}})
	for _, k := range []sessions.Key{alice, bob} {
		r.commit(sessions.Write{Events: []sessions.Event{r.event(k, sessions.KindState, sessions.StateChange{State: sessions.Running, Budget: 100, Turns: 5})}})
	}
	// Turn 1: edited by a person, then done.
	one := turn(alice, 1, 1, "first")
	write(one, 0, r.event(alice, sessions.KindReply, reply(1, 1, sessions.FromModel)))
	edited := turn(alice, 1, 2, "edited")
	edited.Source, edited.OutputIDs, edited.Logprobs = sessions.FromOperator, nil, nil
	write(edited, 1, r.event(alice, sessions.KindReply, reply(1, 2, sessions.FromOperator)), r.event(alice, sessions.KindIntervention, sessions.Intervention{Verb: "edit", Turn: 1, By: "operator"}))
	r.commit(sessions.Write{Events: []sessions.Event{r.event(alice, sessions.KindToolFinished, sessions.ToolFinished{Turn: 1, Tool: "execute_bash", Status: "ok"})}})
	edited.Observations, edited.Complete = saw("as it was"), true
	write(edited, 0, r.event(alice, sessions.KindTurnDone, sessions.TurnDone{Turn: 1}))
	// What it returned is edited twice.
	for _, c := range [][2]string{{"as it was", "as I want it"}, {"as I want it", "as I really want it"}} {
		o := &edited.Observations[0]
		if o.Was == "" {
			o.Before, o.Was = o.Text, o.Source
		}
		o.Text, o.Source = c[1], sessions.FromOperator
		write(edited, 0, r.event(alice, sessions.KindIntervention, sessions.Intervention{Verb: "edit_observation", Turn: 1, By: "operator", Before: c[0], After: c[1]}))
	}
	// Turn 2: two fresh replies, the second one is picked; its output is kept.
	two := turn(alice, 2, 1, "second")
	write(two, 0, r.event(alice, sessions.KindReply, reply(2, 1, sessions.FromModel)))
	for v := 2; v <= 3; v++ {
		other := turn(alice, 2, v, "another")
		other.Superseded = true
		write(other, 0, r.event(alice, sessions.KindResampled, sessions.Resampled{Turn: 2, Version: v, OutputTokens: 2}))
	}
	picked := turn(alice, 2, 3, "another")
	write(picked, 1, r.event(alice, sessions.KindPicked, reply(2, 3, sessions.FromModel)), r.event(alice, sessions.KindIntervention, sessions.Intervention{Verb: "pick", Turn: 2, By: "operator"}))
	if err := r.s.Commit(r.t.Context(), sessions.Write{Chunk: &sessions.Chunk{CallPlace: sessions.CallPlace{Key: alice, Attempt: 1, Turn: 2}, Data: []byte("all of it")}}); err != nil {
		r.t.Fatal(err)
	}
	picked.Observations, picked.Complete = saw("a part of it"), true
	picked.Observations[0].Output = &sessions.Output{Size: 9, Head: 9}
	write(picked, 0, r.event(alice, sessions.KindTurnDone, sessions.TurnDone{Turn: 2}))
	// Turn 3: rejected.
	three := turn(alice, 3, 1, "third")
	write(three, 0, r.event(alice, sessions.KindReply, reply(3, 1, sessions.FromModel)))
	three.Observations = []sessions.Observation{{CallID: "c1", Tool: "execute_bash", Text: "no", Status: "rejected", Started: t0, Source: sessions.FromOperator}}
	write(three, 0, r.event(alice, sessions.KindIntervention, sessions.Intervention{Verb: "reject", Turn: 3, By: "operator", After: "no"}))
	three.Complete = true
	write(three, 0, r.event(alice, sessions.KindTurnDone, sessions.TurnDone{Turn: 3}), r.event(alice, sessions.KindFinish, sessions.Finished{Reason: sessions.FinishTool}))
	r.commit(sessions.Write{Patch: []byte("diff"), Key: alice, Attempt: 1, Events: []sessions.Event{r.event(alice, sessions.KindPatch, sessions.PatchTaken{Bytes: 4, Files: 1})}})
	one2 := 1.0
	r.commit(sessions.Write{EvalLog: []byte("ok"), Key: alice, Attempt: 1, Events: []sessions.Event{
		r.event(alice, sessions.KindReward, sessions.Rewarded{Reward: &one2}), r.event(alice, sessions.KindState, sessions.StateChange{State: sessions.Done})}})
	// The other one starts again.
	write(turn(bob, 1, 1, "in vain"), 0, r.event(bob, sessions.KindReply, reply(1, 1, sessions.FromModel)))
	r.commit(sessions.Write{Events: []sessions.Event{r.event(bob, sessions.KindAttempt, sessions.Attempt{N: 2, Why: "lost"})}})
	again := turn(bob, 1, 1, "again")
	again.Attempt = 2
	write(again, 0, r.event(bob, sessions.KindReply, reply(1, 1, sessions.FromModel)))
}

// At each moment a replay shows what a reader saw when it happened, whichever way it
// came there.
func TestAsItWas(t *testing.T) {
	home := t.TempDir()
	r := record(t, home)
	r.everything()
	if err := r.s.Close(); err != nil {
		t.Fatal(err)
	}
	p := openAt(t, home, 0)
	p.Pause()
	visit := func(want live) {
		t.Helper()
		p.Skip(want.at - p.Position().At)
		got, was := show(t, normal(look(t, p, want.at))), show(t, normal(want))
		for i := range max(len(got), len(was)) {
			if i >= len(got) || i >= len(was) || got[i] != was[i] {
				t.Errorf("at %s it is\n%q\nand it was\n%q", want.at, got[min(i, len(got)):], was[min(i, len(was)):])
				return
			}
		}
	}
	for _, want := range r.seen {
		visit(want)
	}
	for i := len(r.seen) - 1; i >= 0; i-- {
		visit(r.seen[i])
	}
	visit(r.seen[len(r.seen)-1])
}

func openAt(t *testing.T, home string, from time.Duration) *Player {
	t.Helper()
	src, err := sessions.OpenReader(context.Background(), home, "r-1")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Open(context.Background(), src, from, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// show is a line for each fact of what was seen.
func show(t *testing.T, l live) []string {
	t.Helper()
	var lines []string
	add := func(name string, v any) {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, name+" "+string(data))
	}
	for _, row := range l.rows {
		add("row", row)
		for _, turn := range l.turns[row.Key] {
			add("turn", turn)
		}
	}
	add("patch, log, output", []any{l.patch, l.log, l.output, l.written})
	return lines
}

// normal form: a list without elements is no list, whoever made it, and what a call
// printed is shown with its observation.
func normal(l live) live {
	turns := map[sessions.Key][]sessions.Turn{}
	for k, list := range l.turns {
		for _, t := range list {
			if len(t.Observations) == 0 {
				t.Observations = nil
			}
			turns[k] = append(turns[k], t)
		}
	}
	l.turns = turns
	if l.output != nil && len(l.output) == 0 {
		l.output = nil
	}
	return l
}
