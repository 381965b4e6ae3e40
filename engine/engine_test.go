package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rollbench/engine/infer"
	"rollbench/engine/infer/simulated"
	"rollbench/engine/task"
	"rollbench/sandbox"
	"rollbench/sandbox/local"
	"rollbench/sessions"
)

// faulty is a provider whose Open can be told to fail, and which counts what
// is open at once.
type faulty struct {
	sandbox.Provider
	fail func(name string) error // by the spec's name
	// onOpen may stand something between the engine and a sandbox.
	onOpen func(spec sandbox.Spec, sb sandbox.Sandbox) (sandbox.Sandbox, error)
	mu     sync.Mutex
	live   int
	most   int
}

func (f *faulty) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if f.fail != nil {
		if err := f.fail(spec.Name); err != nil {
			return nil, err
		}
	}
	sb, err := f.Provider.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live++
	f.most = max(f.most, f.live)
	sb = &counted{Sandbox: sb, f: f}
	if f.onOpen != nil {
		return f.onOpen(spec, sb)
	}
	return sb, nil
}

type counted struct {
	sandbox.Sandbox
	f    *faulty
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() {
		c.f.mu.Lock()
		defer c.f.mu.Unlock()
		c.f.live--
	})
	return c.Sandbox.Close()
}

// rig is a run on bundled tasks with the simulated endpoint, without delays.
type rig struct {
	*Engine
	t     testing.TB
	store *sessions.Store
	local *faulty
	home  string
	opt   Options
	sim   *simulated.Server
}

