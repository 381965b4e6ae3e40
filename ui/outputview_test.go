package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"rollbench/sessions"
)

// withOutput gives the first call of the first trajectory a longer output than
// its observation; gap bytes of it behind head were not kept.
func withOutput(data []byte, head int, gap int64) *fakeRun {
	return fakeWhole().printed(data, head, gap)
}

func (f *fakeRun) printed(data []byte, head int, gap int64) *fakeRun {
	k := sessions.Key{Instance: "flask-4045", ID: 0}
	o := &f.turns[k][0].Observations[0]
	o.Text = "collected 4000 items\n\n[... 200,000 characters are cut here ...]\n4000 passed\n"
	o.Dropped = int64(len(data)) + gap - 100
	o.Output = &sessions.Output{Size: int64(len(data)), Head: int64(head), Dropped: gap}
	f.output = map[sessions.CallPlace][]byte{{Key: k, Turn: 1}: data}
	return f
}

// testLog is a coloured log of n lines.
func testLog(n int) []byte {
	var b bytes.Buffer
	b.WriteString("collected 4000 items\n\n")
	for i := range n {
		colour, word := "32", "PASSED"
		if i%97 == 96 {
			colour, word = "31", "FAILED"
		}
		fmt.Fprintf(&b, "tests/test_%04d.py::test_blueprint_name \x1b[%sm%s\x1b[0m\t[%3d%%]\n", i, colour, word, i*100/n)
	}
	return b.Bytes()
}

func TestOutputScreens(t *testing.T) {
	log := testLog(4000)
	for _, v := range []struct {
		name, keys string
		mono       bool
	}{
		{"cut", "jjj", false},
		{"output", "O", false},
		{"output-typing", "O/failed", false},
		{"output-found", "O/failed<enter>n", false},
		{"output-end", "OG", false},
		{"output-mono", "O/failed<enter>", true},
		{"output-gap", "O}}kkkkkjjjjj", false},
	} {
		for _, wh := range sizes() {
			name := fmt.Sprintf("%s-%dx%d", v.name, wh[0], wh[1])
			t.Run(name, func(t *testing.T) {
				f := withOutput(log, len(log), 0)
				if v.name == "output-gap" {
					f = withOutput(log, 130000, 1<<30)
				}
				b := open(t, f, wh[0], wh[1], func(o *Options) { o.NoColor = v.mono })
				b.toObservation()
				b.keys(v.keys)
				b.check(name)
			})
		}
	}
}

// toObservation puts the cursor on the first turn's observation.
func (b *bench) toObservation() {
	b.t.Helper()
	b.keys("<enter>g")
	for range 60 {
		if blk := b.w.scroller().block(b.w.document(), b.w.viewWidth()); blk != nil && blk.out != nil {
			return
		}
		b.keys("j")
	}
	b.t.Fatal("no block has a full output")
}

// The key says why it does not apply, and works on finished and watched runs.
func TestOutputKey(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	b.keys("<enter>gO")
	if got, _ := b.w.toasts.shown(b.w.now); !strings.HasPrefix(got.text, "O: the model saw all that was printed here") || b.w.sheet != nil {
		t.Errorf("O says %q", got.text)
	}
	b = open(t, withOutput(testLog(10), 100, 0), 120, 40, func(o *Options) { o.Commands = nil })
	b.keys("<enter>gO") // anywhere in its turn
	if b.w.sheet == nil || !strings.Contains(ansi.Strip(b.w.View()), "output · flask-4045#0 turn 1 bash · ") {
		t.Fatalf("O did not open the output:\n%s", ansi.Strip(b.w.View()))
	}
	b.keys("/x<esc>")
	if b.w.sheet == nil || b.w.sheet.output.typing {
		t.Error("esc while typing closes the output")
	}
	b.keys("n")
	if got, _ := b.w.toasts.shown(b.w.now); got.text != "n: nothing is looked for: / does" {
		t.Errorf("n says %q", got.text)
	}
	b.keys("<esc>")
	if b.w.sheet != nil || b.w.focus != viewFocus {
		t.Error("esc did not go back")
	}
}

