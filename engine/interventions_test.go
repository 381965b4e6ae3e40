package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rollbench/engine/infer"
	"rollbench/engine/infer/simulated"
	"rollbench/sandbox"
	"rollbench/sessions"
	"rollbench/sessions/export"
)

// whole is a row of the transitions format.
type whole struct {
	row
	ID        int      `json:"trajectory_id"`
	Source    string   `json:"source"`
	Reward    *float64 `json:"reward"`
	Advantage *float64 `json:"advantage"`
	Changed   bool     `json:"intervened"`
}

// consoled is a local sandbox that is counted and has a terminal.
type consoled struct {
	sandbox.Sandbox
	sandbox.Consoler
}

// pair is a run of a group of two, the first of which a person sits at.
func pair(t *testing.T, set func(*Config, *simulated.Options)) *sat {
	t.Helper()
	r := newRig(t, func(c *Config, so *simulated.Options) {
		c.Generator.NumTrajectories, c.Dispatcher.MaxRun, c.Limits.Init = 2, 2, Duration(time.Minute)
		if set != nil {
			set(c, so)
		}
	}, "build-order-cycle")
	r.local.onOpen = func(_ sandbox.Spec, sb sandbox.Sandbox) (sandbox.Sandbox, error) {
		return consoled{sb, sb.(*counted).Sandbox.(sandbox.Consoler)}, nil
	}
	s := &sat{rig: r.engine(), done: make(chan error, 1)}
	s.key = s.store.Run().Members[0]
	return s
}

// begin holds the first at after-reply of turn 1.
func (s *sat) begin() {
	s.t.Helper()
	s.must(s.Pause(s.key))
	s.start()
	s.held(sessions.BeforeModel)
	s.into(sessions.AfterReply)
}

func (s *sat) export(intervened bool) ([]whole, []byte, export.Summary) {
	s.t.Helper()
	var out bytes.Buffer
	sum, err := export.Write(s.t.Context(), &out, "transitions", s.store, export.Options{IncludeIntervened: intervened})
	s.must(err)
	var rows []whole
	for line := range strings.Lines(out.String()) {
		var r whole
		s.must(json.Unmarshal([]byte(line), &r))
		rows = append(rows, r)
	}
	return rows, out.Bytes(), sum
}

func (s *sat) intervenes(verb string) {
	s.t.Helper()
	s.until(verb, func() bool { return slices.Contains(s.verbs(), verb) })
}

func (s *sat) verbs() (list []string) {
	for _, e := range s.events(sessions.KindIntervention) {
		var i sessions.Intervention
		s.must(json.Unmarshal(e.Data, &i))
		list = append(list, i.Verb)
	}
	return list
}

// ran waits for the end of a turn, held before the next one.
func (s *sat) ran(turn int) {
	s.t.Helper()
	s.until(fmt.Sprint("the end of turn ", turn), func() bool {
		n := 0
		for _, e := range s.events(sessions.KindTurnDone) {
			if e.Key == s.key {
				n++
			}
		}
		row := s.row(0)
		return n >= turn && row.State == sessions.Held && row.HeldAt == sessions.BeforeModel
	})
}

const looks = `{"command":"pwd"}`

