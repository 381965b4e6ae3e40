package agent

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"rollbench/sessions"
	"rollbench/tools"
)

// Restore sets the loop to where recorded turns of the same attempt left it:
// conversation, budgets used, the reply that waits for its tools. It runs
// nothing; Replay rebuilds the sandbox.
func (l *Loop) Restore(turns []sessions.Turn) {
	for i := range turns {
		t := turns[i]
		if t.Version == 1 {
			l.others, l.clean = nil, sampleStart{t.NewSample, t.BreakAt}
		}
		if t.Superseded {
			l.others = append(l.others, &t)
			continue
		}
		if l.last == nil {
			l.firstLen = t.PromptTokens
		}
		l.sent = append(append(l.sent, wire(t.New)...), assistant(&t))
		l.before, l.used = l.used, t.PromptTokens+t.OutputTokens-l.firstLen
		l.active += t.ModelWall
		l.turn, l.last, l.fresh = t.Index, &t, nil
		if !t.Complete {
			continue // the last one that counts; others to the same prompt may follow
		}
		for _, o := range t.Observations {
			l.active += o.Wall
		}
		l.fresh = observed(&t)
		if len(t.Calls) == 0 {
			l.fresh = append(l.fresh, sessions.Message{Role: "user", Content: l.noCall(&t), Source: sessions.FromHarness})
		}
		l.remember(&t)
	}
}

// Reinject brings feedback back that was accepted but not yet sent to the
// model when the run was interrupted.
func (l *Loop) Reinject(text string) {
	l.injected = append(l.injected, sessions.Message{Role: "user", Content: text, Source: sessions.FromOperator})
}

// Replay runs the recorded calls of the turns in a fresh sandbox and compares
// what they return, so that a resumed trajectory goes on in the place its
// model has seen. The error names the first call that answers differently.
func (l *Loop) Replay(ctx context.Context, turns []sessions.Turn, runs []sessions.HandRun) error {
	_, _, err := l.Rebuild(ctx, turns, runs, 0)
	return err
}

// Rebuild is Replay for a fork: how the calls of turns before own, which are the
// parent's, answer otherwise than recorded is listed, and ends nothing. calls
// counts what ran.
func (l *Loop) Rebuild(ctx context.Context, turns []sessions.Turn, runs []sessions.HandRun, own int) (calls int, differs []sessions.Difference, err error) {
	r := &replay{Loop: l, own: own, outside: map[string]bool{}}
	for _, s := range l.Tools.Specs() {
		r.outside[s.Name] = s.Outside
	}
	last := 0
	for _, t := range turns {
		if t.Superseded {
			continue
		}
		last = t.Index
		before, after := handAt(runs, t.Index)
		err := r.hand(ctx, before)
		if err == nil {
			err = r.calls(ctx, t)
		}
		if err == nil {
			err = r.hand(ctx, after)
		}
		if err != nil {
			return r.ran, r.differs, err
		}
	}
	ahead, _ := handAt(runs, last+1) // before a model call that was not made
	err = r.hand(ctx, ahead)
	return r.ran, r.differs, err
}

// replay is a pass over recorded calls.
type replay struct {
	*Loop
	own     int             // first turn whose calls have to answer as recorded
	outside map[string]bool // tools that work outside the sandbox: what they did stands
	ran     int
	differs []sessions.Difference
}

// differ is the end of it, but for turns that only list it.
func (r *replay) differ(d sessions.Difference) error {
	if d.Turn < r.own {
		d.Was, d.Now = sessions.AroundDifference(d.Was, d.Now)
		r.differs = append(r.differs, d)
		return nil
	}
	if d.Why != "" {
		return fmt.Errorf("turn %d: %s", d.Turn, d.Why)
	}
	return fmt.Errorf("turn %d: %s answers differently than recorded", d.Turn, d.Tool)
}

func (r *replay) calls(ctx context.Context, t sessions.Turn) error {
	for i, o := range t.Observations {
		if o.Was != "" {
			o.Source, o.Text = o.Was, o.Before
		}
		if o.Source != sessions.FromTool || i >= len(t.Calls) || r.outside[t.Calls[i].Name] {
			continue // it never ran, or is not to run again
		}
		d := sessions.Difference{Turn: t.Index, Call: i, Tool: o.Tool, Args: t.Calls[i].Arguments, Was: o.Text}
		if o.Status == string(tools.Cancelled) {
			d.Why = fmt.Sprintf("a person cancelled %s while it ran, and what it had done by then cannot be repeated", o.Tool)
			if err := r.differ(d); err != nil {
				return err
			}
			continue
		}
		again, err := r.runTool(ctx, t.Calls[i], time.Time{})
		_ = again.Output.Close() // what it printed is in the session
		if err != nil {
			return err
		}
		r.ran++
		if string(again.Status) == o.Status && steady(again.Text) == steady(o.Text) {
			continue
		}
		d.Now = again.Text
		if err := r.differ(d); err != nil {
			return err
		}
	}
	return nil
}

// What differs between two runs of the same command without meaning anything.
var (
	unsteady = []struct {
		what *regexp.Regexp
		to   string
	}{
		{regexp.MustCompile(`0x[0-9a-fA-F]{4,}`), "0x…"},                           // addresses
		{regexp.MustCompile(`\d+(\.\d+)?\s?(ms|µs|us|ns|s|sec|seconds?)\b`), "…s"}, // durations
		{regexp.MustCompile(`\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?`), "…:…"},              // times of day
		{regexp.MustCompile(`\d{4}-\d{2}-\d{2}|[A-Z][a-z]{2}\s+\d{1,2}\b`), "…-…"}, // dates
		{regexp.MustCompile(`(?i)\b(pid|process)([ =:]+)\d+`), "$1$2…"},            // process ids
		{regexp.MustCompile(`/tmp/tmp[\w.-]+`), "/tmp/tmp…"},                       // temporary names
	}
)

// Alike reports whether two texts differ in nothing that means something.
func Alike(a, b string) bool { return steady(a) == steady(b) }

func steady(text string) string {
	for _, u := range unsteady {
		text = u.what.ReplaceAllString(text, u.to)
	}
	return text
}
