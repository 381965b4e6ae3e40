package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"rollbench/engine/dispatch"
	"rollbench/engine/task"
	"rollbench/sandbox"
)

// TrialKind is what a trial gives to the verifier.
type TrialKind string

// The kinds of trial.
const (
	Untouched TrialKind = "untouched" // the empty patch, or an empty answer
	Reference TrialKind = "reference" // the known solution, or a right answer
	Given     TrialKind = "given"     // a patch that was made elsewhere
)

// Trial is one run of an instance's verifier without a policy.
type Trial struct {
	Instance *task.Instance
	Kind     TrialKind
	Repeat   int    // from 1
	Patch    []byte // of Given
}

// Tried is what came of a trial. Err is of what never got to a verdict; then the
// verdict is zero.
type Tried struct {
	Trial
	Verdict task.Verdict
	Wall    time.Duration // of the verifier; of an Err from the start of its first stage
	Err     error
}

// TrialOptions are what the wiring hands over.
type TrialOptions struct {
	Config    Config
	Providers map[sandbox.Kind]sandbox.Provider
	Trials    []Trial
	Label     string // stands for the run in labels and names of sandboxes
	// Ended is told of each trial once it is over, one at a time. Those that an
	// interruption cut short are not told.
	Ended func(Tried)
	// Note is told what a person should know: tries that are made again, images
	// that are pulled, sandboxes that could not be removed.
	Note func(string)
	Log  *slog.Logger
}

// Trials runs verifiers through the dispatcher, under the limits of a run.
type Trials struct {
	opt     TrialOptions
	mounts  []sandbox.Mount
	items   []*trial
	live    *dispatch.Live
	telling sync.Mutex // one Ended or Note at a time
	heard   heard
	failed  heard // what tries of an instance failed by
}

// trial is what its stages hand on.
type trial struct {
	Trial
	kind  sandbox.Kind
	sb    sandbox.Sandbox // of a reference that is being applied
	patch []byte
	left  []string // files that the patch leaves out
	// packed is what was collected for a verifier with a sandbox of its own, a file
	// without a name; unfit is the verdict of a patch that does not apply there.
	packed *os.File
	unfit  *task.Verdict
	began  time.Time
}

// NewTrials checks that each instance has a sandbox on this machine.
func NewTrials(ctx context.Context, o TrialOptions) (*Trials, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	t := &Trials{opt: o}
	var err error
	if t.mounts, err = sandbox.ParseMounts(o.Config.Sandbox.Mounts); err != nil {
		return nil, fmt.Errorf("sandbox.mounts: %w", err)
	}
	kinds := chooser{config: o.Config.Sandbox, providers: o.Providers}
	for _, one := range o.Trials {
		x := &trial{Trial: one, patch: one.Patch}
		if one.Instance.NeedsPatch() || one.Instance.RunsAnswer() {
			if x.kind, err = kinds.choose(ctx, one.Instance); err != nil {
				return nil, err
			}
		}
		t.items = append(t.items, x)
	}
	d := o.Config.Dispatcher
	core := dispatch.NewCore(dispatch.Policy(d.Type), d.Limits(), len(t.items), nil)
	core.KeepIf(func(it dispatch.Item) bool { return t.items[it].inPlace() })
	t.live = dispatch.NewLive(core, (*trialStages)(t))
	return t, nil
}

// Run works until every trial is over (nil) or ctx ends (its cause).
func (t *Trials) Run(ctx context.Context) error {
	err := t.live.Run(ctx)
	for _, x := range t.items { // of those that waited between stages
		t.leave(x)
		t.forget(x)
	}
	return err
}

// Snapshot of the queues.
func (t *Trials) Snapshot() dispatch.Snapshot { return t.live.Snapshot() }

// trialStages is Trials as the dispatcher sees it. Every trial goes through all
// stages, so that those of an instance stay together.
type trialStages Trials

// inPlace says whether the verifier works in the sandbox that the reference was applied in.
func (x *trial) inPlace() bool {
	return x.Kind == Reference && x.Instance.Grading() == task.InPlace
}

// needsRun says whether there is something to do before eval: a reference is applied,
// and a separate verifier gets what is collected.
func (x *trial) needsRun() bool {
	return x.Instance.NeedsPatch() && (x.Kind == Reference || x.Instance.Grading() == task.ByArtifacts)
}

