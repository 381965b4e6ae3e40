package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rollbench/engine/infer"
	"rollbench/sessions"
)

// A person may ask for further replies to the prompt of the reply that waits,
// and pick one. All of them are kept; those not in effect are superseded.

// sampleStart says whether a prompt begins a new sample, and where it broke.
type sampleStart struct {
	is bool
	at int
}

// maxResample bounds what one verb may sample.
const maxResample = 16

// nextVersion is that of the next reply to the prompt of the last one.
func (l *Loop) nextVersion() int {
	v := l.last.Version
	for _, o := range l.others {
		v = max(v, o.Version)
	}
	return v + 1
}

// takeOver puts another reply to the same prompt in the place of the last one.
func (l *Loop) takeOver(t *sessions.Turn) {
	old := *l.last
	old.Superseded = true
	l.others = append(l.others, &old)
	l.last = t
	l.sent[len(l.sent)-1] = assistant(t)
	l.used = l.usedWith(t)
	l.Gate.know(l.standing(sessions.AfterReply))
}

// resample makes n more replies to the prompt of the one that waits. A held
// trajectory takes a run slot for it and is held again as it was. The time of
// the run stage stands still.
func (l *Loop) resample(ctx context.Context, at sessions.Gate, n int) error {
	if !l.standing(at).open {
		return nil // the verb was accepted just before the trajectory went on
	}
	was := l.away
	if was != nil {
		if err := l.want(ctx, func() {}); err != nil {
			return err
		}
		if err := l.commit(ctx, sessions.KindState, sessions.StateChange{State: sessions.Running}); err != nil {
			return err
		}
	}
	err := l.moreReplies(ctx, at, n)
	if err != nil || was == nil {
		return err
	}
	return l.hold(ctx, *was)
}

