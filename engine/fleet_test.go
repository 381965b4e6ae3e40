package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rollbench/engine/infer"
	"rollbench/engine/infer/simulated"
	"rollbench/engine/task"
	"rollbench/sessions"
)

// beside starts a second endpoint for the rig's run, of the given weight; that
// of the first stays 1.
func (r *rig) beside(so simulated.Options, weight float64) *simulated.Server {
	r.t.Helper()
	sim, err := simulated.Start(so)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = sim.Close() })
	client, err := infer.New(infer.Options{BaseURL: sim.URL(), Retries: -1})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = client.Close() })
	caps, err := client.Probe(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	r.opt.Endpoints = append(r.opt.Endpoints, Upstream{Client: client, Capabilities: caps, Weight: weight, Streaming: true})
	first := r.sim
	meet := r.opt.Meet
	r.opt.Meet = func(session, stream string, in *task.Instance, workdir string) {
		for _, s := range []*simulated.Server{first, sim} {
			r.sim = s // Meet is asked by the init stages
			meet(session, stream, in, workdir)
		}
	}
	r.opt.Forget = func(session string) { first.Forget(session); sim.Forget(session) }
	return sim
}

// answered are the endpoints of a trajectory's turns, in order.
func (r *rig) answered(key sessions.Key) []string {
	r.t.Helper()
	turns, err := r.store.Turns(context.Background(), key, 0, 0, 0, false)
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, t := range turns {
		out = append(out, t.Endpoint)
	}
	return out
}

// The endpoint with the fewest trajectories for its weight, of equals the
// heavier. Weights 1 and 3: 0/1 0/3 → B, 0 ⅓ → A, 1 ⅓ → B, 1 ⅔ → B, 1 1 → B,
// 1 1⅓ → A, 2 1⅓ → B, 2 1⅔ → B.
func TestLeastLoaded(t *testing.T) {
	f := &fleet{seen: []Endpoint{{Weight: 1, Healthy: true}, {Weight: 3, Healthy: true}}}
	var got []int
	for range 8 {
		got = append(got, f.enter())
	}
	if want := []int{1, 0, 1, 1, 1, 0, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("they went to %v, want %v", got, want)
	}
	f.leave(0) // 1 and 2
	if at := f.enter(); at != 0 {
		t.Errorf("the next went to %d", at)
	}
	f.seen[0].Healthy = false
	if at := f.enter(); at != 1 {
		t.Errorf("one went to %d, which is down", at)
	}
	f.seen[1].Healthy = false // 2 and 7/3: none is up, and the call will wait
	if at := f.enter(); at != 0 {
		t.Errorf("of two that are down, one went to %d", at)
	}
}

