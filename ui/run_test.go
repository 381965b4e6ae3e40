package ui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/lipgloss"

	"rollbench/sessions"
)

// glass is an output that can be waited on.
type glass struct {
	mu   sync.Mutex // guards buf
	cond *sync.Cond
	buf  bytes.Buffer
}

func newGlass() *glass {
	g := &glass{}
	g.cond = sync.NewCond(&g.mu)
	return g
}

func (g *glass) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.cond.Broadcast()
	return g.buf.Write(p)
}

// until text has been written.
func (g *glass) until(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for !strings.Contains(g.buf.String(), text) {
		g.cond.Wait()
	}
}

func (g *glass) text() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.String()
}

// started is a workbench running under tea.
type started struct {
	keys *io.PipeWriter
	out  *glass
	done chan error
}

func start(t *testing.T, ctx context.Context, opt Options) *started {
	t.Helper()
	in, keys := io.Pipe()
	s := &started{keys: keys, out: newGlass(), done: make(chan error, 1)}
	opt.Input, opt.Output = in, s.out
	if opt.Clock == nil {
		opt.Clock = fakeNow
	}
	go func() { s.done <- Run(ctx, opt) }()
	t.Cleanup(func() { keys.Close() })
	return s
}

func (s *started) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(s.keys, keys); err != nil {
		t.Fatal(err)
	}
}

// restored reports whether the alternate screen was left and the cursor shown.
func (s *started) restored() bool {
	text := s.out.text()
	return strings.LastIndex(text, "\x1b[?1049l") > strings.LastIndex(text, "\x1b[?1049h") &&
		strings.LastIndex(text, "\x1b[?25h") > strings.LastIndex(text, "\x1b[?25l")
}

func TestRunReadOnly(t *testing.T) {
	s := start(t, t.Context(), Options{Reader: fakeWhole()})
	s.out.until("read only")
	s.press(t, "q")
	if err := <-s.done; err != nil {
		t.Errorf("leaving a foreign run: %v", err)
	}
	if !s.restored() {
		t.Error("the terminal is not restored")
	}
}

func TestRunLeft(t *testing.T) {
	f := fakeWhole()
	s := start(t, t.Context(), Options{Reader: f, Commands: f, Done: make(chan struct{})})
	s.out.until("flask-4045")
	s.press(t, "q")
	s.out.until("Leave while work is running?")
	s.press(t, "l")
	if err := <-s.done; !errors.Is(err, ErrLeftRunning) {
		t.Errorf("leaving a running run: %v", err)
	}
}

// The engine's end is told, and then leaving asks nothing.
func TestRunDone(t *testing.T) {
	f := fakeWhole()
	done := make(chan struct{})
	s := start(t, t.Context(), Options{Reader: f, Commands: f, Done: done})
	s.out.until("flask-4045")
	close(done)
	s.out.until("the engine has stopped: 12 have not ended")
	s.press(t, "q")
	if err := <-s.done; err != nil {
		t.Errorf("leaving a finished run: %v", err)
	}
}

// A commit wakes the screen.
func TestRunWake(t *testing.T) {
	f := fakeWhole()
	s := start(t, t.Context(), Options{Reader: f, Commands: f})
	s.out.until("flask-4045")
	f.mu.Lock()
	f.trajs = append([]sessions.Trajectory{}, f.trajs...)
	f.trajs[1].Finish = string(sessions.StuckInALoop)
	f.mu.Unlock()
	f.write(fakeNow(), f.trajs[1].Key, sessions.KindWarning, sessions.Warning{Text: "went round in circles"})
	s.out.until("stuck_in_a_loop")
	s.out.until("went round in circles")
	s.press(t, "ql")
	<-s.done
}

func TestRunCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := start(t, ctx, Options{Reader: fakeWhole()})
	s.out.until("read only")
	cancel()
	if err := <-s.done; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run gives %v", err)
	}
	if !s.restored() {
		t.Error("the terminal is not restored")
	}
}

