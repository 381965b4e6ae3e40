package ui

import (
	"fmt"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/engine"
	"rollbench/sessions"
)

// bigRun has 512 trajectories, 96 of them live.
func bigRun() *fakeRun {
	f := fakeWhole()
	f.trajs = nil
	f.status.Streams = map[string]engine.Stream{}
	for i := range 512 {
		name := fmt.Sprintf("instance-%03d", i/8)
		t := ended(name, i%8, sessions.Done, sessions.FinishTool, 20, 9000, ptr(float64(i%2)))
		if i < 96 {
			t = busy(name, i%8, 20, 9000, "execute_bash", time.Second)
			f.status.Streams[t.Key.String()] = engine.Stream{Key: t.Key, Turn: 20, What: "execute_bash", Text: numbered(1, 40), Since: fakeNow()}
		}
		f.trajs = append(f.trajs, t)
	}
	k := f.trajs[0].Key
	f.turns[k] = fakeTurns(f.trajs[0])
	return f
}

func benchOpen(b *testing.B) *Workbench {
	b.Helper()
	f := bigRun()
	w, err := New(b.Context(), Options{Reader: f, Commands: f, Clock: fakeNow})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Close)
	w.Update(tea.WindowSizeMsg{Width: 200, Height: 60})
	w.Update(w.pull()())
	w.loading = false
	for cmd := w.loadTurns(); cmd != nil; cmd = w.loadTurns() {
		w.Update(cmd())
		w.loading = false
	}
	return w
}

// BenchmarkData is a frame after a pull: 512 new states, 10 events, 200x60.
func BenchmarkData(b *testing.B) {
	w := benchOpen(b)
	f := w.opt.Reader.(*fakeRun)
	k := f.trajs[3].Key
	m := dataMsg{trajs: f.trajs, status: f.status}
	for i := range 10 {
		m.events = append(m.events, sessions.NewEvent(fakeNow(), k, sessions.KindReply, sessions.ReplyMade{Turn: i + 1}))
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range m.events {
			m.seq++
			m.events[i].Seq = m.seq
		}
		m.at = m.seq
		w.Update(m)
		if len(w.View()) == 0 {
			b.Fatal("no frame")
		}
	}
}

// BenchmarkKey is a key to its frame, 200x60.
func BenchmarkKey(b *testing.B) {
	w := benchOpen(b)
	b.ReportAllocs()
	down := true
	for b.Loop() {
		k := "j"
		if down = !down; down {
			k = "k"
		}
		w.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)})
		if len(w.View()) == 0 {
			b.Fatal("no frame")
		}
	}
}

// BenchmarkFilter types into the filter over 512 trajectories.
func BenchmarkFilter(b *testing.B) {
	w := benchOpen(b)
	w.list.filter = "done solved"
	b.ReportAllocs()
	for b.Loop() {
		w.list.rebuild()
	}
}

// BenchmarkQueues is a frame of the queues with 4,000 points, 200x60.
func BenchmarkQueues(b *testing.B) {
	w := benchOpen(b)
	f := w.opt.Reader.(*fakeRun)
	*f.status = *fakeMeasured().status
	w.gauges.status = f.status
	f.series = fakeSeries(4000)
	w.history.series, _ = readSeries(f.series)
	doQueues(w)
	b.ReportAllocs()
	for b.Loop() {
		if len(w.View()) == 0 {
			b.Fatal("no frame")
		}
	}
}

// BenchmarkReadSeries is what a job does every few seconds: 4,000 points.
func BenchmarkReadSeries(b *testing.B) {
	data := fakeSeries(4000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readSeries(data); err != nil {
			b.Fatal(err)
		}
	}
}
