package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"rollbench/engine/infer/simulated"
	"rollbench/engine/task"
	"rollbench/sandbox"
	"rollbench/sessions"
)

// What repeats add up to, by hand: the mean of 1, 0, 1 is 2/3.
func TestRepeatsTogether(t *testing.T) {
	one, zero, again := 1.0, 0.0, 1.0
	of := func(reward *float64, log string, share float64) task.Verdict {
		return task.Verdict{Reward: reward, Note: "n", Log: []byte(log), Parts: map[string]float64{"share": share}, Wall: time.Second}
	}
	v, apart := together([]task.Verdict{of(&one, "A", 1), of(&again, "B", 0.5)}, 2)
	if apart != nil || *v.Reward != 1 || v.Wall != 2*time.Second || v.Parts["share"] != 0.75 || v.Note != "n (2 repeats agree)" || strings.Contains(string(v.Log), "B") {
		t.Errorf("agreeing: %+v, %+v", v, apart)
	}
	v, apart = together([]task.Verdict{of(&one, "A", 1), of(&zero, "B", 0), of(&again, "C", 1)}, 3)
	if apart == nil || v.Reward != nil || apart.Mean == nil || *apart.Mean != 2.0/3 || !reflect.DeepEqual(apart.Rewards, []*float64{&one, &zero, &one}) ||
		v.Note != "repeats of the verifier differ: rewards 1, 0, 1" || string(v.Log) != "=== repeat 1 of 3: reward 1 ===\nA\n=== repeat 2 of 3: reward 0 ===\nB\n" {
		t.Errorf("differing: %+v, %+v, %s", v, apart, v.Log)
	}
	v, apart = together([]task.Verdict{of(&one, "A", 1), {Note: "timed out"}}, 3)
	if apart == nil || v.Reward != nil || *apart.Mean != 1 || apart.Rewards[1] != nil || apart.Notes[1] != "timed out" {
		t.Errorf("one absent: %+v, %+v", v, apart)
	}
	v, apart = together([]task.Verdict{{Note: "timed out"}}, 3)
	if apart != nil || v.Reward != nil || v.Note != "timed out" {
		t.Errorf("none at all: %+v, %+v", v, apart)
	}
}

// flaky has a verifier that finds half of the reward.
type flaky struct{ sandbox.Sandbox }

func (f flaky) CopyOut(ctx context.Context, path string) (io.ReadCloser, error) {
	if !strings.HasSuffix(path, "reward.json") {
		return f.Sandbox.CopyOut(ctx, path)
	}
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	err := w.WriteHeader(&tar.Header{Name: "reward.json", Typeflag: tar.TypeReg, Mode: 0o644, Size: 4})
	if err == nil {
		_, err = w.Write([]byte("0.5\n"))
	}
	return io.NopCloser(&packed), errors.Join(err, w.Close())
}

type closes struct {
	sandbox.Sandbox
	then func()
}

func (c *closes) Close() error {
	defer c.then()
	return c.Sandbox.Close()
}

// Three repeats of an eval each get a fresh sandbox, within the one place of eval;
// when the second differs the reward is absent, and the event tells of all.
func TestEvalRepeats(t *testing.T) {
	for _, differ := range []bool{false, true} {
		r := newRig(t, func(c *Config, _ *simulated.Options) {
			c.Generator.NumTrajectories = 2
			c.Limits.EvalRepeats = 3
		}, "pager-last-page").engine()
		opened, live, most := 0, 0, 0
		r.local.onOpen = func(spec sandbox.Spec, sb sandbox.Sandbox) (sandbox.Sandbox, error) {
			if !strings.HasSuffix(spec.Name, ".eval") {
				return sb, nil
			}
			opened++ // under the provider's lock
			live++
			most = max(most, live)
			closing := &closes{Sandbox: sb, then: func() { r.local.mu.Lock(); live--; r.local.mu.Unlock() }}
			if differ && opened%3 == 2 {
				return flaky{closing}, nil
			}
			return closing, nil
		}
		if err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		row := r.rows()["pager-last-page#0"]
		if opened != 6 || most != 1 {
			t.Errorf("%d eval sandboxes, %d at once", opened, most)
		}
		events := r.events(sessions.KindDisagreement)
		log, err := r.store.EvalLog(t.Context(), row.Key)
		if err != nil {
			t.Fatal(err)
		}
		if !differ {
			if row.Reward == nil || row.State != sessions.Done || len(events) != 0 || !strings.HasSuffix(row.EvalNote, "(3 repeats agree)") {
				t.Errorf("%+v, %d events", row, len(events))
			}
			continue
		}
		var p sessions.Disagreement
		if len(events) != 2 || json.Unmarshal(events[0].Data, &p) != nil || len(p.Rewards) != 3 || *p.Rewards[1] != 0.5 {
			t.Fatalf("%d events: %+v", len(events), p)
		}
		if row.Reward != nil || row.Finish != string(sessions.ErrorEvaluation) || !strings.Contains(strings.Join(row.Causes, "\n"), "repeats of the verifier differ: rewards ") ||
			!strings.Contains(string(log), "=== repeat 2 of 3: reward 0.5 ===") {
			t.Errorf("%+v\n%s", row, log)
		}
		r.nothingOpen()
	}
}

func TestRepeatsAreBounded(t *testing.T) {
	for n, good := range map[int]bool{-1: false, 0: true, 20: true, 21: false} {
		if err := (TimeLimits{EvalRepeats: n}).checkRepeats(); (err == nil) != good {
			t.Errorf("%d: %v", n, err)
		}
	}
}
