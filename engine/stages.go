package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"rollbench/engine/agent"
	"rollbench/engine/calls"
	"rollbench/engine/dispatch"
	"rollbench/engine/task"
	"rollbench/sandbox"
	"rollbench/sessions"
	"rollbench/tools"
)

// stages is the Engine as the dispatcher sees it. A stage that is interrupted
// because the run stops leaves the trajectory as it is, to be resumed.
type stages Engine

func (s *stages) engine() *Engine { return (*Engine)(s) }

// Init opens a sandbox, lays the repository and starts the tools.
func (s *stages) Init(ctx context.Context, it dispatch.Item) bool {
	e := s.engine()
	t := e.at(it)
	if ctx.Err() != nil {
		t.fork.opened() // or never to be
		return e.interrupted(ctx, t)
	}
	if !e.state(ctx, t, sessions.StateChange{State: sessions.Init}) {
		return false
	}
	err := e.prepare(ctx, t)
	t.fork.opened()
	switch {
	case err == nil:
		return e.state(ctx, t, sessions.StateChange{State: sessions.Ready})
	case ctx.Err() != nil:
		e.closePlace(t)
		return e.interrupted(ctx, t)
	}
	e.closePlace(t)
	e.concludeFailed(t, sessions.ErrorInitialization, err, sessions.Write{})
	return false
}

// Run is the agent loop; it closes the sandbox once the patch is taken, unless the
// verifier works in it.
func (s *stages) Run(ctx context.Context, it dispatch.Item) (eval bool) {
	e := s.engine()
	t := e.at(it)
	defer func() {
		if !eval || t.in.Grading() != task.InPlace {
			e.closePlace(t)
		}
	}()
	if ctx.Err() != nil {
		return e.interrupted(ctx, t)
	}
	turns, tokens := e.budgetOf(t)
	if !e.state(ctx, t, sessions.StateChange{State: sessions.Running, Budget: tokens, Turns: turns}) {
		return false
	}
	l := e.loop(t, it)
	if t.over != "" {
		err := l.Leave(ctx, t.over)
		t.gate.End()
		if err != nil {
			return e.interruptedBy(ctx, t, err)
		}
		return e.endRun(ctx, t)
	}
	r := &route{engine: e, t: t}
	defer r.leave()
	l.Model = r
	out, err := l.Run(ctx)
	r.leave() // what follows needs no endpoint
	t.gate.End()
	if err != nil {
		return e.interruptedBy(ctx, t, err)
	}
	if !out.Reason.Rule().Evaluated {
		e.opt.Log.Warn("trajectory", "trajectory", t.key.String(), "finish", out.Reason, "detail", out.Detail)
		e.conclude(t, sessions.Failed, sessions.Write{})
		return false
	}
	return e.endRun(ctx, t)
}

// Eval runs the verifier.
func (s *stages) Eval(ctx context.Context, it dispatch.Item) {
	e := s.engine()
	t := e.at(it)
	defer e.closePlace(t)
	if ctx.Err() != nil {
		e.interrupted(ctx, t)
		return
	}
	if !e.state(ctx, t, sessions.StateChange{State: sessions.Evaluating}) {
		return
	}
	verdict, err := e.verdict(ctx, t)
	switch {
	case err == nil:
		e.concludeVerdict(t, verdict)
	case ctx.Err() != nil:
		e.interrupted(ctx, t)
	default:
		e.concludeFailed(t, sessions.ErrorEvaluation, err, sessions.Write{Key: t.key, Attempt: t.attempt, EvalLog: t.evalLog})
	}
}

// Panicked is a defect of a stage: the trajectory's error, not the run's.
func (s *stages) Panicked(it dispatch.Item, st dispatch.Stage, err error) {
	e := s.engine()
	t := e.at(it)
	e.opt.Log.Error("panic", "trajectory", t.key.String(), "error", err)
	first, _, _ := strings.Cut(err.Error(), "\n")
	reason := map[dispatch.Stage]sessions.FinishReason{dispatch.Init: sessions.ErrorInitialization, dispatch.Run: sessions.SandboxLost, dispatch.Eval: sessions.ErrorEvaluation}[st]
	e.closePlace(t)
	e.concludeFailed(t, reason, errors.New(first), sessions.Write{})
}

// loop of the trajectory, set to where an interrupted attempt left it.
func (e *Engine) loop(t *trajectory, it dispatch.Item) *agent.Loop {
	g := e.opt.Config.Generator
	limit := t.in.AgentLimit
	if l := time.Duration(e.opt.Config.Limits.Run); l > 0 {
		limit = l
	}
	turns, tokens := e.budgetOf(t)
	l := &agent.Loop{
		Config: agent.Config{Key: t.key, Attempt: t.attempt, SessionID: e.session(t), System: systemPrompt(g, t.in), Instruction: t.in.Instruction, Talk: talkOf(t.in),
			MaxTurns: turns, Budget: tokens, Sampling: t.fork.sampling(g.Sampling), Limit: limit, CallLimit: e.opt.Config.Tools.callLimit(), Reminder: agent.Reminder(g.Reminder), LowBudget: g.LowBudget,
			CanTokenize: e.opt.Capabilities.Tokenize, Tokens: g.PromptMode == promptTokens, Format: calls.Format(g.ToolFormat), Outage: e.opt.Config.Endpoints.outage(), ContextLen: e.opt.Capabilities.MaxModelLen},
		Tools: t.place.tools, Record: e.store, Gate: t.gate,
		Slot: slot{e.live, it}, Watch: e.streams.of(t.key), Breaks: e.breaks, Hand: e.hand(t), Now: time.Now,
	}
	l.First = t.fork.hold()
	if t.stop != nil {
		l.Met, l.Stood = t.stop.hits, t.stop.stood
	}
	l.Restore(t.turns)
	for _, f := range t.injected {
		l.Reinject(f.as, f.text)
	}
	return l
}

