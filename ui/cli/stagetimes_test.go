package cli

import (
	"testing"
	"time"

	"rollbench/engine/dispatch"
	"rollbench/sessions"
)

// The clock of run stands still while held; a second attempt counts alone.
func TestStageClock(t *testing.T) {
	at := func(s int, state sessions.State) sessions.Event {
		return sessions.NewEvent(time.Unix(int64(s), 0), sessions.Key{Instance: "a"}, sessions.KindState, sessions.StateChange{State: state})
	}
	c := &stageClock{}
	for _, e := range []sessions.Event{
		at(0, sessions.Init), at(100, sessions.Running),
		at(200, sessions.Init), at(203, sessions.Ready), at(210, sessions.Running), at(215, sessions.Held), at(915, sessions.Running),
		at(920, sessions.Ran), at(930, sessions.Evaluating), at(934, sessions.Done),
	} {
		if err := c.see(e); err != nil {
			t.Fatal(err)
		}
	}
	if c.seconds != [3]float64{3, 10, 4} {
		t.Errorf("init, run, eval: %v, want 3, 10, 4", c.seconds)
	}
}

func TestMeanTimes(t *testing.T) {
	got := meanTimes([]dispatch.Job{{Group: "a", Seconds: [3]float64{1, 2, 3}}, {Group: "a", Seconds: [3]float64{1, 0, 1}}, {Group: "b", Seconds: [3]float64{0, 5, 0}}})
	if len(got) != 2 || got["a"] != 4 || got["b"] != 5 {
		t.Errorf("%v", got)
	}
}
