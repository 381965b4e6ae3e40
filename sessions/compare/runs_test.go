package compare

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"rollbench/sessions"
)

func near(got *float64, want float64) bool { return got != nil && math.Abs(*got-want) < 1e-3 }

// By hand: 0, 0.5, 1 has mean 0.5, deviation 0.5, error 0.5/√3 = 0.2887; t of two
// degrees is 4.303, so ± 1.2421.
func TestEstimate(t *testing.T) {
	e := estimate([]float64{0, 0.5, 1})
	if e.N != 3 || !near(e.Mean, 0.5) || !near(e.SE, 0.2887) || !near(e.Low, -0.7421) || !near(e.High, 1.7421) || e.Apart() {
		t.Errorf("%+v", e)
	}
	if e := estimate([]float64{1, 2}); !near(e.SE, 0.5) || !near(e.Low, 1.5-6.353) || !near(e.High, 1.5+6.353) {
		t.Errorf("%+v", e)
	}
	if e := estimate([]float64{0.1, 0.1, 0.1}); !near(e.Mean, 0.1) || !near(e.SE, 0) || e.Low != nil || e.Apart() {
		t.Errorf("without variation: %+v", e)
	}
	if e := estimate([]float64{3}); !near(e.Mean, 3) || e.SE != nil || e.Low != nil {
		t.Errorf("of one: %+v", e)
	}
	if e := estimate(nil); e.Mean != nil || e.SE != nil || e.Apart() {
		t.Errorf("of none: %+v", e)
	}
	if e := estimate([]float64{1, 1.1, 0.9, 1, 1}); !e.Apart() {
		t.Errorf("clearly not 0: %+v", e)
	}
}

// Quantiles of Student's t from the tables of NIST's handbook.
func TestStudent(t *testing.T) {
	for freedom, want := range map[int]float64{1: 12.706, 2: 4.303, 10: 2.228, 30: 2.042, 31: 2.040, 40: 2.021, 60: 2.000, 100: 1.984, 1000: 1.962} {
		if got := student(freedom); math.Abs(got-want) > 1e-3 {
			t.Errorf("%d: %v, want %v", freedom, got, want)
		}
	}
}

func row(instance string, id int, reward any) sessions.Trajectory {
	t := sessions.NewTrajectory(sessions.Key{Instance: instance, ID: id}, t0)
	t.State, t.Turn, t.Finish = sessions.Done, 4, string(sessions.FinishTool)
	if r, ok := reward.(float64); ok {
		t.Reward = &r
	}
	return t
}

func side(id, print string, rows ...sessions.Trajectory) Side {
	s := Side{Run: sessions.Run{ID: id, Print: json.RawMessage(print)}, Rows: rows, Log: &Log{}}
	for _, t := range rows {
		s.Run.Members = append(s.Run.Members, t.Key)
	}
	return s
}

// Two runs of three instances in both, worked out by hand.
func twoRuns() (Side, Side) {
	masked := row("y", 1, 1.0)
	masked.Finish = string(sessions.MaxIterationsReached)
	changed := row("z", 1, 1.0)
	changed.Intervened = true
	dropped := row("z", 2, 1.0)
	dropped.Dropped = true
	going := row("z", 3, nil)
	going.State = sessions.Running
	unstarted := row("x", 2, 0.0)
	unstarted.Turn = 0
	a := side("r-a", `{"generator": {"temperature": 1, "seed": [1, 2]}, "tasks": "aa", "instances": ["x"]}`,
		row("x", 0, 0.0), row("x", 1, 0.0), unstarted,
		row("y", 0, 0.0), masked,
		row("z", 0, 1.0), changed, dropped, going,
		row("only-a", 0, 1.0))
	lost := row("z", 1, nil)
	lost.Finish = string(sessions.SandboxLost)
	fork := row("z", 2, 1.0)
	b := side("r-b", `{"generator": {"temperature": 0.7, "seed": [1, 2]}, "tasks": "aa", "extra": {"on": true}, "instances": ["y"]}`,
		row("x", 0, 1.0), row("x", 1, 0.0),
		row("y", 0, 1.0), row("y", 1, 1.0),
		row("z", 0, 1.0), lost, fork,
		row("only-b", 0, 0.5))
	b.Run.Members = append(b.Run.Members[:6:6], b.Run.Members[7]) // the fork is no member
	return a, b
}

