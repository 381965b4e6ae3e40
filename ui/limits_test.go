package ui

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/engine"
	"rollbench/sessions"
)

// The form sends what was changed, once it is numbers. Today's limits are
// 8 init, 4 run, 2 eval, 16 sandboxes, ready by default.
func TestLimitsForm(t *testing.T) {
	for _, c := range []struct{ name, keys, call, says string }{
		{"raise", "L<tab><ctrl+u>6<ctrl+s>", `limits 8 6 2 16 0 ""`, "max_parallel_agents 4 → 6"},
		{"lower, with a reason", "L<down><down><down><ctrl+u>9<down><ctrl+u>3<down>disk<ctrl+s>", `limits 8 4 2 9 3 "disk"`,
			"max_live_sandboxes 16 → 9, max_ready default → 3; what is above a lowered limit drains, nothing is killed"},
		{"no limit", "L<ctrl+u> 0 <ctrl+s>", `limits 0 4 2 16 0 ""`, "max_parallel_init 8 → none"},
		{"enter on the last field sends", "L<ctrl+u>9<enter><enter><enter><enter><enter>more<enter>", `limits 9 4 2 16 0 "more"`, "max_parallel_init 8 → 9"},
		{"unchanged", "L<ctrl+s>", "", "nothing is changed yet: esc leaves the limits as they are"},
		{"a word", "L<tab>x<ctrl+s>", "", `max_parallel_agents is "4x": use a whole number, 0 for none`},
		{"a negative number", "L<ctrl+u>-1<ctrl+s>", "", `max_parallel_init is "-1": use a whole number, 0 for none`},
		{"nothing", "L<up><tab><tab><tab><tab><ctrl+u><ctrl+s>", "", `max_ready is "": use a whole number, 0 for default`},
		{"too large a number", "L99999999999999999999<ctrl+s>", "", `max_parallel_init is "899999999999999999999": use a whole number, 0 for none`},
		{"left", "L<ctrl+u>6<esc>", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, fakeMeasured(), 120, 40, measured)
			b.asks(c.keys, c.call, c.says)
		})
	}
}

// What the adaptive limit moved while the form was open is not moved back.
func TestLimitsFormMeanwhile(t *testing.T) {
	f := fakeMeasured()
	b := open(t, f, 120, 40, measured)
	b.keys("L")
	s := *f.status
	s.Limits.Run = 3
	b.send(tickMsg{status: &s})
	b.keys("<ctrl+u>9<ctrl+s>")
	if got := strings.Join(f.calls, "; "); got != `limits 9 3 2 16 0 ""` {
		t.Errorf("engine was asked %q", got)
	}
}

func TestLimitsWhyNot(t *testing.T) {
	for _, c := range []struct {
		name, keys, want string
		change           func(*Options)
		end              bool
	}{
		{"another process", "L", "L: read only: this run is not driven from here", func(o *Options) { o.Commands = nil }, false},
		{"over", "L", "L: the run has ended", nil, true},
		{"no simulation", "w", "w: nothing to simulate with here: rollbench simulate --run r-0412", nil, false},
		{"the policy", "wG<enter>", "enter: the engine has not told of its type and order yet", measured, false},
		{"the order", "wjj<enter>", "enter: the engine has not told of its type and order yet", measured, false},
		{"as it is", "wk<enter>", "enter: those are the limits as they are", measured, false},
		{"no row", "wg<enter>", "enter: choose a row of the table first", measured, false},
		{"an outlook of another process", "w<enter>", "enter: read only: this run is not driven from here", func(o *Options) { measured(o); o.Commands = nil }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, fakeMeasured(), 120, 40, c.change)
			if c.end {
				b.send(engineDoneMsg{})
			}
			b.keys(c.keys)
			if got, _ := b.w.toasts.shown(b.w.now); got.text != c.want {
				t.Errorf("says %q, want %q", got.text, c.want)
			}
		})
	}
}