// Every verb of a person, and what it does to what a trainer reads: which turns have
// loss mask 0 (all their tokens; every token of the others has 1), where samples
// begin, and that the trajectory is in no export unless it is asked in.
func TestEveryInterventionExported(t *testing.T) {
	call := []sessions.Call{{Name: "execute_bash", Arguments: looks}}
	for _, c := range []struct {
		name   string
		act    func(s *sat) // from after-reply of turn 1
		verbs  string
		masked []int // turns; nil: none; -1: all
		fresh  []int // turns that begin a sample, beside turn 1
		why    string
	}{
		{"inject as a user", func(s *sat) { s.must(s.Inject(s.key, "look in b.py")); s.intervenes("inject") }, "inject 1", nil, nil, ""},
		{"inject as a tool", func(s *sat) { s.must(s.InjectAs(s.key, "tool", "2 warnings")); s.intervenes("inject") }, "inject 1", nil, nil, ""},
		{"edit the call", func(s *sat) { s.must(s.EditCall(s.key, 0, "execute_bash", looks)); s.intervenes("edit") }, "edit 1", []int{1}, nil, ""},
		{"reject", func(s *sat) { s.must(s.Reject(s.key, "not this")); s.intervenes("reject") }, "reject 1", nil, nil, ""},
		{"replace the reply", func(s *sat) { s.must(s.Write(s.key, "I look.", call)); s.intervenes("replace") }, "replace 1", []int{1}, nil, ""},
		{"resample and pick", func(s *sat) {
			s.must(s.Resample(s.key, 1))
			s.seen(sessions.KindResampled, 1)
			s.held(sessions.AfterReply)
			s.must(s.Pick(s.key, 2))
			s.seen(sessions.KindPicked, 1)
		}, "resample 1, pick 1", []int{1}, nil, ""},
		{"edit the observation", func(s *sat) {
			s.into(sessions.AfterTool)
			s.must(s.EditObservation(s.key, 0, "nothing"))
			s.intervenes("edit_observation")
		}, "edit_observation 1", nil, nil, ""},
		{"cancel a call", func(s *sat) {
			s.must(s.EditCall(s.key, 0, "execute_bash", `{"command":"echo begun; sleep 60"}`))
			s.intervenes("edit")
			s.must(s.Step(s.key, "over"))
			s.until("it runs", func() bool { return strings.Contains(s.Status().Streams[s.key.String()].Text, "begun") })
			s.must(s.CancelCall(s.key, time.Time{}))
			s.held(sessions.BeforeModel)
		}, "edit 1, cancel_call 1", []int{1}, nil, ""},
		{"look by hand", func(s *sat) { s.must(s.RunByHand(s.key, "true", true)); s.seen(sessions.KindHandRun, 1) }, "", nil, nil, ""},
		{"change by hand", func(s *sat) { s.must(s.RunByHand(s.key, "echo > byhand", false)); s.intervenes("run") }, "run 1", nil, nil, ""},
		{"a shell", func(s *sat) { s.work("echo > inashell") }, "shell 1", nil, nil, ""},
		{"force finish", func(s *sat) {
			s.must(s.RunByHand(s.key, "echo > byhand", false)) // so that there is a patch
			s.intervenes("run")
			s.must(s.Finish(s.key))
			s.intervenes("force_finish")
		}, "run 1, force_finish 1", []int{-1}, nil, "force_finished"},
		{"raise a limit", func(s *sat) { s.must(s.RaiseLimit(s.key, 99, 0)); s.intervenes("raise_limit") }, "raise_limit 1", nil, nil, ""},
		{"write a turn", func(s *sat) {
			s.must(s.Step(s.key, "over"))
			s.held(sessions.BeforeModel)
			s.must(s.Write(s.key, "", call))
			s.ran(2)
		}, "write 2", []int{2}, []int{2}, ""},
		{"write two turns of one's own", func(s *sat) {
			s.must(s.Human(s.key, true), s.Step(s.key, "over"))
			for n := 2; n <= 3; n++ {
				s.ran(n - 1)
				s.must(s.Write(s.key, fmt.Sprint("step ", n), call))
			}
			s.ran(3)
			s.must(s.Human(s.key, false))
		}, "write 2, write 3", []int{2, 3}, []int{2, 3}, ""},
		{"mask", func(s *sat) { s.must(s.Mark(s.key, sessions.Marks{Mask: true})) }, "", []int{-1}, nil, "masked_by_person"},
		{"tag and note", func(s *sat) { s.must(s.Mark(s.key, sessions.Marks{Tags: []string{"odd"}, Note: "hm"})) }, "", nil, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := pair(t, nil)
			s.begin()
			c.act(s)
			end := s.finish()
			if end.State != sessions.Done || end.Reward == nil || end.Attempt != 1 || end.Intervened != (c.verbs != "") {
				t.Fatalf("ended as %+v; %q", end, s.said(sessions.KindWarning))
			}
			s.exportedAs(c.verbs, c.masked, c.fresh, c.why)
		})
	}
}

