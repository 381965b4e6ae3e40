package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"rollbench/engine"
	"rollbench/engine/infer"
	"rollbench/sessions"
)

// fakeRun is a run in memory: reader and commands at once.
type fakeRun struct {
	mu         sync.Mutex // guards all below
	run        sessions.Run
	trajs      []sessions.Trajectory
	turns      map[sessions.Key][]sessions.Turn
	events     []sessions.Event
	patch      map[sessions.Key][]byte
	log        map[sessions.Key][]byte
	output     map[sessions.CallPlace][]byte
	vocabulary map[int32]string
	status     *engine.Status
	series     []json.RawMessage
	subs       map[chan struct{}]bool
	calls      []string // verbs that were used
	refuse     error    // what verbs answer
	asked      [][2]int // turn ranges that were read
}

func (f *fakeRun) Run() sessions.Run { return f.run }

func (f *fakeRun) Since(_ context.Context, seq int64, limit int) ([]sessions.Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []sessions.Event
	for _, e := range f.events {
		if e.Seq > seq && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, nil
}

func (f *fakeRun) Trajectories(context.Context) ([]sessions.Trajectory, int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]sessions.Trajectory{}, f.trajs...), int64(len(f.events)), nil
}

func (f *fakeRun) Turns(_ context.Context, key sessions.Key, _, from, to int, _ bool) ([]sessions.Turn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, [2]int{from, to})
	var out []sessions.Turn
	for _, t := range f.turns[key] {
		if t.Index >= from && (to == 0 || t.Index <= to) {
			out = append(out, t)
		}
	}
	return out, nil
}

func (f *fakeRun) Patch(_ context.Context, key sessions.Key) ([]byte, error) {
	return f.patch[key], nil
}

func (f *fakeRun) EvalLog(_ context.Context, key sessions.Key) ([]byte, error) {
	return f.log[key], nil
}

func (f *fakeRun) Output(_ context.Context, at sessions.CallPlace, from int64, n int) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at.Attempt = 0
	data := f.output[at]
	from = min(from, int64(len(data)))
	return data[from:min(from+int64(n), int64(len(data)))], nil
}

func (f *fakeRun) Spell(_ context.Context, ids []int32) (map[int32]string, error) {
	texts := map[int32]string{}
	for _, id := range ids {
		if text, known := f.vocabulary[id]; known {
			texts[id] = text
		}
	}
	return texts, nil
}

func (f *fakeRun) Wake() (<-chan struct{}, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := make(chan struct{}, 1)
	if f.subs == nil {
		f.subs = map[chan struct{}]bool{}
	}
	f.subs[c] = true
	return c, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.subs, c)
	}
}

func (f *fakeRun) Gauge(context.Context) (json.RawMessage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.status == nil {
		return nil, nil
	}
	return json.Marshal(f.status)
}

func (f *fakeRun) Series(context.Context) ([]json.RawMessage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.series, nil
}

func (f *fakeRun) Close() error { return nil }

