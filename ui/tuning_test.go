package ui

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"rollbench/engine"
)

// A form whose verb is refused is there again with what was typed, and says why.
func TestRefusedForm(t *testing.T) {
	f := tuned()
	f.refuse = errors.New("dispatcher.adaptive moves max_parallel_agents, which has another meaning here")
	b := open(t, f, 80, 24, measured)
	b.keys("L" + strings.Repeat("<tab>", 5) + "<ctrl+u>async_batch<ctrl+s>")
	for _, want := range []string{"Limits of the dispatcher", "▏ async_batch ", "was async_pipeline", "✘ dispatcher.adaptive moves max_parallel_agents, which has another", "│ meaning here ", "tab field 6/12"} {
		if text := ansi.Strip(b.w.View()); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	f.refuse = nil
	b.keys("<ctrl+s>")
	if text := ansi.Strip(b.w.View()); strings.Contains(text, "Limits of the dispatcher") {
		t.Errorf("the form stays:\n%s", text)
	}
}

// The queues tell of the tuning in force, of the adaptive limit's bounds where it is on.
func TestTuningNow(t *testing.T) {
	now := engine.Tuning{Type: "async_pipeline", Order: "fifo", AdaptiveMin: 1, AdaptiveMax: 9, StallAfter: engine.Duration(20 * time.Second)}
	s := &engine.Status{Tuning: now}
	if got, want := tuningNow(&limitLog{}, s), "type async_pipeline · order fifo · adaptive off · stall_after 20s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	now.Adaptive = "kv"
	if got, want := tuningNow(&limitLog{now: &engine.Limits{}, tuning: now}, s), "type async_pipeline · order fifo · adaptive kv · adaptive_min 1 · adaptive_max 9 · stall_after 20s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := tuningNow(&limitLog{}, &engine.Status{}); got != "" {
		t.Errorf("%q of a run that has none", got)
	}
}

// tuned is a run whose engine tells of its tuning.
func tuned() *fakeRun {
	f := fakeMeasured()
	s := *f.status
	s.Tuning = engine.Tuning{Type: "async_pipeline", Order: "group", AdaptiveMin: 1, StallAfter: engine.Duration(time.Minute)}
	f.status = &s
	return f
}

// The form changes type, order, adaptive limit and stall with the limits, and sends
// only what can be.
func TestTuningForm(t *testing.T) {
	down := func(n int) string { return "L" + strings.Repeat("<tab>", n) }
	for _, c := range []struct{ name, keys, call, says string }{
		{"type", down(5) + "<ctrl+u>async_batch<ctrl+s>", `tune 8 4 2 16 0 async_batch group "" 1 0 1m0s ""`, "type async_pipeline → async_batch"},
		{"order and a limit", "L<ctrl+u>6" + strings.Repeat("<tab>", 6) + "<ctrl+u>fifo" + strings.Repeat("<tab>", 5) + "why not<ctrl+s>",
			`tune 6 4 2 16 0 async_pipeline fifo "" 1 0 1m0s "why not"`, "max_parallel_init 8 → 6, order group → fifo; what is above a lowered limit drains, nothing is killed"},
		{"adaptive", down(7) + "<ctrl+u>kv<tab><ctrl+u>2<tab><ctrl+u>9<ctrl+s>", `tune 8 4 2 16 0 async_pipeline group "kv" 2 9 1m0s ""`,
			"adaptive off → kv, adaptive_min 1 → 2, adaptive_max 0 → 9"},
		{"stall", down(10) + "<ctrl+u>90s<ctrl+s>", `tune 8 4 2 16 0 async_pipeline group "" 1 0 1m30s ""`, "stall_after 1m → 1m30s"},
		{"no duration", down(10) + "<ctrl+u>9<ctrl+s>", "", `stall_after: "9" is no duration: write it like "90s" or "1h30m"`},
		{"no number", down(8) + "x<ctrl+s>", "", `adaptive_min: "1x": use a whole number`},
		{"a limit alone", "L<ctrl+u>6<ctrl+s>", `limits 6 4 2 16 0 ""`, "max_parallel_init 8 → 6; what is above a lowered limit drains, nothing is killed"},
		{"unchanged", "L<ctrl+s>", "", "nothing is changed yet: esc leaves the limits as they are"},
		{"typed", ":set dispatcher.order longest_first<enter>", `tune 8 4 2 16 0 async_pipeline longest_first "" 1 0 1m0s ""`, "order group → longest_first"},
		{"typed with others", ":limits run=5 stall_after=2h why=night<enter>", `tune 8 5 2 16 0 async_pipeline group "" 1 0 2h0m0s "night"`, "max_parallel_agents 4 → 5, stall_after 1m → 2h"},
		{"the policy of an outlook", "wG<enter><ctrl+s>", `tune 8 4 2 16 0 async_batch_bounded fifo "" 1 0 1m0s "simulated"`, "type async_pipeline → async_batch_bounded, order group → fifo"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, tuned(), 120, 40, measured)
			b.asks(c.keys, c.call, c.says)
		})
	}
}