// exportedAs compares the rows of the first trajectory with what was worked out.
func (s *sat) exportedAs(verbs string, masked, fresh []int, why string) {
	t := s.t
	t.Helper()
	unasked, _, sum := s.export(false)
	of := func(rows []whole, id int) (list []whole) {
		for _, r := range rows {
			if r.ID == id {
				list = append(list, r)
			}
		}
		return list
	}
	if n := len(of(unasked, 0)); verbs != "" && (n != 0 || sum.Intervened != 1) || verbs == "" && n == 0 {
		t.Errorf("%d rows are exported unasked, %d are intervened", n, sum.Intervened)
	}
	for _, r := range of(unasked, 1) { // the other one's baseline is without it
		if (r.Advantage == nil) != (verbs != "") {
			t.Errorf("the advantage beside it is %v", r.Advantage)
		}
	}
	all, _, _ := s.export(true)
	rows := of(all, 0)
	if len(rows) == 0 {
		t.Fatal("nothing is exported")
	}
	var did []string
	for _, d := range rows[0].Did {
		did = append(did, fmt.Sprint(d.Verb, " ", d.Turn))
	}
	if got := strings.Join(did, ", "); got != verbs {
		t.Errorf("interventions %q, want %q", got, verbs)
	}
	for i, r := range rows {
		want := 1
		if slices.Contains(masked, r.Turn) || slices.Contains(masked, -1) {
			want = 0
		}
		if len(r.Output) == 0 || len(r.Mask) != len(r.Output) || !slices.Equal(r.Mask, slices.Repeat([]int{want}, len(r.Output))) {
			t.Errorf("turn %d: %d tokens, mask %v, want all %d", r.Turn, len(r.Output), r.Mask, want)
		}
		byHand := r.Source == "operator"
		if byHand != (slices.Contains(masked, r.Turn) && r.Probs == nil) || !byHand && len(r.Probs) != len(r.Output) {
			t.Errorf("turn %d by %s: %d logprobs of %d tokens", r.Turn, r.Source, len(r.Probs), len(r.Output))
		}
		if begins := i == 0 || slices.Contains(fresh, r.Turn); r.New != begins {
			t.Errorf("turn %d: new sample %v, want %v", r.Turn, r.New, begins)
		}
		if (r.Why == nil) != (why == "") || r.Why != nil && *r.Why != why {
			t.Errorf("turn %d: mask reason %v, want %q", r.Turn, r.Why, why)
		}
		if r.Reward == nil || r.Advantage == nil || r.Changed != (verbs != "") {
			t.Errorf("turn %d: reward %v, advantage %v, intervened %v", r.Turn, r.Reward, r.Advantage, r.Changed)
		}
		if i > 0 { // prompts go on token by token, whoever wrote what is before
			before := append(slices.Clone(rows[i-1].Prompt), rows[i-1].Output...)
			if len(r.Prompt) < len(before) || !slices.Equal(r.Prompt[:len(before)], before) {
				t.Errorf("turn %d does not continue turn %d", r.Turn, rows[i-1].Turn)
			}
		}
	}
}

// work at a shell in the sandbox itself.
func (s *sat) work(script string) {
	s.t.Helper()
	sh, err := s.OpenShell(s.t.Context(), s.key, false, Terminal{Rows: 24, Cols: 80})
	s.must(err)
	_, err = sh.Write([]byte(script + "; exit\n"))
	s.must(err)
	if _, err := sh.Wait(); err != nil {
		s.t.Fatal(err)
	}
	s.must(sh.Close(), sh.Close())
}