func TestRuns(t *testing.T) {
	a, b := twoRuns()
	p := &tape{t: t, log: Log{}}
	for _, id := range []int{0, 1} { // a searches: 3 and 1 calls on x, 0 elsewhere
		p.reply(sessions.Key{Instance: "x", ID: id}, 1, "search")
		p.done(sessions.Key{Instance: "x", ID: id}, 1)
	}
	p.reply(sessions.Key{Instance: "x"}, 2, "search", "search", "bash")
	a.Log = &p.log
	r, err := Runs(a, b, false)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(r.Shared, []string{"x", "y", "z"}) || !reflect.DeepEqual(r.OnlyA, []string{"only-a"}) || !reflect.DeepEqual(r.OnlyB, []string{"only-b"}) {
		t.Errorf("instances %v %v %v", r.Shared, r.OnlyA, r.OnlyB)
	}
	want := Counted{Run: "r-a", Members: 9, Ended: 6, Rated: 5, Left: map[string]int{NoTurn: 1, Intervened: 1, Dropped: 1, Unfinished: 1}}
	if !reflect.DeepEqual(r.A, want) {
		t.Errorf("a %+v\nwant %+v", r.A, want)
	}
	want = Counted{Run: "r-b", Members: 6, Ended: 6, Rated: 5, Left: map[string]int{NoReward: 1, Forked: 1}}
	if !reflect.DeepEqual(r.B, want) {
		t.Errorf("b %+v\nwant %+v", r.B, want)
	}
	settings := []Setting{{"extra.on", "", "true"}, {"generator.temperature", "1", "0.7"}}
	if !reflect.DeepEqual(r.Settings, settings) {
		t.Errorf("settings %v, want %v", r.Settings, settings)
	}

	// pass@1: a 0, 1/2, 1; b 1/2, 1, 1. The differences 1/2, 1/2, 0 have mean 1/3,
	// deviation 0.2887, error 1/6, and reach 4.303/6 = 0.7172 to both sides.
	if len(r.Pass) != 2 {
		t.Fatalf("pass %+v", r.Pass)
	}
	one := r.Pass[0]
	if one.K != 1 || !near(one.A.Mean, 0.5) || !near(one.A.SE, 0.2887) || !near(one.B.Mean, 5.0/6) || !near(one.Diff.Mean, 1.0/3) || !near(one.Diff.SE, 1.0/6) ||
		!near(one.Diff.Low, 1.0/3-0.7172) || !near(one.Diff.High, 1.0/3+0.7172) || one.Diff.Apart() {
		t.Errorf("pass@1 %+v", one)
	}
	// pass@2: of x and y alone, z has one reward in each. a 0, 1; b 1, 1.
	two := r.Pass[1]
	if two.K != 2 || two.A.N != 2 || !near(two.A.Mean, 0.5) || !near(two.B.Mean, 1) || !near(two.Diff.Mean, 0.5) {
		t.Errorf("pass@2 %+v", two)
	}
	if m := r.Metrics[0]; m.Name != "reward" || !near(m.A.Mean, 0.5) || !near(m.B.Mean, 5.0/6) || m.Diff.N != 3 {
		t.Errorf("%+v", m)
	}
	// Search calls: a has (3+1)/2 on x and 0 elsewhere, b none.
	if m := r.Metrics[4]; m.Name != "search calls" || !near(m.A.Mean, 2.0/3) || !near(m.B.Mean, 0) || !near(m.Diff.Mean, -2.0/3) {
		t.Errorf("%+v", m)
	}
	finish := []Finish{{string(sessions.FinishTool), 5, 5}, {string(sessions.MaxIterationsReached), 1, 0}, {string(sessions.SandboxLost), 0, 1}}
	if !reflect.DeepEqual(r.Finish, finish) {
		t.Errorf("finish %v, want %v", r.Finish, finish)
	}
	flips := []Flip{{"x", Score{0, 2}, Score{1, 2}}, {"y", Score{1, 2}, Score{2, 2}}}
	if !reflect.DeepEqual(r.Flips, flips) || r.Rated != 3 || flips[0].A.Word() != "never" || flips[0].B.Word() != "sometimes" || flips[1].B.Word() != "always" || flips[0].Change() != 0.5 {
		t.Errorf("flips %v of %d, want %v", r.Flips, r.Rated, flips)
	}
}

