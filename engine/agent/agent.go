// Package agent is the loop of one trajectory: prompt → model → parse → tool →
// observation, turn by turn, with gates where a person may step in and a
// budget of tokens, turns and time (SkyRL-Agent, arXiv 2511.16108 §3).
//
// In: the instance's instruction, a model, tools, limits. Out: an Outcome (why
// it ended) and, through the Recorder, every reply and observation, each
// committed before the next thing happens. The loop is the only writer of its
// trajectory's run stage.
package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rollbench/engine/breaks"
	"rollbench/engine/calls"
	"rollbench/engine/infer"
	"rollbench/sessions"
	"rollbench/tools"
)

// Model answers prompts. It is what the loop needs of an inference endpoint.
type Model interface {
	Chat(ctx context.Context, r infer.Request) (infer.Reply, error)
	// Tokenize renders the messages by the endpoint's own template.
	Tokenize(ctx context.Context, m []infer.Message, t []infer.Tool, addGenerationPrompt bool) ([]int32, error)
	Detokenize(ctx context.Context, ids []int32) (string, error)
	// Complete continues exact ids.
	Complete(ctx context.Context, r infer.TokenRequest) (infer.Reply, error)
}

// Toolset runs the calls of one trajectory.
type Toolset interface {
	Specs() []tools.Spec
	Run(ctx context.Context, name, arguments string) (tools.Result, error)
}

// Recorder makes facts durable; Commit returns when they are.
type Recorder interface {
	Commit(ctx context.Context, w sessions.Write) error
}

// Slot is the trajectory's place in the run stage: given back while held.
type Slot interface {
	Hold()
	// Want waits for a slot again; waits is called when none is free.
	Want(ctx context.Context, waits func()) error
}

// Watcher sees what is going on right now. Its methods must not block.
type Watcher interface {
	Doing(turn int, what string) // "model", a tool's name, "" for nothing
	Text(piece string)
}

// Breakpoints are asked at every gate.
type Breakpoints interface {
	Any() bool // cheap: whether to look at all
	Meet(p breaks.Place) []sessions.BreakpointHit
}

// Config of one trajectory.
type Config struct {
	Key       sessions.Key
	Attempt   int
	SessionID string // X-Session-ID: one per trajectory and attempt

	System      string
	Instruction string
	// Talk is what the conversation begins with after System; nil: Instruction, of
	// the user.
	Talk     []Said
	MaxTurns int // model replies at most
	// Budget is in tokens: everything after the first prompt, sampled and
	// observed (generator.max_prompt_length, as SkyRL-Agent counts it).
	Budget   int
	Sampling infer.Sampling
	// Reminder of the turns that are left: every turn, the last one, or off. The
	// model is told once that the budget runs out when LowBudget tokens of it or
	// fewer are left; 0: never.
	Reminder  Reminder
	LowBudget int
	// Tokens: prompts are ids that extend the last prompt and reply; else the
	// endpoint renders each prompt from messages. It needs CanTokenize.
	Tokens bool
	// Format is how the model writes calls into its text, where they are read
	// here: in token mode always, else where the endpoint returned none.
	Format calls.Format
	// Limit is the time of the whole run stage; it stands still while held.
	Limit time.Duration
	// CallLimit ends a call that is still running, whatever the tool; 0: none.
	// Most tools have shorter limits of their own.
	CallLimit time.Duration
	// CanTokenize: the endpoint's /tokenize gives exact prompt lengths before
	// a call and the ids of operator-made replies.
	CanTokenize bool
	// Outage is how long a call is tried again, the trajectory held, while the
	// endpoint is away.
	Outage time.Duration
	// ContextLen is the model's context window in tokens, 0 when unknown.
	ContextLen int
}

// Said is a message of the task.
type Said struct{ Role, Content string }