// A dropped one is in no export, asked in or not.
func TestDropIsExportedNowhere(t *testing.T) {
	s := pair(t, nil)
	s.begin()
	s.must(s.Mark(s.key, sessions.Marks{Drop: true}))
	s.finish()
	for _, asked := range []bool{false, true} {
		rows, _, sum := s.export(asked)
		if sum.Dropped != 1 || slices.ContainsFunc(rows, func(r whole) bool { return r.ID == 0 }) {
			t.Errorf("dropped %d, %d rows", sum.Dropped, len(rows))
		}
	}
}

// untimed is an export without the seconds that the runner of a task's tests prints,
// whose tokens are its bytes: "0.014s".
func untimed(data []byte) []byte {
	return regexp.MustCompile(`48,46,\d\d,\d\d,\d\d,115`).ReplaceAll(data, []byte("48,46,48,48,48,115"))
}

// Pausing, stepping, breakpoints, looking and stopping at once leave no trace: what
// is exported is the same byte for byte as of a run that nobody sat at.
func TestHoldingIsExportedAsNothing(t *testing.T) {
	slow := func(_ *Config, so *simulated.Options) { so.Latency = 250 * time.Millisecond } // so that a reply can be stopped
	alone := pair(t, nil)
	alone.toEndOf()
	_, want, _ := alone.export(false)
	want = untimed(want)
	for name, act := range map[string]func(s *sat){
		"pause": func(*sat) {},
		"step":  func(s *sat) { s.into(sessions.AfterTool); s.into(sessions.BeforeModel); s.into(sessions.AfterReply) },
		"breakpoint": func(s *sat) {
			s.must(s.SetBreakpoint(0, "turn=3 in="+s.key.String()), s.Continue(s.key))
			s.held(sessions.BeforeModel)
		},
		"look": func(s *sat) { s.must(s.RunByHand(s.key, "true", true)); s.seen(sessions.KindHandRun, 1) },
		"stop now": func(s *sat) {
			s.must(s.Continue(s.key))
			for n := range 2 {
				s.until("it replies", func() bool { return s.Status().Streams[s.key.String()].What == "model" || s.row(0).State.Ended() })
				s.must(s.StopNow(s.key))
				s.seen(sessions.KindRequestStopped, n+1)
				s.held(sessions.BeforeModel)
				s.must(s.Continue(s.key))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := pair(t, map[bool]func(*Config, *simulated.Options){true: slow}[name == "stop now"])
			s.begin()
			act(s)
			if end := s.finish(); end.Intervened {
				t.Errorf("intervened by %q", s.verbs())
			}
			if _, got, _ := s.export(false); !bytes.Equal(untimed(got), want) {
				got = untimed(got)
				at := 0
				for at < min(len(got), len(want)) && got[at] == want[at] {
					at++
				}
				around := func(b []byte) []byte { return b[max(at-100, 0):min(at+60, len(b))] }
				t.Errorf("another export: %d bytes, %d unpaused, from %d on: %s, unpaused %s", len(got), len(want), at, around(got), around(want))
			}
		})
	}
}

// A person's turn that was committed before a kill is gone on with, and the mode is
// kept; feedback that it carried is not given again.
func TestResumeAfterAPersonsTurn(t *testing.T) {
	s := sit(t, nil)
	s.must(s.Human(s.key, true), s.Step(s.key, "over"))
	s.held(sessions.BeforeModel)
	s.must(s.Inject(s.key, "by the way"), s.Write(s.key, "mine", []sessions.Call{{Name: "execute_bash", Arguments: looks}}))
	s.ran(2)
	s.Stop()
	if err := <-s.done; err == nil {
		t.Fatal("it was not stopped")
	}
	s.reopen()
	s.engine()
	s.start()
	s.until("held again", func() bool { at, held := s.items[0].gate.Held(); return held && at == sessions.BeforeModel })
	if two := s.turn(2); len(two) != 1 || two[0].Source != sessions.FromOperator || two[0].New[len(two[0].New)-1].Content != "by the way" || !two[0].Complete {
		t.Fatalf("turn 2 is %+v", two)
	}
	if err := s.Continue(s.key); err == nil || !s.Status().Human[s.key.String()] {
		t.Errorf("a model call instead of the person's turn: %v", err)
	}
	s.must(s.Human(s.key, false))
	if row := s.finish(); row.Attempt != 1 || row.State != sessions.Done {
		t.Errorf("row %+v", row)
	}
	if three := s.turn(3)[0]; len(three.New) != 1 || three.Source != sessions.FromModel {
		t.Errorf("turn 3 read %+v", three.New)
	}
}