// Eight at once over weights 1 and 3 are 2 and 6; each stays where its first call
// went, and nothing is counted once they have ended.
func TestWeightsAndAffinity(t *testing.T) {
	open, arrived, holding := make(chan struct{}), make(chan struct{}, 100), atomic.Bool{}
	held := func(_ int, path string) simulated.Fault {
		if holding.Load() && strings.HasSuffix(path, "/completions") {
			arrived <- struct{}{}
			<-open
		}
		return simulated.Fault{}
	}
	r := newRig(t, func(c *Config, so *simulated.Options) {
		c.Generator.NumTrajectories, c.Generator.MaxIterations = 4, 3
		c.Dispatcher.MaxInit, c.Dispatcher.MaxRun, c.Dispatcher.MaxLive = 8, 8, 12
		so.Faults = held
	})
	r.beside(simulated.Options{Seed: 7, Latency: -1, TokensPerSecond: -1, Faults: held}, 3)
	r.opt.Meet = r.lockedMeet()
	r.engine()
	holding.Store(true)
	done := make(chan error, 1)
	go func() { done <- r.Run(t.Context()) }()
	for range 8 {
		<-arrived
	}
	on := r.Status().Endpoints
	close(open)
	if on[0].Trajectories != 2 || on[1].Trajectories != 6 || on[1].Weight != 3 {
		t.Errorf("%d and %d trajectories on endpoints of weight 1 and 3, want 2 and 6", on[0].Trajectories, on[1].Trajectories)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	on = r.Status().Endpoints
	if on[0].Trajectories != 0 || on[1].Trajectories != 0 {
		t.Errorf("%d and %d trajectories are counted after the run", on[0].Trajectories, on[1].Trajectories)
	}
	count := map[string]int{}
	for _, it := range r.items {
		at := r.answered(it.key)
		if len(slices.Compact(slices.Clone(at))) != 1 {
			t.Errorf("%s was answered by %v", it.key, at)
			continue
		}
		count[at[0]]++
	}
	if count[on[0].URL] != 2 || count[on[1].URL] != 6 {
		t.Errorf("trajectories by endpoint: %v", count)
	}
}

// lockedMeet is the rig's Meet for init stages that go on at once.
func (r *rig) lockedMeet() func(session, stream string, in *task.Instance, workdir string) {
	var mu sync.Mutex
	meet := r.opt.Meet
	return func(session, stream string, in *task.Instance, workdir string) {
		mu.Lock()
		defer mu.Unlock()
		meet(session, stream, in, workdir)
	}
}

// One of two endpoints dies in the middle: its trajectories go on at the other,
// to the same end as in a run where nothing died, on the same tokens.
func TestEndpointDies(t *testing.T) {
	tokens := func(c *Config, _ *simulated.Options) {
		c.Generator.PromptMode, c.Generator.ToolFormat = promptTokens, "hermes"
		c.Dispatcher.MaxInit, c.Dispatcher.MaxRun, c.Dispatcher.MaxLive = 4, 4, 6
	}
	whole := newRig(t, tokens).engine()
	if err := whole.Run(t.Context()); err != nil {
		t.Fatal(err)
	}

	stuck, dying := make(chan struct{}, 8), atomic.Bool{}
	var calls atomic.Int64
	r := newRig(t, func(c *Config, so *simulated.Options) {
		tokens(c, so)
		so.Faults = func(_ int, path string) simulated.Fault {
			if !dying.Load() || path != "/v1/completions" || calls.Add(1) <= 2 {
				return simulated.Fault{}
			}
			stuck <- struct{}{}
			return simulated.Fault{Delay: time.Hour} // in the middle of a call
		}
	})
	first := r.sim
	r.beside(simulated.Options{Seed: 7, Latency: -1, TokensPerSecond: -1}, 1)
	r.opt.Meet = r.lockedMeet()
	r.engine()
	dying.Store(true)
	done := make(chan error, 1)
	go func() { done <- r.Run(t.Context()) }()
	<-stuck
	<-stuck
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	a, b := first.URL(), r.Status().Endpoints[1].URL
	var moved []string
	for _, e := range r.events(sessions.KindWarning) {
		var w sessions.Warning
		if err := json.Unmarshal(e.Data, &w); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("endpoint %s is down, the trajectory goes on at %s: ", a, b); strings.HasPrefix(w.Text, want) {
			moved = append(moved, e.Key.String())
		} else {
			t.Errorf("warning: %s", w.Text)
		}
	}
	if len(moved) != 2 || moved[0] == moved[1] {
		t.Errorf("moved: %v, want two", moved)
	}
	for _, it := range r.items {
		at := slices.Compact(r.answered(it.key))
		here := slices.Contains(moved, it.key.String())
		if at[len(at)-1] != b || len(at) > 2 || len(at) == 2 && (at[0] != a || !here) {
			t.Errorf("%s was answered by %v", it.key, at)
		}
		r.prefixesHold(it.key)
	}
	if n := len(r.events(sessions.KindBreak)); n > 0 {
		t.Errorf("%d breaks", n)
	}
	want := whole.rows()
	for key, row := range r.rows() {
		w := want[key]
		if row.State != sessions.Done || row.Reward == nil || *row.Reward != *w.Reward || row.Finish != w.Finish || row.Turn != w.Turn || row.Tokens != w.Tokens {
			t.Errorf("%s ended %s by %s in turn %d with %d tokens; without the death by %s in turn %d with %d", key, row.State, row.Finish, row.Turn, row.Tokens, w.Finish, w.Turn, w.Tokens)
		}
	}
	on := r.Status().Endpoints
	if on[0].Trajectories != 0 || on[1].Trajectories != 0 || on[0].Healthy || on[0].Problem == "" || !on[1].Healthy {
		t.Errorf("after the run: %+v", on)
	}
	r.nothingOpen()
}

// prefixesHold: each prompt begins with the last prompt and its reply.
func (r *rig) prefixesHold(key sessions.Key) {
	r.t.Helper()
	turns, err := r.store.Turns(context.Background(), key, 0, 0, 0, true)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 1; i < len(turns); i++ {
		before := slices.Concat(turns[i-1].PromptIDs, turns[i-1].OutputIDs)
		if len(before) == 0 || len(turns[i].PromptIDs) <= len(before) || !slices.Equal(turns[i].PromptIDs[:len(before)], before) {
			r.t.Errorf("%s: the prompt of turn %d does not extend turn %d", key, turns[i].Index, turns[i-1].Index)
		}
	}
}

// A trajectory stays where it moved to when its old endpoint comes back; with
// none left each is asked once; what was streamed before a move is void.
func TestMoves(t *testing.T) {
	down := [2]atomic.Bool{}
	var calls [2]atomic.Int64
	fault := func(i int) func(int, string) simulated.Fault {
		return func(_ int, path string) simulated.Fault {
			calls[i].Add(1)
			switch {
			case down[i].Load() && strings.HasSuffix(path, "/completions"):
				return simulated.Fault{CutAfter: 4000}
			case down[i].Load():
				return simulated.Fault{Status: 503}
			}
			return simulated.Fault{}
		}
	}
	r := newRig(t, func(_ *Config, so *simulated.Options) { so.Faults, so.TokensPerSecond = fault(0), 200 }) // in pieces
	r.beside(simulated.Options{Seed: 7, Latency: -1, TokensPerSecond: -1, Faults: fault(1)}, 1)
	r.engine()
	way := &route{engine: r.Engine, t: r.items[0]}
	defer way.leave()
	counted := func(f func() error) (int64, int64, error) {
		a, b := calls[0].Load(), calls[1].Load()
		err := f()
		return calls[0].Load() - a, calls[1].Load() - b, err
	}
	detokenize := func() error { _, err := way.Detokenize(t.Context(), []int32{65}); return err }

	if a, b, err := counted(detokenize); a != 1 || b != 0 || err != nil {
		t.Errorf("first call: %d and %d, %v", a, b, err)
	}
	down[0].Store(true)
	var text strings.Builder
	restarts := 0
	ask := infer.Request{Messages: []infer.Message{{Role: "user", Content: "look around"}}, MaxTokens: 400, SessionID: "x",
		Stream: func(s string) { text.WriteString(s) }, Restart: func() { restarts++; text.Reset() }}
	var reply infer.Reply
	a, b, err := counted(func() (err error) { reply, err = way.Chat(t.Context(), ask); return err })
	if a != 1 || b != 1 || err != nil || restarts != 1 || reply.Endpoint != r.Status().Endpoints[1].URL {
		t.Errorf("moved: %d and %d calls, %v, %d restarts, answered by %s", a, b, err, restarts, reply.Endpoint)
	}
	if reply.Content == "" || !strings.HasSuffix(strings.TrimSpace(text.String()), reply.Content) || strings.Count(text.String(), reply.Content) != 1 {
		t.Errorf("streamed %q of %q", text.String(), reply.Content)
	}

	down[0].Store(false)
	r.fleet.look(t.Context(), 0)
	if on := r.Status().Endpoints; !on[0].Healthy || on[0].Trajectories != 0 || on[1].Trajectories != 1 {
		t.Errorf("after it came back: %+v", on)
	}
	if a, b, err := counted(detokenize); a != 0 || b != 1 || err != nil {
		t.Errorf("after it came back: %d and %d calls, %v", a, b, err)
	}

	down[0].Store(true)
	down[1].Store(true)
	if a, b, err := counted(detokenize); a != 1 || b != 1 || err == nil {
		t.Errorf("both down: %d and %d calls, %v", a, b, err)
	}
	way.leave()
	way.leave()
	if on := r.Status().Endpoints; on[0].Trajectories != 0 || on[1].Trajectories != 0 || on[0].Healthy || on[1].Healthy {
		t.Errorf("left: %+v", on)
	}
}

// A group that is sampled with two versions of the weights is said to be, once,
// also when the first of them stands in an earlier part of the run.
func TestMixedPolicies(t *testing.T) {
	r := setup(t, 2, nil)
	reply := sessions.ReplyMade{Turn: 1, Version: 1, Source: sessions.FromModel}
	r.craft(sessions.StateChange{State: sessions.Running})
	key := r.store.Run().Members[0]
	w := sessions.Write{Key: key, Attempt: 1, Events: []sessions.Event{sessions.NewEvent(time.Now(), key, sessions.KindReply, reply)},
		Turn: &sessions.Turn{Key: key, Attempt: 1, Index: 1, Version: 1, Source: sessions.FromModel, Complete: true, PolicyVersion: "3"}}
	if err := r.store.Commit(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	r.reopen()
	r.engine()
	for _, version := range []string{"", "3", "4", "3", "5"} {
		if err := r.seePolicy(t.Context(), r.items[1], version); err != nil {
			t.Fatal(err)
		}
	}
	said := r.said(sessions.KindWarning)
	if len(said) != 1 || !strings.Contains(said[0], "the group of build-order-cycle is sampled with policy version 3 and now 4") {
		t.Errorf("said %q", said)
	}
}

// A reply that is there is not lost because a person stops its call, or its time is up,
// while the version that it was sampled with is looked at; and what is to be said of its
// group is said.
func TestMixedPoliciesOfACallThatIsStopped(t *testing.T) {
	r := setup(t, 1, nil).engine()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, version := range []string{"3", "4"} {
		if err := r.seePolicy(stopped, r.items[0], version); err != nil {
			t.Errorf("version %s: %v", version, err)
		}
	}
	if said := r.said(sessions.KindWarning); len(said) != 1 || !strings.Contains(said[0], "policy version 3 and now 4") {
		t.Errorf("said %q", said)
	}
}

// gaugesOf are metrics in vLLM's names.
func gaugesOf(running, waiting, kv, preempted float64) string {
	return fmt.Sprintf("vllm:num_requests_running %g\nvllm:num_requests_waiting %g\nvllm:kv_cache_usage_perc %g\nvllm:num_preemptions_total %g\n", running, waiting, kv, preempted)
}

// wire answers an endpoint's requests without a network.
type wire func(r *http.Request) (*http.Response, error)

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

func upstream(t *testing.T, host string, w wire) Upstream {
	t.Helper()
	c, err := infer.New(infer.Options{BaseURL: "http://" + host, Model: "m", Retries: -1, HTTP: &http.Client{Transport: w}})
	if err != nil {
		t.Fatal(err)
	}
	return Upstream{Client: c, Capabilities: infer.Capabilities{Metrics: true}, Weight: 1}
}

// All endpoints are looked at together. One that does not answer holds nobody up
// for longer than a second, is not asked again meanwhile, and is down after three.
func TestLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		text := gaugesOf(3, 1, 0.5, 7)
		e := &Engine{fleet: newFleet([]Upstream{
			upstream(t, "a", func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(text))}, nil
			}),
			upstream(t, "b", func(r *http.Request) (*http.Response, error) {
				asked.Add(1)
				<-r.Context().Done()
				return nil, context.Cause(r.Context())
			}),
		})}
		busy := make([]atomic.Bool, 2)
		var wg sync.WaitGroup
		began := time.Now()
		e.look(t.Context(), &wg, busy)
		if took := time.Since(began); took != time.Second {
			t.Errorf("the look took %v", took)
		}
		s := e.fleet.snapshot()
		if g := s[0].Gauges; g == nil || *g.Running != 3 || !s[1].Healthy {
			t.Errorf("after a second: %+v", s)
		}
		e.look(t.Context(), &wg, busy)
		if took := time.Since(began); took != time.Second || asked.Load() != 1 {
			t.Errorf("the next look ended after %v, the slow one was asked %d times", took, asked.Load())
		}
		wg.Wait()
		if s := e.fleet.snapshot(); time.Since(began) != 3*time.Second || s[1].Healthy || !strings.Contains(s[1].Problem, "http://b") || !s[0].Healthy {
			t.Errorf("after %v: %+v", time.Since(began), s)
		}
	})
}