// firstMessages of the conversation.
func (c Config) firstMessages() []sessions.Message {
	talk := c.Talk
	if talk == nil {
		talk = []Said{{"user", c.Instruction}}
	}
	out := []sessions.Message{{Role: "system", Content: c.System, Source: sessions.FromTask}}
	for _, m := range talk {
		out = append(out, sessions.Message{Role: m.Role, Content: m.Content, Source: sessions.FromTask})
	}
	return out
}

// Outcome is why the run stage ended.
type Outcome struct {
	Reason sessions.FinishReason
	Detail string
}

// Loop runs one trajectory. Fields are set before Run and not changed, but for
// the budgets, which a person may raise.
type Loop struct {
	Config
	Model  Model
	Tools  Toolset
	Record Recorder
	Gate   *Gate
	Slot   Slot
	Watch  Watcher
	Breaks Breakpoints // nil: none
	Hand   Hand        // nil: no commands of a person
	Now    func() time.Time
	// First is why the loop is held at its first gate, whatever was asked of the
	// gate; "" when it is not.
	First string
	// Met are the breakpoints that an earlier part of the run recorded: where they were
	// met they are not counted again. Stood is the gate where one of them held the loop
	// when that part ended, and holds it again; "" when none did.
	Met   []sessions.BreakpointHit
	Stood sessions.Gate

	fresh     []sessions.Message    // added since the last reply: the next turn's New
	injected  []sessions.Message    // a person's, to follow fresh in the next prompt
	asked     []sessions.Message    // fresh and injected, as the next prompt has them
	sent      []infer.Message       // the conversation up to the last reply
	last      *sessions.Turn        // the last reply that counts
	others    []*sessions.Turn      // further replies to its prompt, superseded
	clean     sampleStart           // how the first of them begins
	away      *sessions.StateChange // how it is held, its slot given back; nil: it has its slot
	turn      int                   // replies so far
	firstLen  int                   // tokens of the first prompt
	promptLen int                   // tokens of the next prompt, by /tokenize
	used      int                   // of Budget
	before    int                   // used before the last reply
	active    time.Duration         // of Limit
	history   []step                // for stuck detection
	earlier   []step                // history without the last turn
	closing   []int32               // what the template puts after an assistant's text, in token mode
	opening   *string               // thinking tag with which prompts end, in token mode
	ended     sessions.FinishReason // of the run stage, at the last gate
}

// ending is the error that ends the run stage for a reason.
type ending struct {
	reason sessions.FinishReason
	detail string
	cause  error
	known  bool // already recorded, with its turn
}

func (e *ending) Error() string {
	if e.detail == "" {
		return string(e.reason)
	}
	return fmt.Sprintf("%s: %s", e.reason, e.detail)
}

func (e *ending) Unwrap() error { return e.cause }

func (e *ending) fact() sessions.Finished {
	return sessions.Finished{Reason: e.reason, Detail: e.detail}
}

// done commits the turn as complete, in one write with the end of the run
// stage when it is the last: a resume never asks the model again after it.
func (l *Loop) done(ctx context.Context, t *sessions.Turn, why error) error {
	t.Complete = true
	w := sessions.Write{Turn: t, Events: []sessions.Event{l.event(sessions.KindTurnDone, sessions.TurnDone{Turn: t.Index})}}
	var last *ending
	if errors.As(why, &last) {
		w.Events = append(w.Events, l.event(sessions.KindFinish, last.fact()))
		last.known = true
	}
	return l.Record.Commit(ctx, w)
}

func end(reason sessions.FinishReason, format string, args ...any) error {
	return &ending{reason: reason, detail: fmt.Sprintf(format, args...)}
}

// Run goes on to the end of the run stage. An error means that the loop was
// interrupted from outside (ctx's cause) or could not record; nothing is
// decided then.
func (l *Loop) Run(ctx context.Context) (Outcome, error) {
	if l.turn == 0 && l.fresh == nil {
		l.fresh = l.firstMessages()
	}
	err := l.turns(ctx)
	var why *ending
	if !errors.As(err, &why) {
		return Outcome{}, err
	}
	if !why.known {
		if err := l.commit(ctx, sessions.KindFinish, why.fact()); err != nil {
			return Outcome{}, err
		}
	}
	return Outcome{Reason: why.reason, Detail: why.detail}, l.Leave(ctx, why.reason)
}