// budgetOf a trajectory: the configuration's, or what a person raised it to.
func (e *Engine) budgetOf(t *trajectory) (turns, tokens int) {
	g := e.opt.Config.Generator
	return cmp.Or(t.budget.Turns, g.MaxIterations), cmp.Or(t.budget.Tokens, g.MaxPromptLength)
}

// systemPrompt of a task: the configuration's, then what the row says. Without a
// configured one the row's stands alone, and a built-in one where it has none.
func systemPrompt(g Generator, in *task.Instance) string {
	switch own := in.System; {
	case g.SystemPrompt != "" && own != "":
		return strings.TrimRight(g.SystemPrompt, "\n") + "\n\n" + own
	case g.SystemPrompt != "" || own != "":
		return g.SystemPrompt + own
	case !in.NeedsPatch():
		return agent.AnswerPrompt
	}
	return agent.SystemPrompt
}

func talkOf(in *task.Instance) (talk []agent.Said) {
	for _, m := range in.Talk {
		talk = append(talk, agent.Said(m))
	}
	return talk
}

// Scaffold is what every policy of the configuration is told alike: the system
// message (of tasks that bring none and are no questions) and the tools, those of MCP
// servers among them.
func Scaffold(c Config, servers *Servers) (system string, specs []tools.Spec, err error) {
	r, err := tools.New(tools.Env{Limits: c.Tools.limits()}, c.Tools.enabled(servers))
	if err != nil {
		return "", nil, fmt.Errorf("[tools]: %w", err)
	}
	return cmp.Or(c.Generator.SystemPrompt, agent.SystemPrompt), r.Specs(), r.Close()
}

// session is the X-Session-ID: one per trajectory and attempt.
func (e *Engine) session(t *trajectory) string {
	return fmt.Sprintf("%s/%s/%d", e.run.ID, t.key, t.attempt)
}

type slot struct {
	live *dispatch.Live
	it   dispatch.Item
}

func (s slot) Hold()                                        { s.live.Hold(s.it) }
func (s slot) Want(ctx context.Context, waits func()) error { return s.live.Want(ctx, s.it, waits) }

// endRun ends the run stage, with what the verifier is to look at. It reports whether
// there is anything.
func (e *Engine) endRun(ctx context.Context, t *trajectory) (eval bool) {
	switch t.in.Grading() {
	case task.ByAnswer:
		return e.handOver(ctx, t)
	case task.InPlace, task.ByArtifacts:
		return e.leave(ctx, t)
	}
	return e.takePatch(ctx, t)
}

// takePatch ends the run stage: the patch decides whether there is anything
// to evaluate.
func (e *Engine) takePatch(ctx context.Context, t *trajectory) bool {
	e.closeTools(t) // nothing of theirs may change files meanwhile
	e.streams.of(t.key).at("the patch to be taken")
	patch, left, err := sweptPatch(ctx, t.in, t.place.sb)
	if ctx.Err() != nil {
		return e.interrupted(ctx, t)
	}
	nothing := "nothing was changed"
	if errors.Is(err, task.ErrNoPatch) { // by the policy: nobody else could
		nothing, err = line(err), nil
	}
	if err != nil {
		reason := sessions.ErrorEvaluation
		if errors.Is(err, sandbox.ErrLost) {
			reason = sessions.SandboxLost
		}
		e.concludeFailed(t, reason, fmt.Errorf("take the patch: %w", err), sessions.Write{})
		return false
	}
	t.patch = patch
	now := time.Now()
	w := sessions.Write{Key: t.key, Attempt: t.attempt, Patch: patch, Events: []sessions.Event{patchTaken(t, patch)}}
	if w.Patch == nil {
		w.Patch = []byte{}
	}
	if len(left) > 0 {
		w.Events = append(w.Events, warning(t, leftOut(left)))
	}
	w.Events = append(w.Events, e.signs(ctx, t, patch, nil)...)
	if len(patch) == 0 {
		zero := 0.0
		w.Events = append(w.Events,
			sessions.NewEvent(now, t.key, sessions.KindFinish, sessions.Finished{Reason: sessions.NoPatch}),
			sessions.NewEvent(now, t.key, sessions.KindReward, sessions.Rewarded{Reward: &zero, Note: nothing}))
		w.Events = append(w.Events, e.rewardHits(t, &zero)...)
		e.conclude(t, sessions.Done, w)
		return false
	}
	w.Events = append(w.Events, sessions.NewEvent(now, t.key, sessions.KindState, sessions.StateChange{State: sessions.Ran}))
	if err := e.store.Commit(context.WithoutCancel(ctx), w); err != nil {
		e.fail(err)
		return false
	}
	return true
}

