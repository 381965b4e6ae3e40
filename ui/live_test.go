package ui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"rollbench/engine"
	"rollbench/sessions"
)

func fakeLook(context.Context, sessions.Key) ([]byte, int, error) {
	return []byte(fakePatch), len(fakePatch), nil
}

// fakeVerifying has the verifier of xarray-3305#3 print.
func fakeVerifying() *fakeRun {
	f := fakeWhole()
	k := sessions.Key{Instance: "xarray-3305", ID: 3}
	f.status.Streams[k.String()] = engine.Stream{Key: k, What: engine.VerifierName, Text: "collected 3 items\n\n\x1b[32mtests/test_merge.py .\x1b[0m\x1b]0;owned\x07.", Since: fakeNow().Add(-4 * time.Second)}
	return f
}

func TestLiveScreens(t *testing.T) {
	for size, wh := range sizes() {
		for mono, name := range map[bool]string{false: "", true: "mono-"} {
			if mono && size != "120x40" {
				continue
			}
			set := func(o *Options) { o.Look, o.NoColor = fakeLook, mono }
			b := open(t, fakeWhole(), wh[0], wh[1], set)
			b.keys("jj3")
			b.check("look-" + name + size)
			b = open(t, fakeVerifying(), wh[0], wh[1], set)
			b.keys("/evaluating<enter>4")
			b.check("verifying-" + name + size)
		}
	}
}

// A look is taken as the view is opened, after calls (not more often than lookEvery),
// and at once when asked for. What it cannot see is said in its place, once.
func TestLooks(t *testing.T) {
	f, now, looks := fakeWhole(), fakeNow(), 0
	var fails error
	b := open(t, f, 120, 40, func(o *Options) {
		o.Clock = func() time.Time { return now }
		o.Look = func(_ context.Context, k sessions.Key) ([]byte, int, error) {
			looks++
			return []byte(strings.Repeat("diff --git a/x b/x\n", looks)), 19 * looks, fails
		}
	})
	k := sessions.Key{Instance: "flask-4045", ID: 2}
	called := func() {
		f.write(now, k, sessions.KindToolFinished, sessions.ToolFinished{Turn: 7, Tool: "execute_bash", Status: "ok"})
		b.pull()
	}
	shows := func(what string, want int, text string) {
		t.Helper()
		if view := ansi.Strip(b.w.View()); looks != want || !strings.Contains(view, text) {
			t.Errorf("%s: %d looks, want %d and %q in\n%s", what, looks, want, text, view)
		}
	}
	b.keys("jj")
	called()
	shows("another view is open", 0, "")
	b.keys("3")
	shows("it is opened", 1, "▶ changes as of 10:12:41 · 1 file ")
	called()
	shows("a call right after it", 1, "1 file ")
	now = now.Add(lookEvery)
	b.send(tickMsg{status: f.status})
	shows("later", 2, "▶ changes as of 10:12:43 · 2 files ")
	b.send(tickMsg{status: f.status})
	now = now.Add(lookEvery)
	b.send(tickMsg{status: f.status})
	shows("nothing was called", 2, "2 files ")
	b.keys("3")
	shows("asked for", 3, "3 files ")
	fails = errors.New("the sandbox of flask-4045#2 was closed meanwhile")
	b.keys("3")
	shows("it fails", 4, "No patch yet, and no look at the changes")
	f.trajs[2].HasPatch = true
	f.patch[k] = []byte(fakePatch)
	f.write(now, k, sessions.KindPatch, sessions.PatchTaken{Bytes: len(fakePatch), Files: 1})
	now = now.Add(lookEvery)
	b.pull()
	shows("the patch is there", 4, "+        if \".\" in name:")
	b.keys("<esc>j")
	shows("another trajectory", 5, "No patch yet, and no look at the changes")
}

// What only the process that drives the run sees is said to be so.
func TestOnlyWatched(t *testing.T) {
	f := fakeWhole()
	f.status.Streams = nil // as in another process
	b := open(t, f, 120, 40, func(o *Options) { o.Commands = nil })
	flat := func() string {
		var rows []string
		for _, row := range strings.Split(ansi.Strip(b.w.View()), "\n") {
			if at := strings.LastIndex(row, "││"); at >= 0 {
				rows = append(rows, strings.Fields(strings.Trim(row[at:], "│▌"))...)
			}
		}
		return strings.Join(rows, " ")
	}
	b.keys("jj3")
	if want := "No patch yet: it is taken when the run stage ends. What has changed by now is shown only by the process that drives the run."; !strings.Contains(flat(), want) {
		t.Errorf("no %q in %q", want, flat())
	}
	b.keys("1j2")
	if want := "is running. It comes here once it is recorded: only the process that drives the run shows it live."; !strings.Contains(flat(), want) {
		t.Errorf("no %q in %q", want, flat())
	}
}

func TestLookPage(t *testing.T) {
	text := func(p *page) string {
		var out []string
		for _, b := range p.section(0).blocks {
			out = append(out, plainText(b.title)+b.text)
		}
		return strings.Join(out, "|")
	}
	for _, c := range []struct {
		patch string
		size  int
		want  string
	}{
		{"", 0, "▶ changes as of 10:00:00 · 0 files|Nothing is changed yet."},
		{"diff --git a/a b/a\n+1\n", 22, "▶ changes as of 10:00:00 · 1 file|diff --git a/a b/a\n+1"},
		{"diff --git a/a b/a\n+1\n+2\x1b[2J", 5000, "▶ changes as of 10:00:00 · 1 file or more|diff --git a/a b/a\n+1|The first 22 of 5,000 bytes."},
		{"diff --git without an end", 5000, "▶ changes as of 10:00:00 · 1 file or more||The first 0 of 5,000 bytes."},
	} {
		if got := text(lookPage([]byte(c.patch), c.size, t0)); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// While its image is pulled or built, a trajectory shows how far that is.
func TestImageIsShown(t *testing.T) {
	f := fakeWhole()
	k := sessions.Key{Instance: "数学-漢字-777", ID: 2}
	f.status.Streams[k.String()] = engine.Stream{Key: k, What: engine.ImageName, Text: "pulling x:1\npulling x:1: 1 of 3 layers, 20 of 80 MB, 25 %\x1b[2J\n", Since: fakeNow().Add(-4 * time.Second)}
	b := open(t, f, 80, 24, func(*Options) {})
	b.keys("G")
	for range len(f.trajs) {
		if strings.Contains(ansi.Strip(b.w.View()), "its image") {
			break
		}
		b.keys("k")
	}
	view := ansi.Strip(b.w.View())
	for _, want := range []string{"◔ its image is being pulled or built", " 4s", "image      pulling x:1", "pulling x:1: 1 of 3 layers, 20 of 80 MB, 25 %"} {
		if !strings.Contains(view, want) {
			t.Errorf("no %q in\n%s", want, view)
		}
	}
}
