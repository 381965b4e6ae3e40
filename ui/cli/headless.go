package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"rollbench/engine"
	"rollbench/sessions"
)

// headless works the run with progress lines: on stderr with --json, so that
// stdout is one JSON line.
func (a *app) headless(ctx context.Context, w *work) error {
	lines := a.out
	if a.flags.json {
		lines = a.err
	}
	out := &heard{Writer: plain{lines}, stop: w.engine.Stop}
	lines = out
	run := w.store.Run()
	fmt.Fprintf(lines, "run %s: %s, %s (%d × %d), %s at %s%s, %s\n", run.ID, run.Title, count(len(run.Members), "trajectory"),
		len(run.Members)/max(run.N, 1), run.N, run.Model, run.Endpoint, simulatedMark(run.Simulate), run.Policy)
	for _, n := range slices.Concat(w.notices, w.warned) {
		fmt.Fprintln(lines, "note: "+n)
	}
	done := make(chan error, 1)
	go func() { done <- w.engine.Run(ctx) }()
	err := watchRun(ctx, w, lines, done)
	if err != nil {
		return errors.Join(err, out.failed())
	}
	return a.conclude(context.WithoutCancel(ctx), w)
}

func simulatedMark(yes bool) string {
	if yes {
		return " (simulated)"
	}
	return ""
}

// watchRun prints a line for each trajectory that ends and, when nothing ended
// for a while, where the queues are.
func watchRun(ctx context.Context, w *work, lines io.Writer, done <-chan error) error {
	wake, cancel := w.store.Wake()
	defer cancel()
	f := &follower{work: w, lines: lines, began: time.Now(), said: time.Now(), ended: map[sessions.Key]bool{}, told: told{}}
	rows, seq, err := w.store.Trajectories(ctx)
	if err != nil {
		return err
	}
	f.seq = seq
	for _, t := range rows {
		if t.State.Ended() {
			f.ended[t.Key] = true
			if t.Fork == nil {
				f.members++
			}
		}
	}
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return cmp.Or(err, f.pull(context.WithoutCancel(ctx)))
		case <-wake:
			if err := f.pull(context.WithoutCancel(ctx)); err != nil {
				w.engine.Stop()
				return cmp.Or(<-done, err)
			}
		case <-tick.C:
			f.queues()
			rows, seq, err := w.store.Trajectories(context.WithoutCancel(ctx))
			if why := unattended(rows); err == nil && why != "" && seq == f.stood {
				w.engine.Stop()
				return &forPerson{why, <-done}
			}
			f.stood = seq
		}
	}
}

type follower struct {
	*work
	lines io.Writer
	began time.Time
	said  time.Time
	seq   int64
	ended map[sessions.Key]bool
	// members that have ended: forks are no part of the count.
	members int
	stood   int64 // the last event at the tick before
	told    told
}

// told is which trajectory a long text was printed of.
type told map[string]sessions.Key

// longText is how much of a line a text may take each time.
const longText = 160

// once is a text, or where it is long and was printed of another trajectory, a word for
// that: an image that is missing has the same long story in all of its instance's.
func (s told) once(k sessions.Key, text string) string {
	first, before := s[text]
	switch {
	case len(text) < longText || k.IsZero() || before && first == k:
		return text
	case before:
		return "as " + first.String()
	}
	s[text] = k
	return text
}

