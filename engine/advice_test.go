package engine

import (
	"fmt"
	"testing"
	"time"

	"rollbench/engine/dispatch"
	"rollbench/sessions"
	"rollbench/sessions/stats"
)

// A trajectory that has not ended counts as the mean of its siblings that have;
// one without such siblings as one of the recorded, in turn.
func TestPredicted(t *testing.T) {
	key := func(in string, id int) sessions.Key { return sessions.Key{Instance: in, ID: id} }
	jobs, known := predicted([]stats.Times{
		{Key: key("a", 0), Seconds: [3]float64{1, 10, 2}, Ended: true, Whole: true},
		{Key: key("a", 1), Seconds: [3]float64{3, 20, 4}, Ended: true, Whole: true},
		{Key: key("a", 2), Seconds: [3]float64{9, 0, 0}},
		{Key: key("b", 0)},
	})
	want := []dispatch.Job{{Group: "a", Seconds: [3]float64{1, 10, 2}}, {Group: "a", Seconds: [3]float64{3, 20, 4}},
		{Group: "a", Seconds: [3]float64{2, 15, 3}}, {Group: "b", Seconds: [3]float64{3, 20, 4}}}
	if fmt.Sprint(jobs) != fmt.Sprint(want) || known != 2 {
		t.Errorf("%v, %d known, want %v", jobs, known, want)
	}
	if jobs, known := predicted([]stats.Times{{Key: key("a", 0)}}); jobs != nil || known != 0 {
		t.Errorf("nothing is known, but %v", jobs)
	}
}

func TestMeanTimes(t *testing.T) {
	got := MeanTimes([]dispatch.Job{{Group: "a", Seconds: [3]float64{1, 2, 3}}, {Group: "a", Seconds: [3]float64{1, 0, 1}}, {Group: "b", Seconds: [3]float64{0, 5, 0}}})
	if len(got) != 2 || got["a"] != 4 || got["b"] != 5 {
		t.Errorf("%v", got)
	}
}

// Points a second apart, a break of a minute between two parts of the run.
func TestBlockedOver(t *testing.T) {
	at := func(s int, init, run string) Point {
		return Point{At: time.Unix(int64(s), 0), Blocked: [3]string{init, run, ""}}
	}
	got := BlockedOver([]Point{at(0, "", "init"), at(1, "", "init"), at(2, "sandboxes", ""), at(3, "sandboxes", "init"), at(63, "", "init"), at(64, "", "")})
	if want := "[map[sandboxes:1s] map[init:3s] map[]]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}