// Together: sums, the fullest KV cache, the mean of prefix hits. The controller
// gets the mean KV use, and the preemptions of one that is away as last seen.
func TestTogether(t *testing.T) {
	texts := [3]string{gaugesOf(3, 1, 0.5, 7), gaugesOf(5, 0, 0.9, 2), "vllm:num_requests_running 1\n"}
	var gone atomic.Bool
	var all []Upstream
	for i := range texts {
		all = append(all, upstream(t, fmt.Sprint("h", i), func(*http.Request) (*http.Response, error) {
			if i == 1 && gone.Load() {
				return nil, io.EOF
			}
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(texts[i]))}, nil
		}))
	}
	r := newRig(t, nil)
	r.opt.Endpoints = all
	r.engine()
	var wg sync.WaitGroup
	look := func() {
		r.look(t.Context(), &wg, make([]atomic.Bool, 3))
		wg.Wait()
	}
	look()
	s := r.Status()
	p := pointOf(s)
	if *p.Requests != 9 || *p.Queued != 1 || *p.KVUse != 0.9 || s.Up() != 3 || s.Total().PrefixHitRate != nil {
		t.Errorf("together %v running, %v waiting, KV %v, %d up", *p.Requests, *p.Queued, *p.KVUse, s.Up())
	}
	l := r.load(time.Now())
	if l.Running != 9 || l.Queued != 1 || math.Abs(l.KVUse-0.7) > 1e-12 || l.Preemptions != 9 {
		t.Errorf("load %+v", l)
	}
	gone.Store(true)
	look()
	if l, s := r.load(time.Now()), r.Status(); l.Running != 4 || l.KVUse != 0.5 || l.Preemptions != 9 || s.Up() != 2 {
		t.Errorf("without the second: load %+v, %d up", l, s.Up())
	}
}