// moreReplies records each as it comes. One that fails ends it with a warning:
// the reply that waits is still there.
func (l *Loop) moreReplies(ctx context.Context, at sessions.Gate, n int) error {
	for i := range n {
		t, err := l.another(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			text := fmt.Sprintf("turn %d: %d of %d fresh replies: %s", l.turn, i, n, strings.Join(strings.Fields(err.Error()), " "))
			return l.commit(ctx, sessions.KindWarning, sessions.Warning{Text: text})
		}
		l.others = append(l.others, t)
		l.Gate.know(l.standing(at)) // whoever sees it may pick it
		w := sessions.Write{Turn: t, Events: []sessions.Event{l.event(sessions.KindResampled,
			sessions.Resampled{Turn: t.Index, Version: t.Version, OutputTokens: t.OutputTokens, Logprob: logprobSum(t)})}}
		if i == 0 {
			err = l.intervened(ctx, at, w, sessions.Intervention{Verb: "resample", After: strconv.Itoa(n) + " asked for"})
		} else {
			err = l.Record.Commit(ctx, w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func logprobSum(t *sessions.Turn) *float64 {
	if t.Logprobs == nil {
		return nil
	}
	sum := 0.0
	for _, p := range t.Logprobs {
		sum += p
	}
	return &sum
}

// another reply to the prompt of the last one, sampled by a seed of its own:
// an endpoint that heeds seeds would give the same one again.
func (l *Loop) another(ctx context.Context) (*sessions.Turn, error) {
	old, version := l.last, l.nextVersion()
	used := max(old.PromptTokens-l.firstLen, 0)
	room := l.Budget - used
	if l.ContextLen > 0 {
		room = min(room, l.ContextLen-old.PromptTokens)
	}
	if room < 1 {
		return nil, fmt.Errorf("%d of %d tokens are used", used, l.Budget)
	}
	set, began := l.samplingOf(old.Index, version), l.Now()
	reply, err := l.stoppable(ctx, func(ctx context.Context) (infer.Reply, error) { return l.sampleAgain(ctx, old, set, room) })
	if err != nil {
		return nil, err
	}
	if reply.PromptTokens == 0 {
		reply.PromptTokens = old.PromptTokens
	}
	t := l.newTurn(reply)
	t.Index, t.Version, t.Superseded, t.New, t.Started, t.Sampling = old.Index, version, true, old.New, began, encodeSampling(set)
	t.NewSample, t.BreakAt = l.clean.is, l.clean.at
	if old.PromptIDs != nil && t.PromptIDs != nil && !slices.Equal(old.PromptIDs, t.PromptIDs) {
		t.NewSample, t.BreakAt = true, differ(old.PromptIDs, t.PromptIDs) // the endpoint renders it anew
	}
	l.read(ctx, t)
	return t, nil
}

// sampleAgain makes the call: by the exact ids of the prompt, or its messages.
func (l *Loop) sampleAgain(ctx context.Context, old *sessions.Turn, set infer.Sampling, room int) (infer.Reply, error) {
	doing := func() { l.Watch.Doing(old.Index, "model") }
	doing()
	defer l.Watch.Doing(old.Index, "")
	if !l.Tokens || old.PromptIDs == nil {
		return l.Model.Chat(ctx, infer.Request{Messages: slices.Clone(l.sent[:len(l.sent)-1]), Tools: l.specs(), Sampling: set, MaxTokens: room,
			SessionID: l.SessionID, Stream: l.Watch.Text, Restart: doing})
	}
	if err := l.learn(ctx, old.PromptIDs); err != nil {
		return infer.Reply{}, err
	}
	return l.Model.Complete(ctx, infer.TokenRequest{Prompt: old.PromptIDs, Sampling: set, MaxTokens: room, SessionID: l.SessionID,
		Stream: l.Watch.Text, Restart: doing})
}

// differ is the first position where two prompts are not the same.
func differ(a, b []int32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// pick the reply with that version: it takes the place of the one that waits.
func (l *Loop) pick(ctx context.Context, at sessions.Gate, version int) error {
	if !l.standing(at).open {
		return nil
	}
	old := l.last
	name := func(v int) string { return "reply " + strconv.Itoa(v) }
	i := slices.IndexFunc(l.others, func(t *sessions.Turn) bool { return t.Version == version })
	if i < 0 { // the one in effect: a person chose it all the same
		return l.intervened(ctx, at, sessions.Write{}, sessions.Intervention{Verb: "pick", Before: name(old.Version), After: name(old.Version)})
	}
	t := *l.others[i]
	t.Superseded = false
	l.others = slices.Delete(l.others, i, i+1)
	l.takeOver(&t)
	w := sessions.Write{Turn: &t, Supersede: old.Version, Events: []sessions.Event{l.event(sessions.KindPicked, l.replyFact(&t))}}
	if err := l.intervened(ctx, at, w, sessions.Intervention{Verb: "pick", Before: name(old.Version), After: name(version)}); err != nil {
		return err
	}
	return l.judge(ctx)
}

// Resample asks for n more replies to the prompt of the one that waits.
func (g *Gate) Resample(n int) error {
	if n < 1 || n > maxResample {
		return fmt.Errorf("%d replies: ask for 1 to %d at a time", n, maxResample)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.openReply(); err != nil {
		return err
	}
	g.add(Change{Verb: "resample", N: n})
	return nil
}

// Pick one of the replies to the same prompt.
func (g *Gate) Pick(version int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.openReply(); err != nil {
		return err
	}
	if !slices.Contains(g.now.versions, version) {
		return fmt.Errorf("there is no reply %d to pick", version)
	}
	g.add(Change{Verb: "pick", Version: version})
	return nil
}

// openReply refuses what needs a reply that nothing has answered; mu is held.
func (g *Gate) openReply() error {
	if !g.held || g.at != sessions.AfterReply || !g.now.open {
		return errors.New("no reply waits: hold the trajectory after a reply, before its tool runs (pause, then step)")
	}
	return nil
}