// What was done at a shell cannot be repeated: a resume starts the trajectory again.
func TestResumeAfterAShell(t *testing.T) {
	s := pair(t, nil)
	s.begin()
	if _, err := s.OpenShell(t.Context(), s.key, true, Terminal{}); err == nil || !strings.Contains(err.Error(), "cannot be copied") {
		t.Errorf("a look: %v", err)
	}
	gone, end := context.WithCancel(t.Context())
	end()
	if sh, err := s.OpenShell(gone, s.key, false, Terminal{}); err == nil { // it may have been recorded first
		s.must(sh.Close())
	}
	s.work("echo > inashell")
	facts := s.said(sessions.KindShell)
	if last := facts[len(facts)-1]; !strings.Contains(last, `"turn":1,"at":"after-reply","open":false`) {
		t.Errorf("told %q", facts)
	}
	s.Stop()
	<-s.done
	s.reopen()
	s.engine()
	s.toEndOf()
	if row := s.row(0); row.Attempt != 2 || row.State != sessions.Done || row.Intervened {
		t.Errorf("row %+v", row)
	}
	if why := s.said(sessions.KindAttempt); len(why) != 1 || !strings.Contains(why[0], "a person worked in its sandbox at a shell") {
		t.Errorf("%q", why)
	}
	if _, err := s.OpenShell(t.Context(), s.key, true, Terminal{}); err == nil || !strings.Contains(err.Error(), "is over") {
		t.Errorf("a shell after the end: %v", err)
	}
}

// A run without any endpoint is a person's from its first turn to its last; nothing
// has ids then, and nothing is made up.
func TestRunWithoutAModel(t *testing.T) {
	r := setup(t, 1, func(c *Config) { c.Generator.PromptMode = promptChat })
	r.opt.Endpoints, r.opt.Capabilities, r.opt.Meet, r.opt.Forget = nil, infer.Capabilities{}, nil, nil
	s := &sat{rig: r.engine(), done: make(chan error, 1)}
	s.key = s.store.Run().Members[0]
	s.start()
	s.held(sessions.BeforeModel)
	for _, err := range []error{s.Human(s.key, false), s.Resample(s.key, 1)} {
		if err != errNoModel {
			t.Errorf("a model is asked: %v", err)
		}
	}
	if err := s.Continue(s.key); err == nil {
		t.Error("it goes on to a model that is not there")
	}
	s.must(s.Write(s.key, "", []sessions.Call{{Name: "execute_bash", Arguments: `{"command":"echo > made"}`}}))
	s.ran(1)
	s.must(s.Write(s.key, "Done.", []sessions.Call{{Name: "finish", Arguments: `{}`}}))
	s.held(sessions.BeforeEval)
	if row := s.finish(); row.State != sessions.Done || row.Finish != string(sessions.FinishTool) || row.Turn != 2 || row.Tokens != 0 || row.Reward == nil {
		t.Errorf("row %+v", row)
	}
	rows, _, sum := s.export(true)
	if len(rows) != 2 || sum.TextOnly != 2 || rows[0].Output != nil || rows[1].Prompt != nil || rows[0].Mask != nil || rows[0].Source != "operator" {
		t.Errorf("%d rows, %d without ids: %+v", len(rows), sum.TextOnly, rows)
	}
	if n := len(s.events(sessions.KindModelCalled)); n != 0 {
		t.Errorf("%d model calls", n)
	}
}
