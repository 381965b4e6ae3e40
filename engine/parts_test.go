package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rollbench/engine/task"
	"rollbench/sessions"
)

// Lines as nvidia-smi prints them with --format=csv,noheader,nounits.
func TestParseNvidia(t *testing.T) {
	gpus := parseNvidia("0, NVIDIA H100 80GB HBM3, 93, 72704, 81559, 612.41\n1, NVIDIA A10, [N/A], 10, 23028, [Not Supported]\nno line\n")
	if len(gpus) != 2 {
		t.Fatalf("%d GPUs", len(gpus))
	}
	if g := gpus[0]; g.Index != 0 || g.Name != "NVIDIA H100 80GB HBM3" || *g.Util != 0.93 || *g.UsedMB != 72704 || *g.TotalMB != 81559 || *g.Watts != 612.41 {
		t.Errorf("%+v", g)
	}
	if g := gpus[1]; g.Util != nil || g.Watts != nil || *g.UsedMB != 10 {
		t.Errorf("N/A is not unknown: %+v", g)
	}
}

func FuzzParseNvidia(f *testing.F) {
	f.Add("0, X, 1, 2, 3, 4\n")
	f.Add("a, b, c, d, e, f")
	f.Fuzz(func(t *testing.T, text string) {
		if n := len(parseNvidia(text)); n > strings.Count(text, "\n")+1 {
			t.Errorf("%d GPUs out of %q", n, text)
		}
	})
}

func TestPace(t *testing.T) {
	p := &pace{}
	start := time.Unix(1000, 0)
	for i := range 6 {
		p.mark(start.Add(time.Duration(i) * 20 * time.Second)) // the last at 100 s
	}
	if got := p.perMinute(start.Add(2*time.Minute), start); got != 3 {
		t.Errorf("6 in 2 minutes are %v per minute", got)
	}
	// The window is 5 minutes: at 6 min only what ended after 60 s counts.
	if got := p.perMinute(start.Add(6*time.Minute), start); got != 3.0/5 {
		t.Errorf("3 in the last 5 minutes are %v per minute", got)
	}
	if got := p.perMinute(start.Add(time.Millisecond), start); got != 0 {
		t.Errorf("no span yet, but %v per minute", got)
	}
	if p.ended() != 6 {
		t.Errorf("%d ended", p.ended())
	}
}

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
