package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"rollbench/sessions"
	"rollbench/sessions/export"
)

// sat is a run of one trajectory, held at its gates.
type sat struct {
	*rig
	key  sessions.Key
	done chan error
}

// sit starts the run and holds its trajectory at after-reply of turn 1.
func sit(t *testing.T, change func(*Config)) *sat {
	t.Helper()
	s := &sat{rig: setup(t, 1, change).engine(), done: make(chan error, 1)}
	s.key = s.store.Run().Members[0]
	s.must(s.Pause(s.key))
	s.start()
	s.held(sessions.BeforeModel)
	s.into(sessions.AfterReply)
	return s
}

func (s *sat) start() { go func() { s.done <- s.Run(s.t.Context()) }() }

func (s *sat) must(errs ...error) {
	s.t.Helper()
	if err := errors.Join(errs...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sat) held(at sessions.Gate) {
	s.t.Helper()
	s.until("held at "+string(at), func() bool { row := s.row(0); return row.State == sessions.Held && row.HeldAt == at })
}

func (s *sat) into(at sessions.Gate) {
	s.t.Helper()
	s.must(s.Step(s.key, "into"))
	s.held(at)
}

// seen waits for so many events of a kind.
func (s *sat) seen(kind sessions.Kind, n int) []sessions.Event {
	s.t.Helper()
	s.until(fmt.Sprint(n, " × ", kind), func() bool { return len(s.events(kind)) >= n })
	return s.events(kind)
}

// finish lets it go on to its end.
func (s *sat) finish() sessions.Trajectory {
	s.t.Helper()
	if err := s.Continue(s.key); err != nil && !strings.HasSuffix(err.Error(), "is over") { // as it is where a verb ended it
		s.t.Fatal(err)
	}
	s.must(<-s.done)
	s.nothingOpen()
	return s.row(0)
}

func (s *sat) turn(n int) []sessions.Turn {
	s.t.Helper()
	turns, err := s.store.Turns(s.t.Context(), s.key, 0, n, n, true)
	s.must(err)
	return turns
}

// row of the transitions format, as far as these tests look.
type row struct {
	Turn   int       `json:"turn"`
	Prompt []int32   `json:"prompt_token_ids"`
	Output []int32   `json:"output_token_ids"`
	Probs  []float64 `json:"logprobs"`
	Mask   []int     `json:"loss_mask"`
	Why    *string   `json:"mask_reason"`
	New    bool      `json:"new_sample"`
	Did    []struct {
		Verb string `json:"verb"`
		Turn int    `json:"turn"`
	} `json:"interventions"`
}

// trains reports whether all tokens of the row have mask 1; none of them is the
// other thing that may be.
func (r row) trains(t testing.TB) bool {
	t.Helper()
	n := 0
	for _, m := range r.Mask {
		n += m
	}
	if n != 0 && n != len(r.Mask) {
		t.Errorf("turn %d: %d of %d tokens train", r.Turn, n, len(r.Mask))
	}
	return n > 0
}

// exported are the transitions, checked as the command line checks them.
func (s *sat) exported(intervened bool) ([]row, export.Summary) {
	s.t.Helper()
	var out bytes.Buffer
	sum, err := export.Write(s.t.Context(), &out, "transitions", s.store, export.Options{IncludeIntervened: intervened})
	s.must(err)
	var rows []row
	for line := range strings.Lines(out.String()) {
		var r row
		s.must(json.Unmarshal([]byte(line), &r))
		rows = append(rows, r)
	}
	return rows, sum
}

// expect that all turns train but those given, and that the interventions are
// these, and that without being asked for nothing is exported.
func (s *sat) expect(masked []int, verbs string) []row {
	s.t.Helper()
	if rows, sum := s.exported(false); len(rows) != 0 || sum.Intervened != 1 {
		s.t.Errorf("an intervened trajectory is exported unasked: %v", sum)
	}
	rows, _ := s.exported(true)
	if len(rows) < 3 {
		s.t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		if r.trains(s.t) == slices.Contains(masked, r.Turn) {
			s.t.Errorf("turn %d: mask %v", r.Turn, r.Mask[:1])
		}
	}
	var did []string
	for _, d := range rows[0].Did {
		did = append(did, fmt.Sprint(d.Verb, " ", d.Turn))
	}
	if got := strings.Join(did, ", "); got != verbs {
		s.t.Errorf("interventions %s, want %s", got, verbs)
	}
	return rows
}

// A resampled turn has mask 0 whichever reply was picked, in both prompt modes;
// what follows continues it token by token, and trains.
func TestResampleARun(t *testing.T) {
	for _, mode := range []string{promptTokens, "chat"} {
		t.Run(mode, func(t *testing.T) {
			s := sit(t, func(c *Config) { c.Generator.PromptMode = mode })
			s.must(s.Resample(s.key, 2))
			s.seen(sessions.KindResampled, 2)
			s.held(sessions.AfterReply)
			all := s.turn(1)
			if len(all) != 3 || all[0].Superseded || !all[1].Superseded || !slices.Equal(all[0].PromptIDs, all[2].PromptIDs) ||
				slices.Equal(all[0].OutputIDs, all[1].OutputIDs) && slices.Equal(all[0].Logprobs, all[1].Logprobs) && slices.Equal(all[0].OutputIDs, all[2].OutputIDs) {
				t.Fatalf("%d replies, equal ones among them", len(all))
			}
			s.must(s.Pick(s.key, 3))
			s.seen(sessions.KindPicked, 1)
			if row := s.row(0); row.Turn != 1 || row.Tokens != all[2].OutputTokens || row.Sampled != all[0].OutputTokens+all[1].OutputTokens+all[2].OutputTokens {
				t.Errorf("row %+v", row)
			}
			if row := s.finish(); !row.Intervened || row.Reward == nil || row.Breaks != 0 {
				t.Errorf("row %+v", row)
			}
			rows := s.expect([]int{1}, "resample 1, pick 1")
			if !slices.Equal(rows[0].Output, all[2].OutputIDs) || !slices.Equal(rows[0].Probs, all[2].Logprobs) || len(rows[0].Probs) == 0 {
				t.Error("another reply than the picked one is exported")
			}
			whole := append(slices.Clone(rows[0].Prompt), rows[0].Output...)
			if rows[1].New || len(rows[1].Prompt) < len(whole) || !slices.Equal(rows[1].Prompt[:len(whole)], whole) {
				t.Error("turn 2 does not continue the picked reply")
			}
			if _, sum := s.exported(true); sum.Superseded != 2 || sum.Picked != 1 {
				t.Errorf("summary %+v", sum)
			}
		})
	}
}

// Interrupted with fresh replies, the run resumes with them.
func TestResumeBetweenReplies(t *testing.T) {
	s := sit(t, nil)
	s.must(s.Resample(s.key, 1))
	s.seen(sessions.KindResampled, 1)
	s.held(sessions.AfterReply)
	s.Stop()
	if err := <-s.done; !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	s.reopen()
	s.engine()
	s.must(s.Pause(s.key))
	s.start()
	s.until("held again", func() bool { at, held := s.items[0].gate.Held(); return held && at == sessions.AfterReply })
	s.must(s.Pick(s.key, 2))
	s.seen(sessions.KindPicked, 1)
	if row := s.finish(); row.Attempt != 1 || !row.Intervened {
		t.Errorf("row %+v", row)
	}
	s.expect([]int{1}, "resample 1, pick 1")
}

// The reply that asked for it trains; what a person made the model read is
// observation, and starts no new sample.
func TestEditObservationOfARun(t *testing.T) {
	s := sit(t, nil)
	s.into(sessions.AfterTool)
	s.must(s.EditObservation(s.key, 0, "a person wrote this"))
	s.seen(sessions.KindIntervention, 1)
	s.Stop() // the edit is there again after a resume, and the call is replayed as it was
	if err := <-s.done; !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	s.reopen()
	s.engine()
	s.toEndOf()
	if row := s.row(0); row.State != sessions.Done || row.Attempt != 1 || !row.Intervened || row.Breaks != 0 {
		t.Errorf("row %+v", row)
	}
	if two := s.turn(2)[0]; two.New[0].Content != "a person wrote this" || two.New[0].Source != sessions.FromOperator {
		t.Errorf("turn 2 read %+v", two.New)
	}
	if o := s.turn(1)[0].Observations[0]; o.Before == "" || o.Was != sessions.FromTool || o.Source != sessions.FromOperator {
		t.Errorf("observation %+v", o)
	}
	for _, r := range s.expect(nil, "edit_observation 1") {
		if r.New != (r.Turn == 1) {
			t.Errorf("turn %d: new sample %v", r.Turn, r.New)
		}
	}
}

// toEndOf the run without stopping anywhere.
func (s *sat) toEndOf() {
	s.t.Helper()
	s.must(s.Run(s.t.Context()))
	s.nothingOpen()
}

// A raised limit holds over a resume and makes the trajectory intervened; all it
// samples trains.
func TestRaiseLimitOfARun(t *testing.T) {
	s := sit(t, func(c *Config) { c.Generator.MaxIterations = 2 })
	for want, f := range map[string]func() error{
		"limits are raised only: it has 2 turns and 131072 tokens": func() error { return s.RaiseLimit(s.key, 1, 0) },
		"nothing is raised":                func() error { return s.RaiseLimit(s.key, 2, 0) },
		"a limit is a number from 1 on":    func() error { return s.RaiseLimit(s.key, -1, 0) },
		"there is no trajectory gone#0":    func() error { return s.RaiseLimit(sessions.Key{Instance: "gone"}, 9, 0) },
		"99 replies: ask for 1 to 16":      func() error { return s.Resample(s.key, 99) },
		"there is no reply 2":              func() error { return s.Pick(s.key, 2) },
		"no observation waits":             func() error { return s.EditObservation(s.key, 0, "x") },
		"it is masked or dropped":          func() error { return s.Mark(s.key, sessions.Marks{Mask: true, Drop: true}) },
		`tag "a b": a tag is one word`:     func() error { return s.Mark(s.key, sessions.Marks{Tags: []string{"a b"}}) },
		"there is no trajectory gone#0 in": func() error { return s.Mark(sessions.Key{Instance: "gone"}, sessions.Marks{}) },
	} {
		if err := f(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	s.must(s.RaiseLimit(s.key, 30, 200000))
	s.seen(sessions.KindBudget, 1)
	s.Stop()
	if err := <-s.done; !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	s.reopen()
	s.engine()
	s.toEndOf()
	if row := s.row(0); row.State != sessions.Done || row.Turn <= 2 || row.MaxTurns != 30 || row.Budget != 200000 || !row.Intervened {
		t.Errorf("row %+v", row)
	}
	s.expect(nil, "raise_limit 1")
}

// Marks of a person: masked stays in the file and the baseline with mask 0,
// dropped is in neither, and none of it is an intervention.
func TestMarks(t *testing.T) {
	s := &sat{rig: setup(t, 2, nil).engine()}
	s.must(s.Run(t.Context()))
	keys := s.store.Run().Members
	s.must(s.Mark(keys[0], sessions.Marks{Mask: true, Tags: []string{"odd ", "hard", "odd"}, Note: "reads the tests"}))
	rows, sum := s.exported(false)
	if len(rows) == 0 || sum.Masked != 1 || sum.Masks[sessions.MaskedByPerson] != 1 || len(sum.Baselines[0].IDs) != 2 {
		t.Errorf("summary %+v", sum)
	}
	if rows[0].trains(t) || rows[0].Why == nil || *rows[0].Why != "masked_by_person" || !rows[len(rows)-1].trains(t) {
		t.Errorf("rows %+v", rows[0])
	}
	if row := s.row(0); row.Intervened || strings.Join(row.Tags, " ") != "hard odd" || row.Note != "reads the tests" || row.Mask() != "masked_by_person" {
		t.Errorf("row %+v", row)
	}
	s.must(s.Mark(keys[0], sessions.Marks{Drop: true}))
	if _, sum := s.exported(true); sum.Dropped != 1 || sum.Trajectories != 1 || sum.Masked != 0 || len(sum.Baselines[0].IDs) != 1 {
		t.Errorf("summary %+v", sum)
	}
	s.must(s.Mark(keys[0], sessions.Marks{}))
	if _, sum := s.exported(false); sum.Trajectories != 2 || s.row(0).Tags != nil {
		t.Errorf("summary %+v", sum)
	}
}

// A person's command changes the sandbox, is replayed by a resume at its place,
// and adds nothing to what trains.
func TestRunByHandInARun(t *testing.T) {
	s := sit(t, nil)
	s.must(s.RunByHand(s.key, "echo by hand > byhand.txt; pwd; exit 3", false))
	hits := s.seen(sessions.KindHandRun, 1)
	var h sessions.HandRun
	s.must(json.Unmarshal(hits[0].Data, &h))
	if h.Exit != 3 || !strings.HasSuffix(h.Output, "\n") || h.Turn != 1 || h.At != sessions.AfterReply || h.Problem != "" {
		t.Errorf("%+v", h)
	}
	s.must(s.RunByHand(s.key, "true", true)) // this sandbox has no contained copy: said, and nothing changed
	s.seen(sessions.KindHandRun, 2)
	if said := s.said(sessions.KindHandRun)[1]; !strings.Contains(said, `"problem":"a local sandbox cannot be copied: run the command in the sandbox itself"`) {
		t.Error(said)
	}
	s.Stop()
	if err := <-s.done; !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	s.reopen()
	s.engine()
	s.toEndOf()
	if row := s.row(0); row.State != sessions.Done || row.Attempt != 1 || !row.Intervened {
		t.Errorf("row %+v", row)
	}
	patch, err := s.store.Patch(t.Context(), s.key)
	if err != nil || !strings.Contains(string(patch), "+by hand") {
		t.Errorf("%v, the patch is %s", err, patch)
	}
	s.expect(nil, "run 1")
}