// Init opens a sandbox to apply the reference solution in, or the patch.
func (s *trialStages) Init(ctx context.Context, it dispatch.Item) bool {
	t := (*Trials)(s)
	x := t.items[it]
	if ctx.Err() != nil {
		return false
	}
	x.began = time.Now()
	if !x.needsRun() {
		return true
	}
	limit := time.Duration(t.opt.Config.Limits.Init)
	return t.within(ctx, x, "limits.init", limit, func(ctx context.Context) (err error) {
		if x.sb, err = t.open(ctx, x, "solve", t.opt.Config.Sandbox.spec(x.Instance, x.kind, t.mounts)); err != nil {
			return err
		}
		return x.Instance.Prepare(ctx, x.sb)
	})
}

// Run applies the reference solution and takes of it what the verifier is to get, as of a
// policy's work.
func (s *trialStages) Run(ctx context.Context, it dispatch.Item) bool {
	t := (*Trials)(s)
	x := t.items[it]
	if x.sb == nil {
		return ctx.Err() == nil
	}
	err := t.work(ctx, x)
	if err == nil && x.inPlace() {
		return true
	}
	defer t.leave(x)
	return t.went(ctx, x, err)
}

func (t *Trials) work(ctx context.Context, x *trial) (err error) {
	switch x.Kind {
	case Reference:
		err = x.Instance.Solve(ctx, x.sb)
	case Given:
		err = x.Instance.Apply(ctx, x.sb, x.patch)
		if v, unfit := task.Unfit(err); unfit {
			x.unfit = &v
			return nil
		}
	}
	if err != nil {
		return err
	}
	switch x.Instance.Grading() {
	case task.ByPatch:
		x.patch, x.left, err = sweptPatch(ctx, x.Instance, x.sb)
	case task.ByArtifacts:
		err = t.collect(ctx, x)
	}
	return err
}

// collect what a separate verifier gets in a file that has no name.
func (t *Trials) collect(ctx context.Context, x *trial) (err error) {
	if x.packed, err = os.CreateTemp("", "rollbench-artifacts-"); err != nil {
		return err
	}
	if err = os.Remove(x.packed.Name()); err != nil {
		return err
	}
	notes, err := x.Instance.Collect(ctx, x.sb, x.packed)
	for _, note := range notes {
		t.note(fmt.Sprintf("%s, %s: %s", x.Instance.ID, x.Kind, note))
	}
	return err
}

// Eval runs the verifier.
func (s *trialStages) Eval(ctx context.Context, it dispatch.Item) {
	t := (*Trials)(s)
	x := t.items[it]
	defer t.leave(x)
	defer t.forget(x)
	if ctx.Err() != nil {
		return
	}
	var verdict task.Verdict
	ok := t.within(ctx, x, "limits.eval", time.Duration(t.opt.Config.Limits.Eval), func(ctx context.Context) (err error) {
		verdict, err = t.verify(ctx, x)
		if err == nil && verdict.Broken {
			err = &brokenVerifier{verdict}
		}
		return err
	})
	if ok {
		if len(x.left) > 0 {
			verdict.Note += "; " + leftOut(x.left)
		}
		t.tell(Tried{Trial: x.Trial, Verdict: verdict, Wall: verdict.Wall})
	}
}

// Panicked is a defect: the trial's error, not that of all.
func (s *trialStages) Panicked(it dispatch.Item, st dispatch.Stage, err error) {
	t := (*Trials)(s)
	x := t.items[it]
	t.opt.Log.Error("panic", "instance", x.Instance.ID, "stage", st, "error", err)
	t.leave(x)
	t.tell(Tried{Trial: x.Trial, Wall: time.Since(x.began), Err: errors.New(line(err))})
}

// brokenVerifier is a verifier that could not be run: worth another try.
type brokenVerifier struct{ verdict task.Verdict }

func (b *brokenVerifier) Error() string { return b.verdict.Note }

func (t *Trials) verify(ctx context.Context, x *trial) (verdict task.Verdict, err error) {
	answer := ""
	if x.Kind == Reference {
		answer = x.Instance.ReferenceAnswer()
	}
	if !x.Instance.NeedsPatch() && !x.Instance.RunsAnswer() {
		return x.Instance.VerifyAnswer(ctx, nil, answer)
	}
	switch {
	case x.Instance.RunsAnswer():
		return t.inFresh(ctx, x, t.opt.Config.Sandbox.spec(x.Instance, x.kind, t.mounts), func(sb sandbox.Sandbox) (task.Verdict, error) {
			return x.Instance.VerifyAnswer(ctx, sb, answer)
		})
	case x.unfit != nil:
		return *x.unfit, nil
	case x.inPlace():
		return x.Instance.VerifyInPlace(ctx, x.sb)
	case x.Instance.Grading() == task.ByArtifacts:
		return t.inFresh(ctx, x, t.opt.Config.Sandbox.sized(x.Instance.VerifierSpec(), t.mounts), func(sb sandbox.Sandbox) (task.Verdict, error) {
			return x.Instance.VerifyArtifacts(ctx, sb, x.packed)
		})
	}
	return t.inFresh(ctx, x, t.opt.Config.Sandbox.spec(x.Instance, x.kind, t.mounts), func(sb sandbox.Sandbox) (task.Verdict, error) {
		return x.Instance.Verify(ctx, sb, x.patch)
	})
}