// Enter on an outlook opens the form with its limits, and says what was there.
func TestUseOutlook(t *testing.T) {
	b := open(t, fakeMeasured(), 120, 40, measured)
	b.keys("wj<enter>")
	if view := b.w.View(); !strings.Contains(view, "       was 2") || strings.Contains(view, "was 4") {
		t.Errorf("the form does not say what would change:\n%s", view)
	}
	b.keys("<ctrl+s>")
	if got := strings.Join(b.f.calls, "; "); got != `limits 8 4 3 16 0 "simulated: saves 6%"` {
		t.Errorf("engine was asked %q", got)
	}
	if b.w.sheet == nil || b.w.dialog != nil {
		t.Error("the view is not there any more, or the form still is")
	}
}

// Each opening and r simulate anew; what is left is stopped and its answer dropped.
func TestWhatIfJobs(t *testing.T) {
	var contexts []context.Context
	b := open(t, fakeMeasured(), 120, 40, func(o *Options) {
		o.WhatIf = func(ctx context.Context) (engine.Advice, error) {
			contexts = append(contexts, ctx)
			if len(contexts) == 3 {
				return engine.Advice{}, errors.New("no trajectory has ended")
			}
			return fakeAdvice(), nil
		}
	})
	press := func(k string) tea.Cmd { return b.w.route(keyMsg(t, k)) }
	has := func(want string) bool { return strings.Contains(b.w.View(), want) }
	first := press("w")
	if !has("simulating…") || has("max_parallel_agents 4 → 6") {
		t.Errorf("not simulating:\n%s", b.w.View())
	}
	answer := first()
	press("esc")
	if contexts[0].Err() == nil {
		t.Error("esc does not stop the simulation")
	}
	second := press("w")
	b.send(answer)
	if !has("simulating…") || has("max_parallel_agents 4 → 6") {
		t.Error("the answer to what was left is shown")
	}
	b.send(second())
	if has("simulating…") || !has("max_parallel_agents 4 → 6") || !has("stage times of 11 of 20 trajectories") {
		t.Errorf("no answer:\n%s", b.w.View())
	}
	third := press("r")
	if !has("simulating…") || !has("max_parallel_agents 4 → 6") {
		t.Error("what is known is gone while it is simulated anew")
	}
	b.send(third())
	if !has("✘ no trajectory has ended") || has("simulating…") {
		t.Errorf("the failure is not said:\n%s", b.w.View())
	}
}

// Nothing known, and nothing better.
func TestWhatIfNothing(t *testing.T) {
	for want, advice := range map[string]engine.Advice{
		"There is nothing to simulate yet":   {All: 20},
		"Nothing that was tried saves time:": {Known: 3, All: 20, Outlooks: fakeAdvice().Outlooks[:1]},
	} {
		b := open(t, fakeMeasured(), 80, 24, func(o *Options) {
			o.WhatIf = func(context.Context) (engine.Advice, error) { return advice, nil }
		})
		b.keys("w")
		if !strings.Contains(b.w.View(), want) {
			t.Errorf("does not say %q:\n%s", want, b.w.View())
		}
		b.keys("jG<enter>")
		b.shape("after keys")
	}
}