func newRig(t testing.TB, set func(*Config, *simulated.Options), ids ...string) *rig {
	t.Helper()
	if ids == nil {
		ids = []string{"pager-last-page", "config-precedence"}
	}
	r := &rig{t: t, home: t.TempDir()}
	c := Config{
		Generator:  Generator{NumTrajectories: 2, MaxIterations: 30, MaxPromptLength: 1 << 17, PromptMode: promptTokens, ToolFormat: "auto"},
		Dispatcher: Dispatcher{Type: "async_pipeline", MaxInit: 2, MaxRun: 3, MaxEval: 1, MaxLive: 4, Order: "group"},
		Sandbox:    Sandbox{Kind: "local"},
		Tools:      Tools{Bash: true, Editor: true, Finish: true, Observation: 30000, File: 10000},
		Endpoints:  Endpoints{{Streaming: true}},
	}
	so := simulated.Options{Seed: 7, Latency: -1, TokensPerSecond: -1}
	if set != nil {
		set(&c, &so)
	}
	all, err := task.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	var instances []*task.Instance
	for i := range all {
		if slices.Contains(ids, all[i].ID) {
			instances = append(instances, &all[i])
		}
	}
	if r.sim, err = simulated.Start(so); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.sim.Close() })
	client, err := infer.New(infer.Options{BaseURL: r.sim.URL(), Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	caps, err := client.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := local.New(local.Options{Home: r.home, AllowUncontained: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	r.local = &faulty{Provider: p}
	r.opt = Options{Config: c, Instances: instances, Providers: map[sandbox.Kind]sandbox.Provider{sandbox.Local: r.local},
		Endpoints: []Upstream{{Client: client, Capabilities: caps, Weight: 1, Streaming: true}}, Capabilities: caps, Forget: r.sim.Forget,
		Meet: func(session, stream string, in *task.Instance, workdir string) {
			st := simulated.Task{Workdir: workdir, TestCommand: in.TestCommand, Stream: stream}
			edits, err := in.Reference.Edits()
			if err != nil {
				t.Error(err)
			}
			for _, e := range edits {
				st.Edits = append(st.Edits, simulated.Edit{Path: e.Path, Old: e.Old, New: e.New, Create: e.Create, Delete: e.Delete})
			}
			r.sim.Register(session, st)
		}}
	run := sessions.Run{ID: "r-test", Created: time.Now(), N: c.Generator.NumTrajectories, Members: Members(instances, c.Generator.NumTrajectories),
		Policy: c.Dispatcher.Type, Endpoint: client.URL(), Model: client.Model(), Simulate: true}
	if r.store, err = sessions.Create(t.Context(), r.home, run); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.store.Close() })
	return r
}

// engine makes the engine of the rig's session, new or resumed.
func (r *rig) engine() *rig {
	r.t.Helper()
	var err error
	if r.Engine, err = New(r.t.Context(), r.opt, r.store); err != nil {
		r.t.Fatal(err)
	}
	return r
}

// gateOpens has each local sandbox that is opened send its name, and wait until let is
// closed.
func (r *rig) gateOpens() (opened chan string, let chan struct{}) {
	opened, let = make(chan string, 100), make(chan struct{})
	r.local.fail = func(name string) error {
		opened <- name
		<-let
		return nil
	}
	return opened, let
}

func (r *rig) rows() map[string]sessions.Trajectory {
	r.t.Helper()
	rows, _, err := r.store.Trajectories(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[string]sessions.Trajectory{}
	for _, row := range rows {
		out[row.Key.String()] = row
	}
	return out
}

func (r *rig) events(kind sessions.Kind) []sessions.Event {
	r.t.Helper()
	all, err := r.store.Since(context.Background(), 0, 1<<20)
	if err != nil {
		r.t.Fatal(err)
	}
	var out []sessions.Event
	for _, e := range all {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

// nothingOpen: every sandbox that was opened is closed, in fact and in the session.
func (r *rig) nothingOpen() {
	r.t.Helper()
	if r.local.live != 0 {
		r.t.Errorf("%d sandboxes are still open", r.local.live)
	}
	for key, row := range r.rows() {
		if row.Sandbox != "" {
			r.t.Errorf("the session says that %s still has sandbox %s", key, row.Sandbox)
		}
	}
}

// Each policy brings every trajectory to its end through every stage once.
func TestPolicies(t *testing.T) {
	for _, policy := range []string{"async_batch", "async_batch_bounded", "async_pipeline"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(c *Config, _ *simulated.Options) { c.Dispatcher.Type = policy }).engine()
			if err := r.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			for key, row := range r.rows() {
				if row.State != sessions.Done || row.Reward == nil || row.Finish == "" || row.Attempt != 1 {
					t.Errorf("%s ended %s by %q with reward %v", key, row.State, row.Finish, row.Reward)
				}
			}
			entered := map[string]int{}
			for _, e := range r.events(sessions.KindState) {
				var s sessions.StateChange
				if err := json.Unmarshal(e.Data, &s); err != nil {
					t.Fatal(err)
				}
				entered[e.Key.String()+" "+string(s.State)]++
			}
			for what, n := range entered {
				if n != 1 {
					t.Errorf("%s was entered %d times", what, n)
				}
			}
			r.nothingOpen()
			if policy == "async_batch_bounded" && r.local.most > 3 { // its pool: max_parallel_agents
				t.Errorf("%d environments, the pool has 3", r.local.most)
			}
			if r.local.most > 4 {
				t.Errorf("%d sandboxes were live at once, limit 4", r.local.most)
			}
		})
	}
}

// A sandbox that cannot be opened is the end of its trajectory, with the first
// cause kept and the reward absent; the others go on.
func TestInitFails(t *testing.T) {
	r := newRig(t, nil).engine()
	r.local.fail = func(name string) error {
		if strings.HasPrefix(name, "pager-last-page.1.") {
			return errors.New("no space on the engine")
		}
		return nil
	}
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for key, row := range r.rows() {
		if key != "pager-last-page#1" {
			if row.State != sessions.Done {
				t.Errorf("%s is %s", key, row.State)
			}
			continue
		}
		if row.State != sessions.Failed || row.Finish != string(sessions.ErrorInitialization) || row.Reward != nil || len(row.Causes) == 0 || !strings.Contains(row.Causes[0], "no space on the engine") {
			t.Errorf("%s is %s by %s, reward %v, causes %q", key, row.State, row.Finish, row.Reward, row.Causes)
		}
	}
	r.nothingOpen()
}

// A sandbox that fails is tried again in a fresh one, and the tries are told.
func TestRetries(t *testing.T) {
	r := newRig(t, func(c *Config, _ *simulated.Options) {
		c.Limits = TimeLimits{Retries: 2, Backoff: Duration(time.Millisecond)}
	}).engine()
	var mu sync.Mutex
	failed := map[string]int{}
	r.local.fail = func(name string) error {
		mu.Lock()
		defer mu.Unlock()
		failed[name]++
		if failed[name] <= 2 {
			return errors.New("engine is busy")
		}
		return nil
	}
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for key, row := range r.rows() {
		if row.State != sessions.Done || row.Attempt != 1 {
			t.Errorf("%s is %s in attempt %d", key, row.State, row.Attempt)
		}
	}
	tries := 0
	for _, e := range r.events(sessions.KindWarning) {
		if strings.Contains(string(e.Data), "init failed (1 of 3 tries): open a local sandbox: engine is busy") {
			tries++
		}
	}
	if tries != 4 {
		t.Errorf("%d first tries of init were told, want 4", tries)
	}
	r.nothingOpen()
}

// A verifier that could not run leaves the reward absent, never 0.
func TestEvalFails(t *testing.T) {
	r := newRig(t, nil).engine()
	r.local.fail = func(name string) error {
		if strings.HasSuffix(name, ".eval") {
			return errors.New("the engine is gone")
		}
		return nil
	}
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for key, row := range r.rows() {
		switch {
		case row.Finish == string(sessions.NoPatch): // needs no verifier
		case row.State != sessions.Failed || row.Reward != nil || row.Finish != string(sessions.ErrorEvaluation) || row.Mask() == "":
			t.Errorf("%s is %s by %s, reward %v, mask %q", key, row.State, row.Finish, row.Reward, row.Mask())
		}
	}
	r.nothingOpen()
}

// An endpoint that goes away ends the trajectories that needed it.
func TestEndpointLost(t *testing.T) {
	r := newRig(t, func(_ *Config, so *simulated.Options) {
		so.Faults = func(n int, path string) simulated.Fault {
			if n > 6 && strings.HasSuffix(path, "/completions") {
				return simulated.Fault{Status: 500}
			}
			return simulated.Fault{}
		}
	}).engine()
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	lost := 0
	for key, row := range r.rows() {
		if !row.State.Ended() {
			t.Errorf("%s is %s", key, row.State)
		}
		if row.Finish == string(sessions.EndpointLost) {
			lost++
			if row.State != sessions.Failed || row.Reward != nil {
				t.Errorf("%s lost its endpoint and is %s with reward %v", key, row.State, row.Reward)
			}
		}
	}
	if lost == 0 {
		t.Error("no trajectory lost its endpoint")
	}
	r.nothingOpen()
}

// Cancelling works on what is queued, what runs and what is held.
func TestCancel(t *testing.T) {
	r := newRig(t, func(c *Config, _ *simulated.Options) { c.Dispatcher.MaxRun, c.Dispatcher.MaxLive = 2, 2 }).engine()
	for _, key := range []string{"config-precedence#0", "config-precedence#1"} {
		r.items[r.index[parse(t, key)]].gate.Pause()
	}
	done := make(chan error, 1)
	go func() { done <- r.Run(t.Context()) }()
	r.until("two are held", func() bool {
		n := 0
		for _, row := range r.rows() {
			if row.State == sessions.Held {
				n++
			}
		}
		return n == 2
	})
	if err := r.Cancel(sessions.Key{}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for key, row := range r.rows() {
		if row.State != sessions.Cancelled || row.Finish != string(sessions.CancelledByPerson) || row.Reward != nil {
			t.Errorf("%s is %s by %s", key, row.State, row.Finish)
		}
	}
	r.nothingOpen()
}

// until waits for the session to say so.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	wake, cancel := r.store.Wake()
	defer cancel()
	limit := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-wake:
		case <-limit:
			r.t.Fatalf("never: %s", what)
		}
	}
}

