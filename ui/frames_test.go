package ui

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// driven runs a workbench as tea does, each command in a goroutine of its own, and
// counts the messages that made a frame.
type driven struct {
	t    *testing.T
	w    *Workbench
	msgs chan tea.Msg
	quit chan struct{}
	done chan struct{}

	mu               sync.Mutex // guards those below
	data, ticks, all int
	keyed            time.Duration // from a key to its frame
}

// pressed is a key and when it was.
type pressed struct {
	key tea.KeyMsg
	at  time.Time
}

func drive(t *testing.T, opt Options) *driven {
	t.Helper()
	opt.Output, opt.Theme = &discard{}, "default"
	w, err := New(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	d := &driven{t: t, w: w, msgs: make(chan tea.Msg), quit: make(chan struct{}), done: make(chan struct{})}
	_, cmd := w.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	d.do(tea.Batch(w.Init(), cmd))
	go d.loop()
	return d
}

type discard struct{}

func (*discard) Write(p []byte) (int, error) { return len(p), nil }

func (d *driven) loop() {
	defer close(d.done)
	for {
		var m tea.Msg
		select {
		case m = <-d.msgs:
		case <-d.quit:
			return
		}
		var at time.Time
		if p, isKey := m.(pressed); isKey {
			m, at = p.key, p.at
		}
		inner := m
		if aged, isAged := m.(agedMsg); isAged {
			inner = aged.msg
		}
		d.mu.Lock()
		switch inner.(type) {
		case dataMsg:
			d.data++
		case tickMsg:
			d.ticks++
		}
		d.all++
		d.mu.Unlock()
		_, cmd := d.w.Update(m)
		if d.w.View() == "" {
			d.t.Errorf("no frame after %T", m)
		}
		if !at.IsZero() {
			d.mu.Lock()
			d.keyed = max(d.keyed, time.Since(at))
			d.mu.Unlock()
		}
		d.do(cmd)
	}
}

func (d *driven) send(m tea.Msg) {
	select {
	case d.msgs <- m:
	case <-d.quit:
	}
}

func (d *driven) do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch m := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range m {
				d.do(c)
			}
		default:
			d.send(m)
		}
	}()
}

func (d *driven) stop() {
	close(d.quit)
	<-d.done
	d.w.Close()
}

// counted is how many messages there were while f went on.
func (d *driven) counted(f func()) (data, ticks, all int) {
	synctest.Wait()
	d.mu.Lock()
	data, ticks, all = d.data, d.ticks, d.all
	d.mu.Unlock()
	f()
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.data - data, d.ticks - ticks, d.all - all
}

// busyFor writes 200 events a second.
func busyFor(f *fakeRun, long time.Duration) {
	k := f.trajs[3].Key
	for range int(long / (5 * time.Millisecond)) {
		f.write(time.Now(), k, sessions.KindToolStarted, sessions.ToolStarted{Turn: 12, Tool: "execute_bash"})
		time.Sleep(5 * time.Millisecond)
	}
}

// However much is written, the session is looked at ten times a second at most; a key
// is answered at once.
func TestFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakeWhole()
		d := drive(t, Options{Reader: f, Commands: f, Clock: time.Now})
		data, ticks, _ := d.counted(func() { busyFor(f, 10*time.Second) })
		if data < 90 || data > 101 {
			t.Errorf("%d frames of data in 10 s", data)
		}
		if ticks > 40 { // four a second while the chosen one streams
			t.Errorf("%d ticks in 10 s", ticks)
		}
		d.counted(func() {
			go busyFor(f, 2*time.Second)
			for range 100 {
				d.send(pressed{tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("j")}, time.Now()})
				time.Sleep(17 * time.Millisecond)
			}
			time.Sleep(time.Second)
		})
		d.stop()
		if d.keyed != 0 {
			t.Errorf("a key waited %v for its frame", d.keyed)
		}
	})
}

// Where nothing happens nothing is drawn: after the end of a run, while everything is
// held but for the gauges, and while a replay stands still or is over.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		still := func(name string, d *driven, most int) {
			t.Helper()
			time.Sleep(time.Minute) // toasts go, series are read
			if _, _, all := d.counted(func() { time.Sleep(10 * time.Minute) }); all > most {
				t.Errorf("%s: %d messages in ten minutes", name, all)
			}
			d.stop()
		}
		finished := fakeWhole()
		finished.trajs = finished.trajs[:2]
		still("a finished run", drive(t, Options{Reader: finished, Commands: finished, Clock: time.Now}), 0)
		held := fakeWhole()
		held.trajs = held.trajs[2:3]
		held.status.Streams = nil
		still("a held run", drive(t, Options{Reader: held, Commands: held, Clock: time.Now}), 121+120) // a tick every 5 s, and the series as often

		b, p := replayed(t, fakeRecording(t), 120, 40, 95*time.Second, nil)
		b.w.Close()
		still("a paused replay", drive(t, Options{Replay: p}), 0)
		p.Pause()
		d := drive(t, Options{Replay: p})
		_, ticks, _ := d.counted(func() { time.Sleep(10 * time.Second) })
		if ticks < 15 || ticks > 20 { // its clock goes on twice a second
			t.Errorf("%d ticks in 10 s of a replay", ticks)
		}
		still("a replay that is over", d, 0)
	})
}
