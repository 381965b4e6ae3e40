package engine

import (
	"log/slog"
	"testing"

	"rollbench/sandbox"
)

// Idle environments are no work: a lowered limit closes them, they do not stay
// beside those that are in use.
func TestIdleEnvironmentsAreLowered(t *testing.T) {
	r := newRig(t, nil, "pager-last-page")
	r.local.onOpen = func(_ sandbox.Spec, sb sandbox.Sandbox) (sandbox.Sandbox, error) {
		return &clean{sb, r.local, new(int), func(sandbox.Spec) error { return nil }}, nil
	}
	room := 4
	p := newPool("async_batch_bounded", func() int { return room }, slog.New(slog.DiscardHandler))
	defer p.close()
	open := func() sandbox.Sandbox {
		sb, err := p.open(t.Context(), r.local, sandbox.Spec{Name: "x", Workdir: "/testbed", Labels: map[string]string{"run": "r"}})
		if err != nil {
			t.Fatal(err)
		}
		return sb
	}
	var all []sandbox.Sandbox
	for range 4 {
		all = append(all, open())
	}
	for _, sb := range all {
		if err := p.give(t.Context(), sb, true); err != nil {
			t.Fatal(err)
		}
	}
	room = 1
	sb := open()
	if r.local.live > 1 {
		t.Errorf("%d sandboxes are open, the limit is 1", r.local.live)
	}
	if err := p.give(t.Context(), sb, true); err != nil {
		t.Fatal(err)
	}
	if sb = open(); r.local.live > 1 {
		t.Errorf("%d sandboxes are open after the next use, the limit is 1", r.local.live)
	}
	_ = p.give(t.Context(), sb, false)
}