func parse(t *testing.T, s string) sessions.Key {
	t.Helper()
	var k sessions.Key
	name, id, ok := strings.Cut(s, "#")
	if _, err := fmt.Sscan(id, &k.ID); err != nil || !ok {
		t.Fatalf("key %q: %v", s, err)
	}
	k.Instance = name
	return k
}

// Stopping leaves everything resumable, and the resume brings it to the end
// with the same set, the held ones too.
func TestStopAndResume(t *testing.T) {
	r := newRig(t, nil).engine()
	held := r.items[0]
	held.gate.Pause()
	done := make(chan error, 1)
	go func() { done <- r.Run(t.Context()) }()
	r.until("the first is held and another has replied", func() bool {
		rows := r.rows()
		other := false
		for _, row := range rows {
			other = other || row.Turn > 1
		}
		return rows[held.key.String()].State == sessions.Held && other
	})
	r.Stop()
	if err := <-done; !errors.Is(err, ErrStopped) {
		t.Fatalf("Run() = %v", err)
	}
	r.nothingOpen()
	before := r.rows()
	if err := r.engine().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for key, row := range r.rows() {
		if row.State != sessions.Done || row.Reward == nil {
			t.Errorf("%s is %s after the resume", key, row.State)
		}
		if was := before[key]; was.State.Ended() && was.Turn != row.Turn {
			t.Errorf("%s had ended and was run again", key)
		}
	}
	if len(before) != len(r.rows()) {
		t.Errorf("the set changed from %d to %d", len(before), len(r.rows()))
	}
	r.nothingOpen()
}