// unattended says that what has not ended is held for a person, who cannot be reached
// here; "" while something goes on.
func unattended(rows []sessions.Trajectory) string {
	var first sessions.Trajectory
	n := 0
	for _, t := range rows {
		switch {
		case t.State.Ended(), t.State == sessions.Queued, t.State == sessions.Ready:
		case t.State != sessions.Held || t.Held == sessions.HeldError || t.Held == sessions.HeldLimit:
			return ""
		default:
			if n++; n == 1 {
				first = t
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("held for a person, who needs a terminal and no --headless: %s (%s)%s", first.Key, cmp.Or(first.HeldWhy, string(first.Held)), andMore(n-1))
}

func andMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// forPerson is how a run stops in which only a person could go on.
type forPerson struct {
	why     string
	stopped error
}

func (f *forPerson) Error() string { return f.why }
func (f *forPerson) Unwrap() error { return f.stopped }

func (f *follower) pull(ctx context.Context) error {
	changed := false
	for {
		events, err := f.store.Since(ctx, f.seq, 1000)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			break
		}
		f.seq = events[len(events)-1].Seq
		for _, e := range events {
			if e.Kind == sessions.KindWarning {
				var w sessions.Warning
				if err := json.Unmarshal(e.Data, &w); err != nil {
					return fmt.Errorf("read event %d: %w", e.Seq, err)
				}
				fmt.Fprintf(f.lines, "warning: %s %s\n", name(e.Key), f.told.once(e.Key, w.Text))
			}
			if e.Kind == sessions.KindRebuilt {
				var r sessions.Rebuilt
				if err := json.Unmarshal(e.Data, &r); err != nil {
					return fmt.Errorf("read event %d: %w", e.Seq, err)
				}
				f.sayRebuilt(e.Key, r)
			}
			changed = changed || e.Kind == sessions.KindState
		}
	}
	if !changed {
		return nil
	}
	rows, _, err := f.store.Trajectories(ctx)
	if err != nil {
		return err
	}
	for _, t := range rows {
		if t.State.Ended() && !f.ended[t.Key] {
			f.ended[t.Key] = true
			f.said = time.Now()
			if t.Fork == nil {
				f.members++
			}
			if len(t.Causes) > 0 {
				t.Causes = []string{f.told.once(t.Key, t.Causes[0])}
			}
			fmt.Fprintln(f.lines, endLine(f.members, len(f.store.Run().Members), time.Since(f.began), t))
		}
	}
	return nil
}

func name(k sessions.Key) string {
	if k.IsZero() {
		return "run:"
	}
	return k.String() + ":"
}

// endLine says how a trajectory ended.
func endLine(n, of int, at time.Duration, t sessions.Trajectory) string {
	reward := "no reward"
	if t.Reward != nil {
		reward = fmt.Sprintf("reward %g", *t.Reward)
	}
	count := fmt.Sprintf("%*d/%d", len(fmt.Sprint(of)), n, of)
	if t.Fork != nil {
		count = fmt.Sprintf("%*s", len(count), "fork")
	}
	line := fmt.Sprintf("[%s %6.1fs] %-9s %-32s %2d turns %6d tokens  %s  %s", count, at.Seconds(), t.State, t.Key, t.Turn, t.Tokens, reward, t.Finish)
	if t.Mask() != "" {
		line += "  masked"
	}
	if len(t.Causes) > 0 {
		line += "  (" + t.Causes[0] + ")"
	}
	return line
}

// queues says where everything is when nothing ended for a while.
func (f *follower) queues() {
	if time.Since(f.said) < 5*time.Second {
		return
	}
	f.said = time.Now()
	s := f.engine.Status()
	fmt.Fprintf(f.lines, "[%6.1fs] init %s  ready %d  run %s  eval %s  held %d  sandboxes %s%s\n", time.Since(f.began).Seconds(),
		queue(s.Init), s.Ready.Waiting, queue(s.Run), queue(s.Eval), s.Held, of(s.Live, s.MaxLive)+warm(s.Warm), note(s))
}

func queue(q engine.Queue) string { return fmt.Sprintf("%s +%d", of(q.Busy, q.Limit), q.Waiting) }

func of(n, limit int) string {
	if limit == 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d/%d", n, limit)
}

func warm(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d warm)", n)
}

func note(s *engine.Status) string {
	text := ""
	if s.LimitedBy != "" {
		text += "  limited by " + s.LimitedBy
	}
	for _, e := range s.Endpoints {
		if e.Problem != "" {
			text += "  endpoint: " + e.Problem
		}
	}
	if n := len(s.Notes); n > 0 {
		text += "  " + s.Notes[n-1]
	}
	return text
}

// outcome is the JSON line at the end of a headless run.
type outcome struct {
	Run          string   `json:"run"`
	Simulated    bool     `json:"simulated"`
	Trajectories int      `json:"trajectories"`
	Forks        int      `json:"forks,omitempty"` // beside them, in none of the counts
	Done         int      `json:"done"`
	Failed       int      `json:"failed"`
	Cancelled    int      `json:"cancelled"`
	Masked       int      `json:"masked"`
	Solved       int      `json:"solved"`
	MeanReward   *float64 `json:"mean_reward"` // of those that count; null when none does
	WallS        float64  `json:"wall_s"`      // of this process's part of the run
}

// conclude prints the summary. A run in which nothing worked is an error, with
// the first cause; rewards are never one.
func (a *app) conclude(ctx context.Context, w *work) error {
	if err := a.printSummary(ctx, w); err != nil {
		return err
	}
	rows, _, err := w.store.Trajectories(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.State != sessions.Failed {
			return nil
		}
	}
	why := rows[0].Finish
	if len(rows[0].Causes) > 0 {
		why = rows[0].Causes[0]
	}
	return fmt.Errorf("all %d trajectories failed: %s", len(rows), why)
}

func (a *app) printSummary(ctx context.Context, w *work) error {
	rows, _, err := w.store.Trajectories(ctx)
	if err != nil {
		return err
	}
	return a.printOutcome(w.store.Run(), rows, w.engine.Wall())
}

// printOutcome of a run that this process worked for that long.
func (a *app) printOutcome(run sessions.Run, rows []sessions.Trajectory, wall time.Duration) (err error) {
	s := sessions.Summarize(run, rows)
	o := outcome{Run: s.ID, Simulated: s.Simulated, Trajectories: s.Members, Forks: s.Forks, Done: s.Done, Failed: s.Failed, Cancelled: s.Cancelled,
		Masked: s.Masked, Solved: s.Solved, MeanReward: s.MeanReward, WallS: float64(wall.Milliseconds()) / 1000}
	if a.flags.json {
		return json.NewEncoder(a.out).Encode(o)
	}
	mean := "none"
	if o.MeanReward != nil {
		mean = fmt.Sprintf("%.3f", *o.MeanReward)
	}
	forks := ""
	if o.Forks > 0 {
		forks = fmt.Sprintf(" and %d forked", o.Forks)
	}
	_, err = fmt.Fprintf(a.out, "run %s%s: %s%s, %d done, %d failed, %d cancelled, %d masked, %d solved, mean reward %s, %.1f s\nlook at it:  %s open %s\nexport with: %s export %s -o transitions.jsonl\n",
		o.Run, simulatedMark(o.Simulated), count(o.Trajectories, "trajectory"), forks, o.Done, o.Failed, o.Cancelled, o.Masked, o.Solved, mean, o.WallS, self(), o.Run, self(), o.Run)
	return err
}
