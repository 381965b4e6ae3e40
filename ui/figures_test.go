package ui

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"golang.org/x/sys/unix"

	"rollbench/sessions"
)

// frameTimes are times of frames, by the clock and of the processor: other programs on
// the machine count in the first one only.
type frameTimes struct {
	clock, cpu []time.Duration
	began      time.Time
	used       time.Duration
}

// begin a frame.
func (m *frameTimes) begin() { m.began, m.used = time.Now(), threadTime() }

func (m *frameTimes) end() {
	m.clock, m.cpu = append(m.clock, time.Since(m.began)), append(m.cpu, threadTime()-m.used)
}

// threadTime is what this goroutine's thread has used of the processor.
func threadTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}

// frames of f, one a round of the benchmark: the 50th and the 99th of 100.
func frames(b *testing.B, f func(n int)) {
	b.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var m frameTimes
	for n := 0; b.Loop(); n++ {
		m.begin()
		f(n)
		m.end()
	}
	for name, took := range map[string][]time.Duration{"clock": m.clock, "cpu": m.cpu} {
		slices.Sort(took)
		for share, as := range map[float64]string{0.5: "p50", 0.99: "p99"} {
			b.ReportMetric(float64(took[min(int(share*float64(len(took))), len(took)-1)])/float64(time.Millisecond), "ms-"+name+"-"+as)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// liveEvents are what 200 events a second bring to one look at the session: 20 of them,
// of as many trajectories, with warnings and holds among them now and then.
func liveEvents(f *fakeRun, n int) []sessions.Event {
	var out []sessions.Event
	for i := range 20 {
		t := f.trajs[(20*n+i)%96]
		at := fakeNow().Add(time.Duration(n) * 100 * time.Millisecond)
		switch i % 4 {
		case 0:
			out = append(out, sessions.NewEvent(at, t.Key, sessions.KindReply, sessions.ReplyMade{Turn: 20 + n/40, Version: 1, Source: sessions.FromModel, OutputTokens: 100, Tokens: 9000}))
		case 1:
			out = append(out, sessions.NewEvent(at, t.Key, sessions.KindToolStarted, sessions.ToolStarted{Turn: 20 + n/40, Tool: "execute_bash", Args: "ls"}))
		case 2:
			out = append(out, sessions.NewEvent(at, t.Key, sessions.KindToolFinished, sessions.ToolFinished{Turn: 20 + n/40, Tool: "execute_bash", Status: "ok"}))
		case 3:
			out = append(out, sessions.NewEvent(at, t.Key, sessions.KindTurnDone, sessions.TurnDone{Turn: 20 + n/40}))
		}
	}
	if n%50 == 0 {
		out = append(out, sessions.NewEvent(fakeNow(), f.trajs[n%96].Key, sessions.KindWarning, sessions.Warning{Text: fmt.Sprintf("something odd, number %d", n)}))
		out = append(out, sessions.NewEvent(fakeNow(), f.trajs[n%96].Key, sessions.KindIntervention, sessions.Intervention{Verb: "inject", Turn: 1, After: "look again"}))
	}
	return out
}

// feed the workbench with one look at the session, as a pull brings it.
func feed(w *Workbench, f *fakeRun, n int) {
	m := dataMsg{trajs: slices.Clone(f.trajs), status: f.status, events: liveEvents(f, n)}
	for i := range m.events {
		m.events[i].Seq = w.seq + int64(i) + 1
	}
	m.seq = w.seq + int64(len(m.events))
	m.at = m.seq
	w.Update(m)
}

// BenchmarkWatching is Update and View of each look at a run of 512 trajectories, 96 of
// them live, at 200 events a second, in every view, 200x60.
func BenchmarkWatching(b *testing.B) {
	for _, v := range []struct{ name, keys string }{{"list", ""}, {"text", "j<enter>"}, {"events", "j5"}, {"sorted", ">>>>"}, {"filtered", "/running"}, {"group", ""}, {"queues", "Q"}} {
		b.Run(v.name, func(b *testing.B) {
			w := benchOpen(b)
			f := w.opt.Reader.(*fakeRun)
			typeKeys(w, v.keys)
			frames(b, func(n int) {
				feed(w, f, n)
				if len(w.View()) == 0 {
					b.Fatal("no frame")
				}
			})
		})
	}
}

// typeKeys without a test: single characters, or <enter>.
func typeKeys(w *Workbench, keys string) {
	for keys != "" {
		m := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{rune(keys[0])}}
		if rest, enter := strings.CutPrefix(keys, "<enter>"); enter {
			m, keys = tea.KeyMsg{Type: tea.KeyEnter}, rest
		} else {
			keys = keys[1:]
		}
		w.Update(m)
	}
}

// BenchmarkAfterHours is the same after 10,000 and 150,000 events, and after the
// 5,760,000 of eight hours: neither the time nor the memory may grow with them.
func BenchmarkAfterHours(b *testing.B) {
	for _, events := range []int{10_000, 150_000, 8 * 3600 * 200} {
		b.Run(fmt.Sprint(events), func(b *testing.B) {
			w := benchOpen(b)
			f := w.opt.Reader.(*fakeRun)
			for n := range events / 20 {
				feed(w, f, n)
			}
			frames(b, func(n int) {
				feed(w, f, n)
				if len(w.View()) == 0 {
					b.Fatal("no frame")
				}
			})
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MiB-heap")
		})
	}
}

// hugeObservation has 10 MB: colours, a title, the clipboard, CJK, emoji, and lines of a
// megabyte.
func hugeObservation() string {
	var b strings.Builder
	for i := 0; b.Len() < 5_000_000; i++ {
		fmt.Fprintf(&b, "\x1b[3%dm%06d\x1b[0m 漢字かな交じり文 👩‍👩‍👧 é\u0301 \x1b]0;owned\x07\x1b]52;c;ZXZpbA==\x07\x1b[2J\x1b[%d;1H %s\n", i%8, i, i%60, strings.Repeat("x", i%150))
	}
	for b.Len() < 10_000_000 {
		b.WriteString(strings.Repeat("長い行 \x1b[1mlong\x1b[0m 👍 ", 40_000))
		b.WriteByte('\n')
	}
	return b.String()
}

// BenchmarkHugeObservation is a page down, to its frame, through an unfolded observation
// of 10 MB, 200x60.
func BenchmarkHugeObservation(b *testing.B) {
	f := bigRun()
	k := f.trajs[0].Key
	f.turns[k] = f.turns[k][:1]
	first := &f.turns[k][0]
	first.Observations = append([]sessions.Observation{}, first.Observations...)
	first.Observations[0].Text = hugeObservation()
	f.trajs[0].Turn = 1
	w, err := New(b.Context(), Options{Reader: f, Clock: fakeNow, Output: &strings.Builder{}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Close)
	w.w, w.h, w.focus = 200, 60, viewFocus
	w.route(w.pull()())
	settled(b, w)
	s := w.scroller()
	sec := w.turns.turns[1]
	for i := range sec.blocks {
		s.folds.toggle(sec.blocks[i].id, true)
	}
	w.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("g")})
	if sec.total < 50_000 {
		b.Fatalf("it has %d rows: it is folded", sec.total)
	}
	frames(b, func(n int) {
		if n%500 == 499 { // once more from the start of it
			s.top, s.cursor = place{}, place{}
		}
		w.Update(tea.KeyMsg{Type: tea.KeyPgDown})
		if len(w.View()) == 0 {
			b.Fatal("no frame")
		}
	})
}
