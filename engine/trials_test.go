package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"rollbench/engine/task"
)

// tried runs trials on the rig's instances and sandboxes.
func (r *rig) tried(ctx context.Context, trials []Trial, ended func(Tried)) (notes []string, err error) {
	r.t.Helper()
	t, err := NewTrials(ctx, TrialOptions{Config: r.opt.Config, Providers: r.opt.Providers, Trials: trials, Label: "validate",
		Ended: ended, Note: func(text string) { notes = append(notes, text) }})
	if err != nil {
		r.t.Fatal(err)
	}
	err = t.Run(ctx)
	r.local.mu.Lock()
	defer r.local.mu.Unlock()
	if r.local.live != 0 {
		r.t.Errorf("%d sandboxes are left open", r.local.live)
	}
	return notes, err
}

func (r *rig) pairs(repeats int) (trials []Trial) {
	for _, in := range r.opt.Instances {
		for n := range repeats {
			trials = append(trials, Trial{Instance: in, Kind: Untouched, Repeat: n + 1}, Trial{Instance: in, Kind: Reference, Repeat: n + 1})
		}
	}
	return trials
}

// The untouched repository fails, the reference passes, each as often as asked,
// and no more sandboxes are open at once than the limit says.
func TestTrialsUnderTheLimits(t *testing.T) {
	for _, policy := range []string{"async_pipeline", "async_batch", "async_batch_bounded"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			r.opt.Config.Dispatcher = Dispatcher{Type: policy, MaxInit: 2, MaxRun: 2, MaxEval: 2, MaxLive: 2, Order: "fifo"}
			got := map[string]float64{}
			_, err := r.tried(t.Context(), r.pairs(2), func(x Tried) {
				if x.Err != nil || x.Verdict.Reward == nil {
					t.Errorf("%s %s: %v, %s", x.Instance.ID, x.Kind, x.Err, x.Verdict.Note)
					return
				}
				got[fmt.Sprint(x.Instance.ID, " ", x.Kind, " ", x.Repeat)] = *x.Verdict.Reward
			})
			if err != nil || len(got) != 8 {
				t.Fatalf("%d of 8 trials, %v", len(got), err)
			}
			for what, reward := range got {
				if strings.Contains(what, "reference") != (reward == 1) {
					t.Errorf("%s has reward %v", what, reward)
				}
			}
			if r.local.most > 2 {
				t.Errorf("%d sandboxes at once, the limit is 2", r.local.most)
			}
		})
	}
}

// A sandbox that fails to open is tried again; one that never opens is that
// trial's error only.
func TestTrialsTryAgain(t *testing.T) {
	r := newRig(t, nil, "pager-last-page")
	r.opt.Config.Limits.Retries = 1
	var mu sync.Mutex
	opened := map[string]int{}
	r.local.fail = func(name string) error {
		mu.Lock()
		defer mu.Unlock()
		opened[name]++
		if strings.Contains(name, "untouched") && opened[name] == 1 || strings.HasSuffix(name, "solve") {
			return errors.New("no room")
		}
		return nil
	}
	got := map[TrialKind]Tried{}
	notes, err := r.tried(t.Context(), r.pairs(1), func(x Tried) { got[x.Kind] = x })
	if err != nil {
		t.Fatal(err)
	}
	if x := got[Untouched]; x.Err != nil || x.Verdict.Reward == nil || *x.Verdict.Reward >= 1 {
		t.Errorf("untouched: %+v", x)
	}
	if x := got[Reference]; x.Err == nil || !strings.Contains(x.Err.Error(), "no room") || x.Verdict.Reward != nil {
		t.Errorf("reference: %+v", x)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "try 1 of 2 failed: open a local sandbox: no room") { // both failed by it
		t.Errorf("notes %q", notes)
	}
}

// What an interruption cuts short is not told of, and leaves nothing open.
func TestTrialsStop(t *testing.T) {
	r := newRig(t, nil)
	ctx, stop := context.WithCancelCause(t.Context())
	why := errors.New("a person has seen enough")
	n := 0
	r.opt.Config.Dispatcher = Dispatcher{Type: "async_pipeline", MaxInit: 1, MaxRun: 1, MaxEval: 1, MaxLive: 2, Order: "fifo"}
	_, err := r.tried(ctx, r.pairs(3), func(x Tried) {
		n++
		stop(why)
		if x.Err != nil || x.Verdict.Reward == nil {
			t.Errorf("told of %+v", x)
		}
	})
	if !errors.Is(err, why) || n == 0 || n > 2 {
		t.Errorf("%d trials told, %v", n, err)
	}
}

// limits.eval ends a verifier, and the trial says which limit it was.
func TestTrialsMeetTheirLimit(t *testing.T) {
	r := newRig(t, nil, "pager-last-page")
	r.opt.Config.Limits.Eval = Duration(time.Nanosecond)
	got := map[TrialKind]error{}
	if _, err := r.tried(t.Context(), r.pairs(1), func(x Tried) { got[x.Kind] = x.Err }); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []TrialKind{Untouched, Reference} {
		if err := got[kind]; err == nil || !strings.Contains(err.Error(), "limits.eval = 1ns") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// A patch of elsewhere is verified as it is; one that does not apply earns 0.
func TestTrialsOfGivenPatches(t *testing.T) {
	r := newRig(t, nil, "pager-last-page")
	in := r.opt.Instances[0]
	got := map[int]task.Verdict{}
	trials := []Trial{{Instance: in, Kind: Given, Repeat: 1, Patch: in.Reference.Patch},
		{Instance: in, Kind: Given, Repeat: 2, Patch: []byte("diff --git a/none b/none\n--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n")}}
	if _, err := r.tried(t.Context(), trials, func(x Tried) { got[x.Repeat] = x.Verdict }); err != nil {
		t.Fatal(err)
	}
	if v := got[1]; v.Reward == nil || *v.Reward != 1 {
		t.Errorf("the reference: %+v", v)
	}
	if v := got[2]; v.Reward == nil || *v.Reward != 0 || !strings.Contains(v.Note, "does not apply") {
		t.Errorf("a patch that fits nowhere: %+v", v)
	}
}