// brokenReader panics where a bug would.
type brokenReader struct{ *fakeRun }

func (brokenReader) Patch(context.Context, sessions.Key) ([]byte, error) { panic("broken on purpose") }

// A panic, in a command or in the drawing, ends the workbench with an error
// and gives the terminal back.
func TestRunPanic(t *testing.T) {
	s := start(t, t.Context(), Options{Reader: brokenReader{fakeWhole()}})
	s.out.until("read only")
	s.press(t, "3")
	if err := <-s.done; err == nil || !s.restored() {
		t.Errorf("a panic in a command: %v, restored %v", err, s.restored())
	}

	var mu sync.Mutex // guards armed
	armed := false
	s = start(t, t.Context(), Options{Reader: fakeWhole(), Clock: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		if armed {
			panic("broken on purpose")
		}
		return fakeNow()
	}})
	s.out.until("read only")
	mu.Lock()
	armed = true
	mu.Unlock()
	s.press(t, "j")
	if err := <-s.done; err == nil || !s.restored() {
		t.Errorf("a panic in Update: %v, restored %v", err, s.restored())
	}
}

func TestThemes(t *testing.T) {
	if _, err := New(t.Context(), Options{Reader: fakeWhole(), Theme: "neon"}); err == nil || !strings.Contains(err.Error(), "use default, dark, light, ") {
		t.Errorf("an unknown theme gives %v", err)
	}
	for _, c := range []struct {
		name, fgbg string
		noColor    bool
		want       string
	}{
		{"", "", false, "dark"}, {"", "15;0", false, "dark"}, {"", "0;15", false, "light"}, {"", "0;default;7", false, "light"},
		{"default", "0;15", false, "light"}, {"dark", "0;15", false, "dark"}, {"light", "", false, "light"}, {"light", "", true, "none"}, {"", "x", false, "dark"},
		{"mono", "", false, "none"}, {"deuteranopia", "15;0", false, "deuteranopia"},
	} {
		if th, err := pickTheme(c.name, c.noColor, c.fgbg, testRenderer()); err != nil || th != testTheme(c.want) {
			t.Errorf("%+v: not %s (%v)", c, c.want, err)
		}
	}
	for name := range themes {
		for r, ink := range testTheme(name) {
			if strings.Contains(ink.before, "38;5;") {
				continue // of the 256: its number is its own
			}
			for _, p := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(ink.before, "\x1b["), "m"), ";") {
				if p == "39" || p == "49" || p == "30" || p == "37" {
					t.Errorf("theme %s sets a default or black or white foreground for role %d", name, r)
				}
			}
		}
	}
}

func testRenderer() *lipgloss.Renderer { return newRenderer(io.Discard, "xterm-256color", "") }

func testTheme(name string) theme { return newTheme(themes[name](testRenderer().NewStyle(), false)) }

// What a role writes, by the terminal's own word on its colours: orange exists
// in 256 colours only, and without colour weight and reverse stay.
func TestColourProfile(t *testing.T) {
	for _, c := range []struct {
		theme, term, colorTerm string
		role                   role
		want                   string
	}{
		{"light", "xterm-256color", "", warn, "\x1b[38;5;130m"},
		{"light", "xterm", "truecolor", warn, "\x1b[38;5;130m"},
		{"light", "linux", "", warn, "\x1b[31m"},
		{"dark", "linux", "", fail, "\x1b[1;31m"},
		{"dark", "", "", live, "\x1b[36m"},
		{"none", "dumb", "", warn, "\x1b[1m"},
		{"none", "xterm-256color", "", chosen, "\x1b[7m"},
		{"dark", "xterm", "", plain, ""},
	} {
		th := newTheme(themes[c.theme](newRenderer(io.Discard, c.term, c.colorTerm).NewStyle(), false))
		if got := th[c.role].before; got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