// Pieces meet where lines end, or else between characters, and none of the
// bytes is lost or there twice.
func TestPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, longest := range []int{80, 3000, 10000, 1 << 20} {
		var data []byte
		for len(data) < 1<<20 {
			data = append(append(data, strings.Repeat("é漢", rng.IntN(longest))...), '\n')
		}
		for _, gap := range []int64{0, 77} {
			at := sessions.CallPlace{Key: sessions.Key{Instance: "flask-4045"}, Turn: 1}
			head := len(data)
			if gap > 0 {
				head = 300001
			}
			f := withOutput(data, head, gap)
			p := piecesOf(sessions.Output{Size: int64(len(data)), Head: int64(head), Dropped: gap})
			var all []byte
			for i := range p.count() {
				if p.gap(i) {
					continue
				}
				raw, err := p.raw(t.Context(), f, at, i)
				if err != nil {
					t.Fatal(err)
				}
				if longest == 80 && i > 0 && i != p.head+1 && len(all) > 0 && all[len(all)-1] != '\n' {
					t.Errorf("piece %d begins within a line", i)
				}
				all = append(all, raw...)
			}
			if !bytes.Equal(all, data) {
				t.Errorf("lines of up to %d: %d bytes in pieces, %d were printed", longest, len(all), len(data))
			}
		}
	}
}

// Row by row through several pieces: each line once, in order.
func TestOutputIsWalked(t *testing.T) {
	log := testLog(4000)
	b := open(t, withOutput(log, len(log), 0), 80, 24, nil)
	b.keys("<enter>gO")
	var seen []string
	s, v := &b.w.sheet.scroll, b.w.sheet.output
	for range 4010 {
		b.w.View()
		sec := v.loaded[s.cursor.section]
		r := sec.rows[0][s.cursor.row]
		if line := strings.TrimSpace(sec.blocks[0].text[r.from:r.to]); strings.HasPrefix(line, "tests/") {
			seen = append(seen, line[:15])
		}
		before := s.cursor
		if b.keys("j"); s.cursor == before {
			break
		}
	}
	if len(seen) != 4000 {
		t.Errorf("%d lines", len(seen))
	}
	for i, line := range seen {
		if want := fmt.Sprintf("tests/test_%04d", i); line != want {
			t.Fatalf("line %d is %q", i, line)
		}
	}
	for range 300 {
		b.keys("<pgup>")
	}
	if s.cursor != (place{}) {
		t.Errorf("pages up end at %v", s.cursor)
	}
}

// n and N go through all matches, in pieces that are not loaded too, and around.
func TestOutputSearch(t *testing.T) {
	log := testLog(4000) // FAILED in lines 96, 193, … 3976: 41 of them
	b := open(t, withOutput(log, len(log), 0), 120, 40, nil)
	b.keys("<enter>gO/failed<enter>")
	here := func() int {
		b.w.View()
		s := &b.w.sheet.scroll
		sec := b.w.sheet.output.loaded[s.cursor.section]
		r := sec.rows[0][s.cursor.row]
		n := -1
		if _, err := fmt.Sscanf(sec.blocks[0].text[r.from:r.to], "tests/test_%04d.py", &n); err != nil {
			t.Fatalf("the cursor is on %q", sec.blocks[0].text[r.from:r.to])
		}
		return n
	}
	for i := range 41 {
		if got := here(); got != 96+97*i {
			t.Fatalf("match %d is line %d", i, got)
		}
		b.keys("n")
	}
	if got := here(); got != 96 {
		t.Errorf("after the last match comes line %d", got)
	}
	if got, _ := b.w.toasts.shown(b.w.now); got.text != "the search went on from the other end" {
		t.Errorf("the toast says %q", got.text)
	}
	for i := 40; i >= 30; i-- {
		if b.keys("N"); here() != 96+97*i {
			t.Fatalf("backwards, match %d is line %d", i, here())
		}
	}
	b.keys("/PASSEd<enter>") // a capital letter: as written
	if got, _ := b.w.toasts.shown(b.w.now); got.text != "nothing in the output matches PASSEd" {
		t.Errorf("the toast says %q", got.text)
	}
	b.keys("g/collected<enter>") // the very first row counts, once
	if s := b.w.sheet.scroll; s.cursor != (place{}) {
		t.Errorf("the first row was passed over: %v", s.cursor)
	}
}

