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
		if l.firstLen == 0 {
			l.firstLen = t.PromptTokens
		}
		l.sent = append(append(l.sent, wire(t.New)...), assistant(&t))
		l.before, l.used = l.used, l.usedWith(&t)
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
func (l *Loop) Reinject(as As, text string) {
	l.injected = append(l.injected, sessions.Message{Role: string(as), Content: text, Source: sessions.FromOperator})
}

// Replay runs the recorded calls of the turns in a fresh sandbox and compares
// what they return, so that a resumed trajectory goes on in the place its
// model has seen. The error names the first call that answers differently.
func (l *Loop) Replay(ctx context.Context, turns []sessions.Turn, runs []sessions.HandRun) error {
	outside := map[string]bool{} // tools that work outside the sandbox: what they did stands
	for _, s := range l.Tools.Specs() {
		outside[s.Name] = s.Outside
	}
	last := 0
	for _, t := range turns {
		if t.Superseded {
			continue
		}
		last = t.Index
		before, after := handAt(runs, t.Index)
		if err := l.replayHand(ctx, before); err != nil {
			return err
		}
		for i, o := range t.Observations {
			if o.Was != "" {
				o.Source, o.Text = o.Was, o.Before
			}
			if o.Source != sessions.FromTool || i >= len(t.Calls) || outside[t.Calls[i].Name] {
				continue // it never ran, or is not to run again
			}
			if o.Status == string(tools.Cancelled) {
				return fmt.Errorf("turn %d: a person cancelled %s while it ran, and what it had done by then cannot be repeated", t.Index, o.Tool)
			}
			r, err := l.runTool(ctx, t.Calls[i], time.Time{})
			_ = r.Output.Close() // what it printed is in the session
			if err != nil {
				return err
			}
			if string(r.Status) != o.Status || steady(r.Text) != steady(o.Text) {
				return fmt.Errorf("turn %d: %s answers differently than recorded", t.Index, o.Tool)
			}
		}
		if err := l.replayHand(ctx, after); err != nil {
			return err
		}
	}
	ahead, _ := handAt(runs, last+1) // before a model call that was not made
	return l.replayHand(ctx, ahead)
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

func steady(text string) string {
	for _, u := range unsteady {
		text = u.what.ReplaceAllString(text, u.to)
	}
	return text
}
