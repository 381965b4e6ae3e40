package engine

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"rollbench/engine/infer/simulated"
	"rollbench/sessions"
)

// Order, type, adaptive limit and stall change while the run goes on: what waits
// starts in the new order, the session says who and why, and a resume goes on with it.
func TestTune(t *testing.T) {
	r := newRig(t, func(c *Config, _ *simulated.Options) {
		c.Dispatcher.AdaptiveMin, c.Dispatcher.MaxInit, c.Dispatcher.Order = 1, 1, "group"
		c.Generator.NumTrajectories = 2
	}, "config-precedence", "pager-last-page")
	r.engine()
	opened, let := r.gateOpens()
	limits, tuning := r.Limits(), r.Tuning()
	if err := r.Tune(limits, tuning, ""); err == nil || err.Error() != "the limits are that already" {
		t.Errorf("nothing to change: %v", err)
	}
	done := make(chan error)
	go func() { done <- r.Run(t.Context()) }()
	if first := <-opened; !strings.HasPrefix(first, "config-precedence.0.") {
		t.Errorf("%s is the first", first)
	}
	for want, bad := range map[string]Tuning{
		`dispatcher.order is "x"`:                {Type: "async_pipeline", Order: "x", AdaptiveMin: 1},
		`dispatcher.type "x" is unknown`:         {Type: "x", Order: "fifo", AdaptiveMin: 1},
		"has another meaning under async_batch:": {Type: "async_batch", Order: "fifo", Adaptive: "kv", AdaptiveMin: 1},
		"dispatcher.adaptive_min is 0":           {Type: "async_pipeline", Order: "fifo"},
		"dispatcher.stall_after is -1s":          {Type: "async_pipeline", Order: "fifo", AdaptiveMin: 1, StallAfter: -Duration(time.Second)},
	} {
		if err := r.Tune(limits, bad, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", bad, err, want)
		}
	}
	tuning = Tuning{Type: "async_batch_bounded", Order: "fifo", AdaptiveMin: 2, AdaptiveMax: 3, StallAfter: Duration(7 * time.Second)}
	limits.Eval = 2
	if err := r.Tune(limits, tuning, "groups may wait"); err != nil {
		t.Fatal(err)
	}
	if s := r.Status(); s.Tuning != tuning || s.Policy != "async_batch_bounded" || s.Limits.Eval != 2 {
		t.Errorf("%+v", s)
	}
	close(let)
	var runs []string
	for len(runs) < 3 {
		if name := <-opened; strings.HasSuffix(name, ".run") {
			runs = append(runs, name[:strings.Index(name, ".a")])
		}
	}
	if got := strings.Join(runs, " "); got != "pager-last-page.0 config-precedence.1 pager-last-page.1" {
		t.Errorf("then started %s", got)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	events := r.events(sessions.KindLimits)
	var l sessions.Limits
	if err := json.Unmarshal(events[len(events)-1].Data, &l); err != nil {
		t.Fatal(err)
	}
	if l.Who != "operator" || l.Why != "groups may wait" || l.MaxEval != 2 || TuningOf(l) != tuning {
		t.Errorf("%+v", l)
	}
	var d Dispatcher
	if d.SetLimits(l); d.Tuning() != tuning || d.MaxEval != 2 {
		t.Errorf("a resume has %+v", d)
	}
	d.SetLimits(sessions.Limits{MaxEval: 1, Policy: "async_batch"}) // of an older session
	if d.Tuning() != tuning || d.MaxEval != 1 {
		t.Errorf("an older session leaves %+v", d)
	}
}

// The order longest_first reads the earlier runs when it is chosen, and says which it
// could not read.
func TestTuneToLongestFirst(t *testing.T) {
	r := newRig(t, func(c *Config, _ *simulated.Options) {
		c.Dispatcher.AdaptiveMin, c.Dispatcher.MaxInit = 1, 1
		c.Generator.NumTrajectories = 1
	}, "build-order-cycle", "config-precedence", "pager-last-page")
	r.opt.Past = func(context.Context) (map[string]float64, []string, error) {
		return map[string]float64{"config-precedence": 1, "pager-last-page": 9}, []string{"run r-x is left out of the history: broken"}, nil
	}
	r.engine()
	opened, let := r.gateOpens()
	done := make(chan error)
	go func() { done <- r.Run(t.Context()) }()
	<-opened
	tuning := r.Tuning()
	tuning.Order = "longest_first"
	if err := r.Tune(r.Limits(), tuning, ""); err != nil {
		t.Fatal(err)
	}
	close(let)
	for name := range opened {
		if strings.HasSuffix(name, ".run") {
			if !strings.HasPrefix(name, "pager-last-page.") {
				t.Errorf("%s comes before what took longest", name)
			}
			break
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if said := r.said(sessions.KindWarning); len(said) == 0 || !strings.Contains(said[0], "run r-x is left out of the history") {
		t.Errorf("%q", said)
	}
}
