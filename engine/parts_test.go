package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rollbench/engine/task"
	"rollbench/sessions"
)

func TestStreamKeepsATail(t *testing.T) {
	s := newStreams()
	st := s.of(sessions.Key{Instance: "x"})
	st.Doing(3, "model")
	for range 5 {
		st.Text(strings.Repeat("a", streamTail))
	}
	st.Text("the end")
	got := s.snapshot()["x#0"]
	if len(got.Text) > 2*streamTail+7 || !strings.HasSuffix(got.Text, "the end") || got.Turn != 3 || got.What != "model" {
		t.Errorf("%d bytes, turn %d, %s", len(got.Text), got.Turn, got.What)
	}
	st.Doing(3, "")
	if len(s.snapshot()) != 0 {
		t.Error("it does nothing, and is still shown")
	}
}

func TestMembers(t *testing.T) {
	got := fmt.Sprint(Members([]*task.Instance{{ID: "a"}, {ID: "b"}}, 2))
	if want := "[a#0 a#1 b#0 b#1]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDuration(t *testing.T) {
	var d Duration
	if err := d.UnmarshalText([]byte("1h30m")); err != nil || time.Duration(d) != 90*time.Minute {
		t.Errorf("%v %v", d, err)
	}
	for _, bad := range []string{"", "5", "soon", "-1s"} {
		if err := d.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