// A change that somebody else made is told; what adaptive does is kept only,
// the newest of several in a row.
func TestLimitsTold(t *testing.T) {
	change := func(b *bench, who, why string, run int) {
		b.f.write(fakeNow(), sessions.Key{}, sessions.KindLimits, sessions.Limits{Who: who, Why: why, MaxInit: 8, MaxAgents: run, MaxEval: 2, MaxLive: 16})
		b.pull()
	}
	last := func(b *bench) string {
		if len(b.w.toasts.all) == 0 {
			return ""
		}
		return b.w.toasts.all[len(b.w.toasts.all)-1].text
	}
	b := open(t, fakeMeasured(), 120, 40, nil)
	change(b, "operator", "", 5) // its verb has told
	change(b, "config", "", 5)
	if len(b.w.toasts.all) != 0 {
		t.Errorf("says %q", last(b))
	}
	b.w.toasts.add(b.w.now, ok, "shown")
	change(b, "adaptive", "KV cache 97 % in use", 6)
	if got := last(b); got != "adaptive: max_parallel_agents 5 → 6 (KV cache 97 % in use)" {
		t.Errorf("keeps %q", got)
	}
	change(b, "adaptive", "", 7)
	if got, _ := b.w.toasts.shown(b.w.now); got.text != "shown" || len(b.w.toasts.all) != 2 || last(b) != "adaptive: max_parallel_agents 6 → 7" {
		t.Errorf("shows %q, keeps %v", got.text, b.w.toasts.all)
	}
	b = open(t, fakeMeasured(), 120, 40, func(o *Options) { o.Commands = nil })
	change(b, "operator", "night", 9)
	if got, shown := b.w.toasts.shown(b.w.now); !shown || got.level != note || got.text != "operator: max_parallel_agents 4 → 9 (night)" {
		t.Errorf("of another process: %v", got)
	}
}

// The sheets lead to each other; the key that opened one closes it.
func TestSheetKeys(t *testing.T) {
	for keys, want := range map[string]string{"Q": "queues", "QQ": "", "Qq": "", "Q<esc>": "", "Qw": "what if", "wQ": "queues", "Q?": "help", "?Q": "queues", "?m": "messages", "mm": "", "Qc": "queues", "wr": "what if"} {
		b := open(t, fakeMeasured(), 120, 40, measured)
		b.keys(keys)
		got := ""
		if b.w.sheet != nil {
			got = b.w.sheet.title
		}
		if got != want || len(b.f.calls) > 0 {
			t.Errorf("%s: %q is open, want %q; calls %v", keys, got, want, b.f.calls)
		}
	}
}

// Limits are words in the events, and a kind that nobody knew of is readable.
func TestEventWords(t *testing.T) {
	for _, c := range []struct {
		event sessions.Event
		want  string
	}{
		{sessions.NewEvent(t0, sessions.Key{}, sessions.KindLimits, sessions.Limits{Who: "operator", Why: "disk", MaxInit: 8, MaxLive: 12, NumMembers: 20}),
			"operator: init 8 · run none · eval none · sandboxes 12 · ready default · disk"},
		{sessions.NewEvent(t0, sessions.Key{}, sessions.KindLimits, sessions.Limits{Who: "operator", MaxInit: 8, Policy: "async_batch", Order: "fifo", Adaptive: "kv", AdaptiveMin: 2, StallAfter: time.Minute}),
			"operator: init 8 · run none · eval none · sandboxes none · ready default · type async_batch · order fifo · adaptive kv · adaptive_min 2 · adaptive_max 0 · stall_after 1m"},
		{sessions.NewEvent(t0, sessions.Key{}, "limit", map[string]any{"stage": "run", "limit": "tool_timeout", "bound_ns": 3e10, "for": "execute_bash", "waited_ns": 0}),
			"bound=30.0 s for=execute_bash limit=tool_timeout stage=run"},
		{sessions.Event{Kind: sessions.KindLimits, Data: []byte("[1")}, "[1"},
	} {
		if got := eventWords(c.event); got != c.want {
			t.Errorf("%s: %q, want %q", c.event.Kind, got, c.want)
		}
	}
}

// Every setting of the dispatcher is in the form.
func TestEveryDispatcherSetting(t *testing.T) {
	var known []string
	for _, f := range tuningFields {
		known = append(known, f.name)
	}
	for _, f := range limitFields {
		known = append(known, f.name)
	}
	d := reflect.TypeFor[engine.Dispatcher]()
	for i := range d.NumField() {
		key := d.Field(i).Tag.Get("toml")
		if key == "val_config" { // the same keys again
			continue
		}
		if !slices.Contains(known, key) {
			t.Errorf("dispatcher.%s is not in the form of the limits", key)
		}
	}
	if len(known) != d.NumField()-1 {
		t.Errorf("%v: some are no settings any more", known)
	}
}