// Asked in, the intervened one counts.
func TestRunsWithIntervened(t *testing.T) {
	a, b := twoRuns()
	a.Rows[5].Reward = new(float64) // z 0 of 1 without the intervened one, 1 of 2 with it
	for _, c := range []struct {
		with bool
		want Score
	}{{false, Score{0, 1}}, {true, Score{1, 2}}} {
		r, err := Runs(a, b, c.with)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Flips {
			if f.Instance == "z" && f.A != c.want {
				t.Errorf("with intervened %v: %+v, want %+v", c.with, f.A, c.want)
			}
		}
		if n := len(r.Flips); n != 3 {
			t.Errorf("%d flips", n)
		}
	}
}

// Nothing in common, or nothing with a reward: no number is made up.
func TestRunsApart(t *testing.T) {
	r, err := Runs(side("r-a", "", row("x", 0, nil)), side("r-b", "{}", row("x", 0, 1.0)), false)
	if err != nil || len(r.Pass) != 0 || r.Metrics[0].A.Mean != nil || len(r.Flips) != 0 || r.Rated != 0 || !reflect.DeepEqual(r.Unknown, []string{"r-a"}) {
		t.Errorf("%v %+v", err, r)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	r, err = Runs(side("r-a", "{}", row("x", 0, 1.0), row("x", 1, 0.0)), side("r-b", "{}", row("x", 0, 1.0)), false)
	if err != nil || len(r.Pass) != 1 || !near(r.Pass[0].A.Mean, 0.5) {
		t.Errorf("pass@2 of one reward in b: %v %+v", err, r.Pass)
	}
	r, err = Runs(side("r-a", "{}", row("x", 0, 1.0)), side("r-b", "{}", row("y", 0, 1.0)), false)
	if err != nil || len(r.Shared) != 0 || len(r.Pass) != 0 || r.Metrics[1].A.Mean != nil {
		t.Errorf("%v %+v", err, r)
	}
	if _, err := Runs(side("r-a", "7"), side("r-b", "{}"), false); err == nil {
		t.Error("a fingerprint that cannot be read was read")
	}
}

// Of the tasks those differ that both runs have in another form. A run of an older
// version has one digest of all, which says nothing of one.
func TestPrintsOfTasks(t *testing.T) {
	print := func(text string) sessions.Run { return sessions.Run{ID: "r", Print: []byte(text)} }
	a := print(`{"tasks": {"a.b": "11", "c": "22", "only": "33"}, "instances": ["a.b", "c", "only"]}`)
	b := print(`{"tasks": {"a.b": "19", "c": "22"}, "instances": ["a.b", "c"]}`)
	got, err := Prints(a, b)
	if err != nil || len(got) != 1 || got[0] != (Setting{"tasks.a.b", `"11"`, `"19"`}) || !got[0].IsTask() {
		t.Errorf("%+v, %v", got, err)
	}
	old := print(`{"tasks": "44", "instances": ["c"]}`)
	if got, err = Prints(old, b); err != nil || len(got) != 1 || got[0] != (Setting{"tasks", `"44"`, "one digest each"}) || got[0].IsTask() {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = Prints(old, old); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