// Leave passes the gate before the verifier, for what is evaluated. Run does so; it is
// for a loop that ended in an earlier part of the run, before it was let through.
func (l *Loop) Leave(ctx context.Context, ended sessions.FinishReason) error {
	l.ended = ended
	if !ended.Rule().Evaluated {
		return nil
	}
	err := l.gate(ctx, sessions.BeforeEval)
	if why := (*ending)(nil); errors.As(err, &why) {
		return nil // it has ended already
	}
	return err
}

// turns is the loop proper; it always returns an error, an *ending in the
// ordinary case.
func (l *Loop) turns(ctx context.Context) error {
	switch {
	case l.last == nil:
	case !l.last.Complete: // resumed between reply and tools
		if err := l.finishTurn(ctx); err != nil {
			return err
		}
	default:
		if err := l.leaveTurn(ctx); err != nil {
			return err
		}
	}
	for l.turn < l.MaxTurns {
		if err := l.gate(ctx, sessions.BeforeModel); err != nil {
			return err
		}
		if !l.written() {
			if err := l.ask(ctx); err != nil {
				return err
			}
		}
		if err := l.finishTurn(ctx); err != nil {
			return err
		}
	}
	return end(sessions.MaxIterationsReached, "%d turns", l.MaxTurns)
}

// finishTurn does what follows from the last reply.
func (l *Loop) finishTurn(ctx context.Context) error {
	if err := l.judge(ctx); err != nil {
		return err
	}
	if err := l.gate(ctx, sessions.AfterReply); err != nil {
		return err
	}
	if err := l.act(ctx); err != nil {
		return err
	}
	if err := l.gate(ctx, sessions.AfterTool); err != nil {
		return err
	}
	return l.checkStuck()
}

// leaveTurn does what follows the tools of a turn, where an earlier part of the run ended
// before it was done. A fork goes on from its parent's turn, whatever ended the parent there.
func (l *Loop) leaveTurn(ctx context.Context) error {
	if l.Stood == sessions.AfterTool {
		if err := l.gate(ctx, sessions.AfterTool); err != nil {
			return err
		}
	}
	if l.last.Origin != nil || l.last.Key != l.Key {
		return nil
	}
	return l.checkStuck()
}

// event of this trajectory, now.
func (l *Loop) event(kind sessions.Kind, payload any) sessions.Event {
	return sessions.NewEvent(l.Now(), l.Key, kind, payload)
}

func (l *Loop) commit(ctx context.Context, kind sessions.Kind, payload any) error {
	return l.Record.Commit(ctx, sessions.Write{Events: []sessions.Event{l.event(kind, payload)}})
}

// timed gives f what is left of the run stage's time and counts what it took.
// what is the thing that f waits for, in words.
func (l *Loop) timed(ctx context.Context, what string, f func(context.Context) error) error {
	if l.Limit <= 0 {
		return f(ctx)
	}
	left := l.Limit - l.active
	began := l.Now()
	sub, cancel := context.WithTimeoutCause(ctx, left, errTime)
	defer cancel()
	err := f(sub)
	took := l.Now().Sub(began)
	l.active += took
	if err == nil || ctx.Err() != nil || !errors.Is(context.Cause(sub), errTime) {
		return err
	}
	if err := l.Record.Commit(ctx, sessions.Write{Events: []sessions.Event{l.struck("limits.run", l.Limit, what, took)}}); err != nil {
		return err
	}
	return end(sessions.TrajectoryTimeout, "the run stage took its %v", l.Limit)
}

// struck says which limit ended the wait for something.
func (l *Loop) struck(limit string, bound time.Duration, what string, waited time.Duration) sessions.Event {
	return l.event(sessions.KindLimit, sessions.LimitStruck{Stage: "run", Limit: limit, Bound: bound, For: what, Waited: waited})
}

var errTime = errors.New("the time of the run stage is used up")
