package engine

import (
	"strings"
	"testing"

	"rollbench/sessions"
)

// A trajectory that is cancelled while a person works in its sandbox ends, and so
// does the shell.
func TestCancelBesideAShell(t *testing.T) {
	s := pair(t, nil)
	s.begin()
	sh, err := s.OpenShell(t.Context(), s.key, false, Terminal{Rows: 24, Cols: 80})
	s.must(err, s.Cancel(s.key))
	s.ends(s.key)
	if _, err := sh.Wait(); err == nil {
		t.Error("the shell ended as if it had been left")
	}
	s.must(<-s.done)
	_ = sh.Close() // its sandbox is lost
	s.nothingOpen()
	if row := s.row(0); row.State != sessions.Cancelled || row.Sandbox != "" {
		t.Errorf("%s, sandbox %q", row.State, row.Sandbox)
	}
	told := s.events(sessions.KindShell)
	if last := string(told[len(told)-1].Data); len(told) != 2 || strings.Contains(last, `"open":true`) {
		t.Errorf("the end of the shell is not told: %d, %s", len(told), last)
	}
}

// A trajectory is not finished while a person works in its sandbox: what is half done
// there is in no patch.
func TestFinishBesideAShell(t *testing.T) {
	s := pair(t, nil)
	s.begin()
	sh, err := s.OpenShell(t.Context(), s.key, false, Terminal{Rows: 24, Cols: 80})
	s.must(err)
	if err := s.Finish(s.key); err == nil || !strings.Contains(err.Error(), "leave it first") {
		t.Errorf("it finishes beside the shell: %v", err)
	}
	s.must(sh.Close(), s.Finish(s.key), <-s.done)
	if row := s.row(0); row.Finish != string(sessions.ForceFinished) || !row.State.Ended() {
		t.Errorf("it ended by %q", row.Finish)
	}
	s.nothingOpen()
}