// write events, as a store would: visible at once, then a wake.
func (f *fakeRun) write(at time.Time, key sessions.Key, kind sessions.Kind, payload any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := sessions.NewEvent(at, key, kind, payload)
	e.Seq = int64(len(f.events) + 1)
	f.events = append(f.events, e)
	for c := range f.subs {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (f *fakeRun) verb(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
	return f.refuse
}

func (f *fakeRun) Status() *engine.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}
func (f *fakeRun) Pause(k sessions.Key) error          { return f.verb("pause %v", k) }
func (f *fakeRun) Continue(k sessions.Key) error       { return f.verb("continue %v", k) }
func (f *fakeRun) Step(k sessions.Key, h string) error { return f.verb("step %v %s", k, h) }
func (f *fakeRun) Cancel(k sessions.Key) error         { return f.verb("cancel %v", k) }
func (f *fakeRun) Finish(k sessions.Key) error         { return f.verb("finish %v", k) }
func (f *fakeRun) CancelCall(k sessions.Key, began time.Time) error {
	return f.verb("cancel call %v %s", k, began.Format(time.TimeOnly))
}
func (f *fakeRun) Inject(k sessions.Key, t string) error {
	return f.verb("inject %v %q", k, t)
}
func (f *fakeRun) EditCall(k sessions.Key, i int, name, args string) error {
	return f.verb("edit %v %d %s %s", k, i, name, args)
}
func (f *fakeRun) SetLimits(l engine.Limits, why string) error {
	return f.verb("limits %d %d %d %d %d %q", l.Init, l.Run, l.Eval, l.Live, l.Ready, why)
}
func (f *fakeRun) Tune(l engine.Limits, t engine.Tuning, why string) error {
	return f.verb("tune %d %d %d %d %d %s %s %q %d %d %v %q", l.Init, l.Run, l.Eval, l.Live, l.Ready, t.Type, t.Order, t.Adaptive, t.AdaptiveMin, t.AdaptiveMax, time.Duration(t.StallAfter), why)
}
func (f *fakeRun) Resample(k sessions.Key, n int) error { return f.verb("resample %v %d", k, n) }
func (f *fakeRun) Pick(k sessions.Key, v int) error     { return f.verb("pick %v %d", k, v) }
func (f *fakeRun) EditObservation(k sessions.Key, i int, text string) error {
	return f.verb("observation %v %d %q", k, i, text)
}
func (f *fakeRun) RaiseLimit(k sessions.Key, turns, tokens int) error {
	return f.verb("raise %v %d %d", k, turns, tokens)
}
func (f *fakeRun) Mark(k sessions.Key, m sessions.Marks) error {
	return f.verb("mark %v %v %v %q %q", k, m.Mask, m.Drop, m.Tags, m.Note)
}
func (f *fakeRun) RunByHand(k sessions.Key, script string, look bool) error {
	return f.verb("run %v %q %v", k, script, look)
}
func (f *fakeRun) InjectAs(k sessions.Key, as, t string) error {
	return f.verb("inject %v as %s %q", k, as, t)
}
func (f *fakeRun) Write(k sessions.Key, text string, calls []sessions.Call) error {
	said := fmt.Sprintf("write %v %q", k, text)
	for _, c := range calls {
		said += " " + c.Name + " " + c.Arguments
	}
	return f.verb("%s", said)
}
func (f *fakeRun) Human(k sessions.Key, on bool) error { return f.verb("human %v %v", k, on) }
func (f *fakeRun) StopNow(k sessions.Key) error        { return f.verb("stop %v", k) }
func (f *fakeRun) OpenShell(_ context.Context, k sessions.Key, look bool, term engine.Terminal) (engine.Shell, error) {
	return nil, errors.Join(f.verb("shell %v %v %dx%d", k, look, term.Cols, term.Rows), errors.New("there is no sandbox here"))
}
func (f *fakeRun) Fork(k sessions.Key, turn int, o engine.ForkOptions) error {
	data, err := json.Marshal(o.Sampling)
	if err != nil {
		return err
	}
	return f.verb("fork %v %d n=%d %q %s %d %d %v", k, turn, o.N, o.Feedback, data, o.Turns, o.Tokens, o.Hold)
}
func (f *fakeRun) SetBreakpoint(id int, text string) error {
	return f.verb("break %d %s", id, text)
}
func (f *fakeRun) EnableBreakpoint(id int, on bool) error { return f.verb("enable %d %v", id, on) }
func (f *fakeRun) RemoveBreakpoint(id int) error          { return f.verb("remove %d", id) }
func (f *fakeRun) Reject(k sessions.Key, r string) error  { return f.verb("reject %v %q", k, r) }

// t0 is when the fake run was made; the screen is looked at 12:41 later.
var t0 = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

func fakeNow() time.Time { return t0.Add(12*time.Minute + 41*time.Second) }

func ptr[T any](v T) *T { return &v }

func member(instance string, id int, state sessions.State) sessions.Trajectory {
	return sessions.Trajectory{
		Key: sessions.Key{Instance: instance, ID: id}, Attempt: 1, State: state,
		Since: t0.Add(12 * time.Minute), Started: t0.Add(time.Minute), MaxTurns: 50, Budget: 32768, FirstLen: 1800,
	}
}

func ended(instance string, id int, state sessions.State, reason sessions.FinishReason, turn, tokens int, reward *float64) sessions.Trajectory {
	t := member(instance, id, state)
	t.Finish, t.Turn, t.Tokens, t.Sampled, t.Reward = string(reason), turn, tokens, tokens/3, reward
	t.Ended = t.Started.Add(6*time.Minute + 5*time.Second)
	return t
}

func busy(instance string, id, turn, tokens int, tool string, since time.Duration) sessions.Trajectory {
	t := member(instance, id, sessions.Running)
	t.Turn, t.Tokens, t.Tool = turn, tokens, tool
	if since > 0 {
		t.ToolSince = fakeNow().Add(-since)
	}
	return t
}

func held(instance string, id, turn, tokens int, reason sessions.HeldReason, at sessions.Gate, why string) sessions.Trajectory {
	t := member(instance, id, sessions.Held)
	t.Turn, t.Tokens, t.Tool = turn, tokens, "execute_bash"
	t.Held, t.HeldAt, t.HeldWhy = reason, at, why
	return t
}

// fakeTrajectories has every state, every gate, and everything that is marked.
func fakeTrajectories() []sessions.Trajectory {
	masked := ended("requests-2317", 1, sessions.Done, sessions.ContextWindowExceeded, 31, 32768, ptr(0.0))
	changed := ended("requests-2317", 2, sessions.Done, sessions.ForceFinished, 12, 9100, ptr(1.0))
	changed.Intervened = true
	broken := ended("requests-2317", 3, sessions.Failed, sessions.ErrorInitialization, 0, 0, nil)
	broken.Causes = []string{"open sandbox: image rollbench/requests-2317 is not present: run rollbench doctor"}
	noEval := ended("xarray-3305", 0, sessions.Done, sessions.ErrorEvaluation, 22, 15100, nil)
	noEval.EvalNote = "the verifier timed out after 300 s"
	drift := busy("xarray-3305", 1, 14, 11800, "str_replace_editor", 0)
	drift.Breaks = 1
	rejected := held("sympy-20590", 2, 9, 6100, sessions.HeldPaused, sessions.BeforeModel, "")
	rejected.Intervened = true
	return []sessions.Trajectory{
		ended("flask-4045", 0, sessions.Done, sessions.FinishTool, 18, 9100, ptr(1.0)),
		ended("flask-4045", 1, sessions.Done, sessions.FinishTool, 22, 12400, ptr(0.0)),
		held("flask-4045", 2, 7, 11200, sessions.HeldBreakpoint, sessions.AfterReply, "#2 tool=execute_bash args~/rm/"),
		busy("flask-4045", 3, 12, 14000, "str_replace_editor", 12*time.Second),
		ended("requests-2317", 0, sessions.Done, sessions.MaxIterationsReached, 50, 30100, ptr(0.0)),
		masked, changed, broken,
		held("sympy-20590", 0, 4, 3300, sessions.HeldStep, sessions.AfterTool, ""),
		held("sympy-20590", 1, 19, 16800, sessions.HeldPaused, sessions.BeforeEval, ""),
		rejected,
		ended("sympy-20590", 3, sessions.Cancelled, sessions.CancelledByPerson, 3, 2500, nil),
		noEval, drift,
		member("xarray-3305", 2, sessions.Ran),
		member("xarray-3305", 3, sessions.Evaluating),
		busy("数学-漢字-777", 0, 2, 900, "", 0),
		member("数学-漢字-777", 1, sessions.Ready),
		member("数学-漢字-777", 2, sessions.Init),
		member("数学-漢字-777", 3, sessions.Queued),
	}
}

func fakeStatus() *engine.Status {
	return &engine.Status{
		At: fakeNow(), Started: t0, Running: true, Policy: "async_pipeline",
		Init: engine.Queue{Waiting: 1, Busy: 1, Limit: 8}, Ready: engine.Queue{Waiting: 1, Limit: 16},
		Run: engine.Queue{Waiting: 1, Busy: 3, Limit: 4}, Eval: engine.Queue{Waiting: 1, Busy: 1, Limit: 2}, Held: 4,
		Live: 11, MaxLive: 16, LimitedBy: "run",
		Endpoints: []engine.Endpoint{{
			URL: "http://gpu1:8000/v1", Model: "qwen3-32b", Weight: 1, Trajectories: 7, Healthy: true,
			Capabilities: infer.Capabilities{Server: "vllm", Version: "0.11.0", Chat: true, TokenIDs: true, Logprobs: true, Tokenize: true, Metrics: true},
			Gauges:       &infer.Gauges{At: fakeNow(), Running: ptr(3.0), Waiting: ptr(6.0), KVUse: ptr(0.71), TokensPerSec: ptr(2900.0), PrefixHitRate: ptr(0.88)},
		}},
		GPUs: []engine.GPU{
			{Index: 0, Name: "H100", Util: ptr(0.93), UsedMB: ptr(72704.0), TotalMB: ptr(81559.0), Watts: ptr(612.0), Celsius: ptr(64.0)},
			{Index: 1, Name: "H100", Util: ptr(0.88), UsedMB: ptr(71680.0), TotalMB: ptr(81559.0)},
		},
		PerMinute: 2.1, Forecast: &engine.Forecast{ETA: 26 * time.Minute, Low: 19 * time.Minute, High: ptr(41 * time.Minute)},
		Streams: map[string]engine.Stream{
			"flask-4045#3": {Key: sessions.Key{Instance: "flask-4045", ID: 3}, Turn: 12, What: "str_replace_editor", Text: "applying…\n", Since: fakeNow().Add(-12 * time.Second)},
			"数学-漢字-777#0":  {Key: sessions.Key{Instance: "数学-漢字-777", ID: 0}, Turn: 3, What: "model", Text: "The tests fail because", Since: fakeNow().Add(-3 * time.Second)},
		},
		Breakpoints: []engine.Breakpoint{
			{ID: 1, Text: "error=timeout", At: sessions.AfterTool, Off: true},
			{ID: 2, Text: "tool=execute_bash args~/rm/", At: sessions.AfterReply, Hits: 1, Matches: 1},
			{ID: 4, Text: "reward<1 log", Log: true, Hits: 1204, Matches: 1204},
		},
		Notes: []string{"building rollbench/xarray-3305: step 4 of 9"},
	}
}

// fakeWhole is the hand-made run with turns for its first group.
func fakeWhole() *fakeRun {
	f := &fakeRun{
		run:   sessions.Run{ID: "r-0412", Created: t0, Title: "swe-mini", N: 4, Policy: "async_pipeline", Endpoint: "http://gpu1:8000/v1", Model: "qwen3-32b"},
		trajs: fakeTrajectories(), status: fakeStatus(),
		turns: map[sessions.Key][]sessions.Turn{}, patch: map[sessions.Key][]byte{}, log: map[sessions.Key][]byte{},
	}
	for _, t := range f.trajs {
		f.run.Members = append(f.run.Members, t.Key)
		if t.Turn > 0 {
			f.turns[t.Key] = fakeTurns(t)
		}
	}
	k := sessions.Key{Instance: "flask-4045", ID: 0}
	f.patch[k] = []byte(fakePatch)
	f.log[k] = []byte("collected 2 items\n\ntest_blueprint.py ..\n\n2 passed in 0.04s\n")
	at := t0.Add(time.Minute)
	f.write(t0, sessions.Key{}, sessions.KindRunStarted, sessions.RunStarted{PID: 42, Host: "box", Policy: "async_pipeline"})
	h := sessions.Key{Instance: "flask-4045", ID: 2}
	f.write(at, h, sessions.KindState, sessions.StateChange{State: sessions.Running, Budget: 32768, Turns: 50})
	f.write(at.Add(time.Second), h, sessions.KindReply, sessions.ReplyMade{Turn: 7, Version: 1, Source: sessions.FromModel, Tools: []string{"execute_bash"}, PromptTokens: 11000, OutputTokens: 200})
	f.write(at.Add(2*time.Second), h, sessions.KindState, sessions.StateChange{State: sessions.Held, Held: sessions.HeldBreakpoint, At: sessions.AfterReply, Why: "#2 tool=execute_bash args~/rm/"})
	f.write(at.Add(3*time.Second), h, sessions.KindIntervention, sessions.Intervention{Verb: "inject", Turn: 7, At: sessions.AfterReply, By: "operator", After: "Leave the tests alone."})
	return f
}

// endpoints are n, the last of them down.
func (f *fakeRun) endpoints(n, down int) {
	one := f.status.Endpoints[0]
	f.status.Endpoints = nil
	var urls []string
	for i := range n {
		e := one
		e.Errors = int64(i)
		e.URL, e.Trajectories = fmt.Sprintf("http://gpu%d:8000", i+1), 3*i
		if i >= n-down {
			e.Healthy, e.Gauges, e.Problem = false, nil, "endpoint "+e.URL+": unavailable: nothing listens there (connection refused)"
		}
		f.status.Endpoints = append(f.status.Endpoints, e)
		urls = append(urls, e.URL)
	}
	f.run.Endpoint = strings.Join(urls, ", ")
}

const fakePatch = `diff --git a/src/flask/blueprints.py b/src/flask/blueprints.py
--- a/src/flask/blueprints.py
+++ b/src/flask/blueprints.py
@@ -188,6 +188,9 @@ class Blueprint(Scaffold):
             template_folder=template_folder,
             root_path=root_path,
         )
+
+        if "." in name:
+            raise ValueError("'name' may not contain a dot '.' character.")
         self.name = name
         self.url_prefix = url_prefix
-        self.subdomain = subdomain
+        self.subdomain = subdomain or None
`

// chosenKey is the chosen trajectory's, the zero key while a group is chosen.
func (w *Workbench) chosenKey() sessions.Key {
	t, _ := w.list.chosen()
	return t.Key
}
