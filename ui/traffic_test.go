package ui

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rollbench/engine"
	"rollbench/sessions"
)

// traffic is how many bytes the workbench wrote in each of the seconds that were
// looked at, by a clock that the test moves. tea writes a frame only where a line of
// the screen has changed.
func traffic(t *testing.T, f *fakeRun, change func(*Options), first string, seconds int, each func(second int, press func(string))) []int {
	t.Helper()
	var wrote []int
	synctest.Test(t, func(t *testing.T) {
		in, keys := io.Pipe()
		out := newGlass()
		began := time.Now()
		opt := Options{Reader: f, Commands: f, Theme: "dark", Input: in, Output: out, Clock: func() time.Time { return fakeNow().Add(time.Since(began)) }}
		if change != nil {
			change(&opt)
		}
		done := make(chan error)
		go func() { done <- Run(t.Context(), opt) }()
		press := func(text string) {
			if _, err := io.WriteString(keys, text); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(20 * time.Second) // of the bubble's clock: the gauges of a run that is over have become old
		if first != "" {
			press(first)
		}
		time.Sleep(10 * time.Second) // and what it says at first has gone
		synctest.Wait()
		for n := range seconds {
			before := len(out.text())
			if each != nil {
				each(n, press)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			wrote = append(wrote, len(out.text())-before)
		}
		var typed sync.WaitGroup
		typed.Go(func() { // q, and l where leaving is asked for; else nobody reads it
			for _, k := range []string{"q", "l"} {
				if _, err := io.WriteString(keys, k); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		<-done
		in.Close()
		typed.Wait()
	})
	return wrote
}

// A run that is over writes nothing at all, however long it is looked at; one that is
// held writes what its clock and its ages change, and a running one little more.
func TestTraffic(t *testing.T) {
	over := fakeWhole()
	over.trajs = slices.DeleteFunc(over.trajs, func(t sessions.Trajectory) bool { return !t.State.Ended() })
	for n, bytes := range traffic(t, over, func(o *Options) { o.Commands = nil }, "", 120, nil) {
		if bytes != 0 {
			t.Errorf("a finished run wrote %d bytes in second %d", bytes, n)
		}
	}

	// The pointer moving over it, and buttons let go.
	moves := func(n int, press func(string)) { press(fmt.Sprintf("\x1b[<35;%d;12M\x1b[<0;%d;12m", 1+n, 1+n)) }
	for n, bytes := range traffic(t, over, func(o *Options) { o.Commands, o.Mouse = nil, true }, "\x1b[<35;1;1M", 60, moves) {
		if bytes != 0 {
			t.Errorf("with the mouse a finished run wrote %d bytes in second %d", bytes, n)
		}
	}

	held := fakeWhole()
	held.trajs = slices.DeleteFunc(held.trajs, func(t sessions.Trajectory) bool { return t.State != sessions.Held })
	held.status.Paused, held.status.Streams = true, nil
	wrote := traffic(t, held, nil, "", 120, nil)
	if most, mean := slices.Max(wrote), sum(wrote)/len(wrote); most > 2000 || mean > 200 {
		t.Errorf("a run that is held as a whole wrote %d bytes in one second, %d on average", most, mean)
	} else {
		t.Logf("held: %d bytes a second, at most %d", mean, most)
	}

	// 20 trajectories, one of whose replies streams 40 characters a second, and an
	// event each second.
	live := fakeWhole()
	text := ""
	wrote = traffic(t, live, nil, "jjj", 60, func(n int, _ func(string)) {
		text += fmt.Sprintf("%02d the tests fail because of that dot. ", n)
		live.mu.Lock()
		s := *live.status
		s.At = fakeNow().Add(time.Duration(n) * time.Second)
		s.Streams = map[string]engine.Stream{"flask-4045#3": {Key: sessions.Key{Instance: "flask-4045", ID: 3}, Turn: 12, What: "model", Text: text, Since: fakeNow()}}
		live.status = &s
		live.mu.Unlock()
		live.write(fakeNow(), sessions.Key{Instance: "flask-4045", ID: 3}, sessions.KindToolFinished, sessions.ToolFinished{Turn: 12})
	})
	if most, mean := slices.Max(wrote), sum(wrote)/len(wrote); most > 4000 || mean > 2000 || mean < 100 {
		t.Errorf("a running run wrote %d bytes in one second, %d on average", most, mean)
	} else {
		t.Logf("running: %d bytes a second, at most %d", mean, most)
	}
}

func sum(list []int) (n int) {
	for _, x := range list {
		n += x
	}
	return n
}