// What a trajectory was told and not yet sent is sent after the resume.
func TestFeedbackSurvivesResume(t *testing.T) {
	r := newRig(t, nil).engine()
	first := r.items[0]
	first.gate.Pause()
	done := make(chan error, 1)
	go func() { done <- r.Run(t.Context()) }()
	r.until("it is held", func() bool { return r.rows()[first.key.String()].State == sessions.Held })
	if err := r.Step(first.key, "into"); err != nil {
		t.Fatal(err)
	}
	r.until("it is held after its reply", func() bool {
		row := r.rows()[first.key.String()]
		return row.State == sessions.Held && row.HeldAt == sessions.AfterReply
	})
	if err := r.Inject(first.key, "mind the callers"); err != nil {
		t.Fatal(err)
	}
	r.until("the feedback is recorded", func() bool { return len(r.events(sessions.KindIntervention)) == 1 })
	r.Stop()
	<-done
	if err := r.engine().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	turns, err := r.store.Turns(t.Context(), first.key, 0, 0, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for _, turn := range turns {
		for _, m := range turn.New {
			if m.Content == "mind the callers" && m.Source == sessions.FromOperator {
				said++
			}
		}
	}
	if said != 1 {
		t.Errorf("the feedback was sent %d times, want once", said)
	}
}

// A panic in a stage is its trajectory's error.
func TestPanicInAStage(t *testing.T) {
	r := newRig(t, nil).engine()
	r.local.fail = func(name string) error {
		if strings.HasPrefix(name, "config-precedence.0.") {
			panic("boom")
		}
		return nil
	}
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	row := r.rows()["config-precedence#0"]
	if row.State != sessions.Failed || len(row.Causes) == 0 || !strings.Contains(row.Causes[0], "boom") {
		t.Errorf("%+v", row)
	}
	r.nothingOpen()
}

func TestStatus(t *testing.T) {
	r := newRig(t, nil).engine()
	if s := r.Status(); s.Init.Waiting != 0 || s.Run.Limit != 3 || s.MaxLive != 4 || s.Running {
		t.Errorf("before: %+v", s)
	}
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := r.Status()
	if s.Running || s.Live != 0 || s.Run.Busy != 0 || len(s.Streams) != 0 {
		t.Errorf("after: %+v", s)
	}
	gauge, err := r.store.Gauge(t.Context())
	if err != nil || !json.Valid(gauge) {
		t.Errorf("gauge %s %v", gauge, err)
	}
}

// jammed is a sandbox that takes no files.
type jammed struct{ sandbox.Sandbox }

func (jammed) CopyIn(context.Context, string, io.Reader) error {
	return errors.New("copy failed: engine hiccup")
}

// A verifier that could not be run, through no fault of the patch, is tried
// again in a fresh sandbox; in the end its reward is absent.
func TestBrokenVerifierIsTriedAgain(t *testing.T) {
	for _, times := range []int{1, 2} {
		r := newRig(t, func(c *Config, _ *simulated.Options) {
			c.Generator.NumTrajectories = 1
			c.Limits = TimeLimits{Retries: 1, Backoff: Duration(time.Millisecond)}
		}, "pager-last-page").engine()
		opened := 0
		r.local.onOpen = func(spec sandbox.Spec, sb sandbox.Sandbox) (sandbox.Sandbox, error) {
			if strings.HasSuffix(spec.Name, ".eval") {
				if opened++; opened <= times {
					return jammed{sb}, nil
				}
			}
			return sb, nil
		}
		if err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		row := r.rows()["pager-last-page#0"]
		if opened != 2 {
			t.Errorf("%d eval sandboxes", opened)
		}
		if times == 1 && (row.Reward == nil || row.State != sessions.Done) || times == 2 && (row.Reward != nil || row.Finish != string(sessions.ErrorEvaluation)) {
			t.Errorf("jammed %d times: %s by %s, reward %v, %v", times, row.State, row.Finish, row.Reward, row.Causes)
		}
		r.nothingOpen()
	}
}