// Endpoints of a run serve one model, and give the same for training.
func TestAgree(t *testing.T) {
	can := infer.Capabilities{Server: "vllm", Version: "1", MaxModelLen: 9000, Chat: true, TokenIDs: true, Logprobs: true, Complete: "completions", Tokenize: true, Metrics: true, LogprobsMode: "raw"}
	two := func(model string, change func(*infer.Capabilities)) []Upstream {
		var all []Upstream
		for i, name := range []string{"m", model} {
			c, err := infer.New(infer.Options{BaseURL: fmt.Sprintf("http://h%d", i), Model: name})
			if err != nil {
				t.Fatal(err)
			}
			u := Upstream{Client: c, Capabilities: can, Weight: 1}
			if i == 1 {
				change(&u.Capabilities)
			}
			all = append(all, u)
		}
		return all
	}
	for _, c := range []struct {
		model  string
		change func(*infer.Capabilities)
		want   string
	}{
		{"other", func(*infer.Capabilities) {}, "endpoint http://h0 serves m and endpoint http://h1 other: all endpoints of a run serve one model"},
		{"m", func(c *infer.Capabilities) { c.TokenIDs = false }, "endpoints http://h0 and http://h1 differ in token ids: all endpoints of a run must give the same"},
		{"m", func(c *infer.Capabilities) { c.Logprobs = false }, "differ in logprobs"},
		{"m", func(c *infer.Capabilities) { c.LogprobsMode = "processed" }, "differ in their logprobs (raw and processed)"},
		{"m", func(c *infer.Capabilities) { c.Tokenize = false }, "differ in /tokenize"},
		{"m", func(c *infer.Capabilities) { c.Complete = "" }, "differ in continuing token ids"},
		{"m", func(c *infer.Capabilities) { c.Simulated = true }, "differ in being simulated"},
	} {
		if _, err := Agree(two(c.model, c.change)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	got, err := Agree(two("m", func(c *infer.Capabilities) {
		c.Server, c.Version, c.MaxModelLen, c.Complete, c.Metrics, c.LogprobsMode = "sglang", "2", 8000, "sglang", false, ""
	}))
	if err != nil || got.MaxModelLen != 8000 || got.Metrics || got.Server != "sglang+vllm" || got.Version != "1+2" || got.LogprobsMode != "raw" {
		t.Errorf("%+v, %v", got, err)
	}
}

// A session of before there were lists holds one table; keys that it does not
// know are those of today's first endpoint.
func TestRecordedEndpoints(t *testing.T) {
	today := Endpoints{{URL: "http://today", Weight: 2, Retries: 3}, {URL: "http://other", Weight: 5}}
	for text, want := range map[string]Endpoints{
		`{"url":"http://then","retries":1}`:                                 {{URL: "http://then", Weight: 2, Retries: 1}},
		`[{"url":"http://a","weight":1},{"url":"http://b","retries":null}]`: {{URL: "http://a", Weight: 1, Retries: 3}, {URL: "http://b", Weight: 2, Retries: 3}},
	} {
		got := slices.Clone(today)
		if err := json.Unmarshal([]byte(text), &got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	if err := new(Endpoints).UnmarshalJSON([]byte(`3`)); err == nil {
		t.Error("a number was taken")
	}
}