// leftOut tells of files that are not in the patch.
func leftOut(files []string) string {
	return "left out of the patch: " + line(errors.New(strings.Join(files, ", ")))
}

func patchTaken(t *trajectory, patch []byte) sessions.Event {
	files := strings.Count("\n"+string(patch), "\ndiff --git ")
	return sessions.NewEvent(time.Now(), t.key, sessions.KindPatch, sessions.PatchTaken{Bytes: len(patch), Files: files})
}

// sweptPatch takes the patch after all that was left running has ended: it could change
// files meanwhile, or leave no room for another process.
func sweptPatch(ctx context.Context, in *task.Instance, sb sandbox.Sandbox) (patch []byte, left []string, err error) {
	if s, ok := sb.(sandbox.Sweeper); ok {
		if err := s.Sweep(ctx); err != nil {
			return nil, nil, err
		}
	}
	return in.TakePatch(ctx, sb)
}

// verify once. An error means that the verifier could not run: the reward stays absent.
func (e *Engine) verify(ctx context.Context, t *trajectory) (verdict task.Verdict, err error) {
	switch t.in.Grading() {
	case task.ByAnswer:
		if !t.in.RunsAnswer() {
			verdict, err = e.judge(ctx, t, nil)
			break
		}
		verdict, err = e.inSandbox(ctx, t, e.spec(t, "eval"), func(sb sandbox.Sandbox) (task.Verdict, error) { return e.judge(ctx, t, sb) })
	case task.InPlace:
		verdict, err = e.verifyInPlace(ctx, t)
	case task.ByArtifacts:
		verdict, err = e.verifyArtifacts(ctx, t)
	default:
		verdict, err = e.inSandbox(ctx, t, e.spec(t, "eval"), func(sb sandbox.Sandbox) (task.Verdict, error) {
			return t.in.Verify(ctx, sb, t.patch)
		})
	}
	if err == nil && verdict.Broken {
		t.evalLog = verdict.Log
		err = errors.New(verdict.Note)
	}
	return verdict, err
}

// inSandbox has a verifier work in a fresh sandbox.
func (e *Engine) inSandbox(ctx context.Context, t *trajectory, spec sandbox.Spec, verify func(sandbox.Sandbox) (task.Verdict, error)) (task.Verdict, error) {
	sb, err := e.openSpec(ctx, t, "eval", spec)
	if err != nil {
		return task.Verdict{}, err
	}
	defer e.closeSandbox(t, "eval", sb)
	defer e.streams.of(t.key).Doing(0, "")
	return verify(e.showVerifier(t, sb))
}

// concludeVerdict records what the verifier found.
func (e *Engine) concludeVerdict(t *trajectory, verdict task.Verdict) {
	w := sessions.Write{Key: t.key, Attempt: t.attempt, EvalLog: verdict.Log}
	if verdict.Reward == nil {
		e.concludeFailed(t, sessions.ErrorEvaluation, errors.New(verdict.Note), w)
		return
	}
	w.Events = append(e.rewardHits(t, verdict.Reward), sessions.NewEvent(time.Now(), t.key, sessions.KindReward,
		sessions.Rewarded{Reward: verdict.Reward, Note: verdict.Note, Parts: verdict.Parts, Wall: verdict.Wall}))
	e.conclude(t, sessions.Done, w)
}

// retry a stage whose sandbox failed, in a fresh one, with a doubling wait.
func (e *Engine) retry(ctx context.Context, t *trajectory, stage dispatch.Stage, do func() error) error {
	wait := time.Duration(e.opt.Config.Limits.Backoff)
	for n := 1; ; n++ {
		err := do()
		if err == nil || ctx.Err() != nil || n > e.opt.Config.Limits.Retries || t.in.Grading() == task.InPlace && stage == dispatch.Eval && errors.Is(err, sandbox.ErrLost) {
			return err
		}
		if stage != dispatch.Eval { // what the policy left is all there is of it
			e.closePlace(t)
		}
		text := fmt.Sprintf("%s failed (%d of %d tries): %s; trying again in %v", stage, n, 1+e.opt.Config.Limits.Retries, line(err), wait)
		if err := e.commit(ctx, t.key, sessions.KindWarning, sessions.Warning{Text: text}); err != nil {
			return err
		}
		e.streams.of(t.key).at("its next try")
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
		wait *= 2
	}
}

// pretend that a stage takes its modelled time.
func (e *Engine) pretend(ctx context.Context, t *trajectory, st dispatch.Stage) error {
	if e.opt.Modelled == nil {
		return nil
	}
	e.streams.of(t.key).at("its modelled " + st.String())
	select {
	case <-time.After(e.opt.Modelled(t.key, st)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// line is an error on one line.
func line(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func withLimit(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}
