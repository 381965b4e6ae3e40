package engine

import (
	"fmt"
	"strings"
	"testing"

	"rollbench/sessions"
)

// A person sees the changes of a trajectory before its patch is taken; the policy's
// `git status` is the same before and after, and nothing is recorded.
func TestLookPatch(t *testing.T) {
	r := setup(t, 1, nil).engine()
	key := r.store.Run().Members[0]
	if _, _, err := r.LookPatch(t.Context(), key); err == nil || err.Error() != fmt.Sprintf("the sandbox of %s is not open: it is still to be prepared", key) {
		t.Errorf("before the run: %v", err)
	}
	if err := r.Pause(key); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- r.Run(t.Context()) }()
	r.holdsAt(1, sessions.AfterReply)
	if patch, size, err := r.LookPatch(t.Context(), key); err != nil || size != 0 || len(patch) != 0 {
		t.Errorf("nothing has changed: %q, %d, %v", patch, size, err)
	}
	r.call("execute_bash", `{"command": "echo hello >new.txt; git status --short"}`)
	r.holdsAt(2, sessions.AfterReply)
	before := len(r.said(""))
	for range 2 {
		patch, size, err := r.LookPatch(t.Context(), key)
		if err != nil || size != len(patch) || !strings.Contains(string(patch), "+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n") {
			t.Errorf("%q, %d, %v", patch, size, err)
		}
	}
	if got := r.said(""); len(got) != before {
		t.Errorf("looking was recorded: %q", got[before:])
	}
	r.call("execute_bash", `{"command": "git status --short"}`)
	r.holdsAt(3, sessions.AfterReply)
	turns, err := r.store.Turns(t.Context(), key, 0, 0, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, turn := range turns {
		for _, o := range turn.Observations {
			said = append(said, o.Text)
		}
	}
	if len(said) != 2 || said[0] != said[1] || !strings.Contains(said[0], "?? new.txt") {
		t.Errorf("git status said %q", said)
	}
	r.Stop()
	<-done
	if _, _, err := r.LookPatch(t.Context(), key); err == nil {
		t.Error("looked into a closed sandbox")
	}
	r.nothingOpen()
}

// Looks that are under way when the run stage ends hold nothing up and do no harm.
func TestLookPatchBesideTheLoop(t *testing.T) {
	r := setup(t, 1, nil).engine()
	key := r.store.Run().Members[0]
	if err := r.Pause(key); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- r.Run(t.Context()) }()
	r.holdsAt(1, sessions.AfterReply)
	over, joined := make(chan struct{}), make(chan struct{})
	seen := make(chan struct{}, 1)
	go func() {
		defer close(joined)
		for {
			if _, _, err := r.LookPatch(t.Context(), key); err == nil {
				select {
				case seen <- struct{}{}:
				default:
				}
			}
			select {
			case <-over:
				return
			default:
			}
		}
	}()
	<-seen
	if err := r.Continue(key); err != nil {
		t.Fatal(err)
	}
	err := <-done
	close(over)
	<-joined
	if row := r.row(0); err != nil || row.State != sessions.Done || row.Intervened || row.Reward == nil {
		t.Errorf("%s, intervened %v, %v", row.State, row.Intervened, err)
	}
	_, _, err = r.LookPatch(t.Context(), key)
	if err == nil || err.Error() != fmt.Sprintf("the run stage of %s is over and its sandbox closed", key) {
		t.Errorf("after the run: %v", err)
	}
	r.nothingOpen()
}