// Whatever was printed, the screen holds no escape sequence but its own.
func TestHostileOutput(t *testing.T) {
	data := bytes.Repeat([]byte(hostile+"\x1b]0;no end "+strings.Repeat("\x1b[", 50)+"\xff\xfe\r"), 3000)
	for _, wh := range [][2]int{{80, 24}, {120, 40}, {60, 20}, {30, 8}} {
		b := open(t, withOutput(data, len(data)/2, 9), wh[0], wh[1], nil)
		b.keys("<enter>gO")
		for _, keys := range []string{"", "G", "/end<enter>", "N", "/\x1b[31m", "<enter>", "<pgup>"} {
			b.keys(keys)
			rows := strings.Split(b.w.View(), "\n")
			if len(rows) != wh[1] {
				t.Fatalf("%v: %d rows", wh, len(rows))
			}
			for _, r := range rows {
				checkEscapes(t, r)
				if n := ansi.StringWidth(r); n != wh[0] {
					t.Errorf("%v %q: a row is %d columns wide: %q", wh, keys, n, r)
				}
			}
		}
	}
}

// 16 MiB of which nothing can be seen: what is on the screen is read once.
func TestOutputOfNothingToSee(t *testing.T) {
	data := bytes.Repeat([]byte("\x1b[0m"), 4<<20)
	b := open(t, withOutput(data, len(data), 0), 200, 60, nil)
	b.keys("<enter>gO")
	for range 300 {
		b.pull()
	}
	if b.w.loadOutput() != nil {
		t.Error("pieces are read again and again")
	}
}

// A piece that cannot be read says so in its place.
func TestOutputThatCannotBeRead(t *testing.T) {
	f := withOutput(testLog(10), 100, 0)
	b := open(t, f, 120, 40, func(o *Options) { o.Reader = broken{f} })
	b.keys("<enter>gO")
	if view := ansi.Strip(b.w.View()); !strings.Contains(view, "✘ a chunk of it is missing") {
		t.Errorf("the screen says\n%s", view)
	}
}

type broken struct{ *fakeRun }

func (broken) Output(context.Context, sessions.CallPlace, int64, int) ([]byte, error) {
	return nil, errors.New("a chunk of it is missing")
}

// Cancelling a call asks, names the call and is refused when none runs.
func TestCancelCallKey(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	b.keys("jjC")
	if got, _ := b.w.toasts.shown(b.w.now); got.text != "C: no call is running: flask-4045#2 is held" {
		t.Errorf("C says %q", got.text)
	}
	for size, wh := range sizes() {
		b = open(t, fakeWhole(), wh[0], wh[1], nil)
		b.keys("jjjC")
		b.check("cancelcall-" + size)
	}
	b = open(t, fakeWhole(), 80, 24, func(o *Options) { o.NoColor = true })
	b.keys("jjjC")
	b.check("cancelcall-mono-80x24")
	b.keys("<enter>")
	if len(b.f.calls) != 0 {
		t.Errorf("enter cancelled: %q", b.f.calls)
	}
	b.keys("Cy")
	if got := strings.Join(b.f.calls, ";"); got != "cancel call flask-4045#3 10:12:29" { // it began 12 s ago
		t.Errorf("verbs %q", got)
	}
	if got, _ := b.w.toasts.shown(b.w.now); got.text != "editor of flask-4045#3 is being cancelled" {
		t.Errorf("the toast says %q", got.text)
	}
	b = open(t, fakeWhole(), 80, 24, func(o *Options) { o.Commands = nil })
	b.keys("jjjC")
	if got, _ := b.w.toasts.shown(b.w.now); !strings.Contains(got.text, "read only") {
		t.Errorf("C says %q", got.text)
	}
}

// BenchmarkOutput is what a key costs in 16 MiB with lines of a megabyte.
func BenchmarkOutput(b *testing.B) {
	data := bytes.Repeat(append(bytes.Repeat([]byte("word "), 200000), '\n'), 16)
	f := withOutput(data, len(data), 0)
	at := sessions.CallPlace{Key: sessions.Key{Instance: "flask-4045"}, Turn: 1}
	p := piecesOf(sessions.Output{Size: int64(len(data)), Head: int64(len(data))})
	b.Run("piece", func(b *testing.B) {
		for b.Loop() {
			s, err := p.read(context.Background(), f, at, 100)
			if err != nil {
				b.Fatal(err)
			}
			s.layout(118, &folds{})
		}
	})
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			m := foundMsg{i: -1}
			if m.search(context.Background(), f, p, at, newFinder("nowhere"), 0, 0, 1); m.i >= 0 || m.err != nil {
				b.Fatal(m)
			}
		}
	})
}
