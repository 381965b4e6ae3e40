package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"rollbench/engine"
	"rollbench/engine/dispatch"
	"rollbench/engine/task"
	"rollbench/ui"
)

// trialsOf makes a finding of verdicts: p passes, f fails, x has no reward, e an error.
func trialsOf(untouched, reference string) *finding {
	f := &finding{in: &task.Instance{ID: "a", Reference: task.Reference{Script: []byte("true")}}, repeats: len(untouched)}
	for i, kind := range kinds {
		for n, letter := range []string{untouched, reference}[i] {
			x := engine.Tried{Trial: engine.Trial{Instance: f.in, Kind: kind, Repeat: n + 1}}
			x.Verdict.Note = fmt.Sprintf("note %d", n+1)
			one, zero := 1.0, 0.0
			switch letter {
			case 'p':
				x.Verdict.Reward = &one
			case 'f':
				x.Verdict.Reward = &zero
			case 'e':
				x.Err = errors.New("no sandbox")
			}
			f.tried = append(f.tried, x)
		}
	}
	return f
}

func TestFindings(t *testing.T) {
	for _, c := range []struct{ untouched, reference, word, problem string }{
		{"f", "p", "sound", ""},
		{"fff", "ppp", "sound", ""},
		{"p", "p", "UNSOUND", "the untouched repository passes"},
		{"ff", "ff", "UNSOUND", "the reference solution fails (reward 0): note 1"},
		{"x", "p", "UNSOUND", "the verifier could not run on the untouched repository: note 1"},
		{"f", "e", "UNSOUND", "the verifier could not run on the reference solution: no sandbox"},
		{"e", "e", "UNSOUND", "the verifier could not run: no sandbox"},
		{"xx", "xx", "UNSOUND", "the verifier could not run: note 1"},
		{"e", "x", "UNSOUND", "the verifier could not run on the untouched repository: no sandbox; the verifier could not run on the reference solution: note 1"},
		{"fff", "pfp", "FLAKY", "flaky: the reference solution passes in 2, fails in 1 of 3 (note 2)"},
		{"ff", "px", "FLAKY", "flaky: the reference solution passes in 1, no reward in 1 of 2 (note 2)"},
		{"fp", "ff", "FLAKY", "flaky: the untouched repository passes in 1, fails in 1 of 2 (note 2); the reference solution fails (reward 0): note 1"},
	} {
		f := trialsOf(c.untouched, c.reference)
		if f.word() != c.word || f.problem() != c.problem {
			t.Errorf("%s %s: %s %q, want %s %q", c.untouched, c.reference, f.word(), f.problem(), c.word, c.problem)
		}
	}
}

// The report names the flaky kind, and gives an absent reward as such.
func TestFindingRows(t *testing.T) {
	f := trialsOf("ff", "px")
	rows := f.rows()
	if len(rows) != 4 || !f.whole() {
		t.Fatalf("%d rows, whole %v", len(rows), f.whole())
	}
	for i, row := range rows {
		reference := i >= 2
		if row.Flaky != reference || row.Sound || row.Repeat != i%2+1 {
			t.Errorf("row %d: %+v", i, row)
		}
	}
	if rows[3].Reward != nil || rows[2].Reward == nil || *rows[2].Reward != 1 {
		t.Errorf("rewards: %+v", rows)
	}
	f.tried = f.tried[:3] // interrupted: nothing is said to be sound
	if g := trialsOf("f", "p"); !g.rows()[0].Sound || f.whole() || f.rows()[0].Sound {
		t.Error("soundness of a whole and of an interrupted task")
	}
	f.in = &task.Instance{ID: "b"}
	if f.word() != "UNSOUND" || !strings.Contains(f.problem(), "no reference") || len(f.trials()) != 0 || len(f.rows()) != 1 {
		t.Errorf("without a reference: %s %s", f.word(), f.problem())
	}
}

// A task is taken from a report where all its trials stand there, each once and as
// often as they are wanted; what they found stays.
func TestTrialsOfAReport(t *testing.T) {
	f := trialsOf("ff", "px")
	rows := f.rows()
	if got := (earlier{"a": rows}).finding(f.in, 2); got == nil || got.word() != "FLAKY" || got.problem() != f.problem() || !got.whole() {
		t.Errorf("%+v", got)
	}
	for name, c := range map[string]struct {
		rows    []trialRow
		repeats int
	}{
		"none":              {nil, 2},
		"one lacks":         {rows[:3], 2},
		"one twice":         {append(rows[:3:3], rows[0]), 2},
		"more are wanted":   {rows, 3},
		"fewer are wanted":  {rows, 1},
		"of another repeat": {append(rows[:3:3], trialRow{Instance: "a", Kind: engine.Reference, Repeat: 7}), 2},
		"of another kind":   {append(rows[:3:3], trialRow{Instance: "a", Kind: "model", Repeat: 2}), 2},
	} {
		if got := (earlier{"a": c.rows}).finding(f.in, c.repeats); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What limits the trials stands within 80 columns.
func TestTrialLine(t *testing.T) {
	s := dispatch.Snapshot{Live: 9, MaxLive: 12, LimitedBy: "eval"}
	s.Busy, s.Limit, s.Waiting = [3]int{4, 3, 2}, [3]int{4, 8, 2}, [3]int{2, 0, 985}
	got := trialLine(s, 7, 1000, 3725*time.Second+400*time.Millisecond)
	if want := "[   7/1000 1h2m5s]  init 4/4 +2  run 3/8  eval 2/2 +985  limited by eval  sandboxes 9/12"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !strings.Contains(ui.CutTo(got, 79), "limited by eval") {
		t.Error("what limits them is cut")
	}
}

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{"rows.jsonl": "rows.jsonl", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$x": "'$x'", "@数.txt": "@数.txt"} {
		if got := shellWord(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// The sum of a validation that was stopped says how many tasks it does not speak of.
func TestStoppedSum(t *testing.T) {
	whole, cut := trialsOf("f", "p"), trialsOf("f", "p")
	cut.in = &task.Instance{ID: "b", Reference: cut.in.Reference}
	cut.tried = cut.tried[:1]
	var out strings.Builder
	v := &validation{app: &app{out: &out, err: io.Discard}, findings: map[string]*finding{"a": whole, "b": cut}, done: validated{Tasks: 2, Sound: 1}}
	err := v.conclude([]*task.Instance{whole.in, cut.in})
	var e *exit
	if out.String() != "1 of 2 tasks are sound, 1 not finished\n" || !errors.As(err, &e) || e.code != 1 {
		t.Errorf("%q %v", out.String(), err)
	}
}

// What is to be run next names the tasks as they were named.
func TestNextNamesTheTasks(t *testing.T) {
	var said strings.Builder
	v := &validation{app: &app{err: &said, flags: flags{tasks: "my set", split: "test", set: []string{"tasks.image_prefix=reg:5000/x/"}}}, soundFile: "sound.txt", report: &listing{}, done: validated{Tasks: 2, Sound: 1, Unsound: 1}}
	v.next()
	if want := "run the sound ones: rollbench run --tasks 'my set' --split test --set tasks.image_prefix=reg:5000/x/ --instances @sound.txt\n"; said.String() != want {
		t.Errorf("%q, want %q", said.String(), want)
	}
}