// inFresh has the verifier work in a sandbox of its own.
func (t *Trials) inFresh(ctx context.Context, x *trial, spec sandbox.Spec, verify func(sandbox.Sandbox) (task.Verdict, error)) (task.Verdict, error) {
	sb, err := t.open(ctx, x, "eval", spec)
	if err != nil {
		return task.Verdict{}, err
	}
	defer t.close(x, sb)
	return verify(sb)
}

// within does a stage's work under its limit, again where it failed. It reports
// whether that went well; else it was told, unless ctx has ended.
func (t *Trials) within(ctx context.Context, x *trial, name string, limit time.Duration, do func(context.Context) error) bool {
	limited, cancel := withLimit(ctx, limit)
	defer cancel()
	c := t.opt.Config.Limits
	wait := time.Duration(c.Backoff)
	for n := 1; ; n++ {
		err := do(limited)
		switch {
		case err == nil:
			return true
		case ctx.Err() == nil && limited.Err() != nil:
			err = fmt.Errorf("it took longer than %s = %v: %w", name, limit, err)
		case ctx.Err() == nil && n <= c.Retries:
			if !x.inPlace() || name == "limits.init" { // what a reference left is all there is of it
				t.leave(x)
			}
			if t.failed.news(x.Instance.ID, line(err)) {
				t.note(fmt.Sprintf("%s, %s: try %d of %d failed: %s", x.Instance.ID, x.Kind, n, 1+c.Retries, line(err)))
			}
			if waited(limited, wait) {
				wait *= 2
				continue
			}
			if ctx.Err() == nil {
				err = fmt.Errorf("%s = %v is over before another try: %w", name, limit, err)
			}
		}
		return t.went(ctx, x, err)
	}
}

// waited reports whether d passed before ctx ended.
func waited(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// went tells of an error that ends the trial.
func (t *Trials) went(ctx context.Context, x *trial, err error) bool {
	if err == nil {
		return true
	}
	t.leave(x)
	if ctx.Err() != nil {
		return false
	}
	r := Tried{Trial: x.Trial, Wall: time.Since(x.began), Err: err}
	var broken *brokenVerifier
	if errors.As(err, &broken) && err == error(broken) { // it has its own words, and a log
		r.Verdict, r.Wall, r.Err = broken.verdict, broken.verdict.Wall, nil
	}
	t.tell(r)
	return false
}

func (t *Trials) open(ctx context.Context, x *trial, purpose string, spec sandbox.Spec) (sandbox.Sandbox, error) {
	spec.Name = fmt.Sprintf("%s.%s.%s.%d.%s", t.opt.Label, x.Instance.ID, x.Kind, x.Repeat, purpose)
	spec.Labels = map[string]string{"run": t.opt.Label, "trajectory": x.Instance.ID}
	spec.Progress = func(text string) {
		if t.heard.news(x.Instance.ID, text) {
			t.note(x.Instance.ID + ": " + text)
		}
	}
	sb, err := t.opt.Providers[x.kind].Open(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("open a %s sandbox: %w", x.kind, err)
	}
	return sb, nil
}

// leave closes the sandbox that a reference was applied in.
func (t *Trials) leave(x *trial) {
	if x.sb != nil {
		t.close(x, x.sb)
		x.sb = nil
	}
}

// forget what was collected.
func (t *Trials) forget(x *trial) {
	if x.packed == nil {
		return
	}
	if err := x.packed.Close(); err != nil {
		t.note(fmt.Sprintf("%s: close the artifacts: %v", x.Instance.ID, err))
	}
	x.packed = nil
}

func (t *Trials) close(x *trial, sb sandbox.Sandbox) {
	if err := sb.Close(); err != nil {
		t.note(fmt.Sprintf("%s: sandbox %s could not be removed: %v", x.Instance.ID, sb.ID(), err))
	}
}

func (t *Trials) tell(r Tried) {
	t.telling.Lock()
	defer t.telling.Unlock()
	t.opt.Ended(r)
}

func (t *Trials) note(text string) {
	t.opt.Log.Info(text)
	t.telling.Lock()
	defer t.telling.Unlock()
	if t.opt.Note != nil {
		t.opt.Note(text)
	}
}
