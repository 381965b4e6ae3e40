package ui

import (
	"context"
	"fmt"
	"strings"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

const outputKey = "O"

// outputRef is a call whose output the session keeps.
type outputRef struct {
	at   sessions.CallPlace
	kept sessions.Output
	tool string
}

// outputView shows what a call printed, in pieces read from the session as they
// are looked at. It is the document of its sheet.
type outputView struct {
	ref    outputRef
	pieces pieces
	loaded map[int]*section
	bytes  int // of text in them
	wanted map[int]bool
	near   int // the piece looked at: those far from it are let go

	loading bool
	typing  bool
	input   textinput.Model
	query   string // looked for last, "" for nothing
	hit     *place // where it was found last
	looking bool   // through the output for query
	stop    context.CancelFunc
	n       int // of the search: an older one's answer is dropped
}

// keptText bounds the text of the pieces in memory. What fills a screen is less,
// so nothing that is looked at is let go.
const keptText = 4 << 20

// pieceMsg brings a piece, laid out as a section.
type pieceMsg struct {
	view *outputView
	i    int
	s    *section
	err  error
}

// canOutput says why there is no full output under the cursor.
func canOutput(w *Workbench) string {
	if _, ok := w.outputHere(); !ok {
		return "the model saw all that was printed here: put the cursor on an observation that was cut"
	}
	return ""
}

// outputHere is the output of the block under the cursor, else the one of its turn.
func (w *Workbench) outputHere() (outputRef, bool) {
	s := w.scroller()
	if s == nil || w.focus != viewFocus || w.tab != textTab {
		return outputRef{}, false
	}
	d := w.document()
	if b := s.block(d, w.viewWidth()); b == nil {
		return outputRef{}, false
	} else if b.out != nil {
		return *b.out, true
	}
	blocks := d.section(s.cursor.section).blocks
	call := callPart(s.block(d, w.viewWidth()).id)
	for _, b := range blocks {
		if call != "" && b.out != nil && callPart(b.id) == call {
			return *b.out, true
		}
	}
	var only *outputRef
	for _, b := range blocks {
		switch {
		case b.out == nil:
		case only != nil && only.at != b.out.at:
			return outputRef{}, false // which of them is not said
		default:
			only = b.out
		}
	}
	if only == nil {
		return outputRef{}, false
	}
	return *only, true
}

// callPart is the call that a block of a transcript belongs to, told by its id: of
// turn.reply.cN and of what stands below it; "" for a block of no call.
func callPart(id string) string {
	parts := strings.Split(id, ".")
	if len(parts) < 3 || len(parts[2]) < 2 || parts[2][0] != 'c' && parts[2][0] != 'o' {
		return ""
	}
	return parts[0] + "." + parts[1] + "." + parts[2][1:]
}

func doOutput(w *Workbench) tea.Cmd {
	ref, _ := w.outputHere()
	v := &outputView{ref: ref, pieces: piecesOf(ref.kept), loaded: map[int]*section{}, wanted: map[int]bool{}}
	w.openSheet(&sheet{opener: outputKey, scope: inOutput, head: v.head, own: v.key, output: v,
		page: func(int, int) document { return v }})
	return nil
}

func (v *outputView) count() int { return v.pieces.count() }

func (v *outputView) section(i int) *section {
	s := v.loaded[i]
	if s == nil {
		v.wanted[i] = true
		return nil
	}
	s.find = v.query
	return s
}

// ready reports whether the cursor may be where it is: in a piece that is there,
// or at one of the two ends.
func (v *outputView) ready(s *scroller) bool {
	return s.follow || s.cursor == (place{}) || v.loaded[s.cursor.section] != nil
}

// loadOutput reads a piece that the open sheet lacks, or will: those beside the
// one looked at are read before they are needed.
func (w *Workbench) loadOutput() tea.Cmd {
	if w.sheet == nil || w.sheet.output == nil || w.sheet.output.loading {
		return nil
	}
	v := w.sheet.output
	v.near = w.sheet.scroll.cursor.section
	if w.sheet.scroll.follow {
		v.near = v.count() - 1
	}
	for _, i := range []int{v.near, v.near + 1, v.near - 1} {
		if i >= 0 && i < v.count() && v.loaded[i] == nil {
			v.wanted[i] = true
		}
	}
	if len(v.wanted) == 0 {
		return nil
	}
	i := -1
	for n := range v.wanted {
		if i < 0 || distance(n, v.near) < distance(i, v.near) || distance(n, v.near) == distance(i, v.near) && n > i {
			i = n
		}
	}
	clear(v.wanted)
	v.loading = true
	r, p, at := w.opt.Reader, v.pieces, v.ref.at
	return w.job(func(ctx context.Context) tea.Msg {
		s, err := p.read(ctx, r, at, i)
		return pieceMsg{v, i, s, err}
	})
}

// applyPiece shows a failed read in the place of the piece.
func (w *Workbench) applyPiece(m pieceMsg) {
	v := m.view
	v.loading = false
	if m.err != nil {
		w.complain(m.err)
		m.s = errorSection(m.err)
	}
	v.put(m.i, m.s)
}

func errorSection(err error) *section {
	return &section{labels: 1, blocks: []block{{id: "error", body: fail, text: "✘ " + cleanLine(err.Error())}}}
}

// put a piece and let the farthest go where there are too many.
func (v *outputView) put(i int, s *section) {
	v.loaded[i] = s
	v.bytes += s.bytes
	for v.bytes > keptText {
		far := v.near
		for n := range v.loaded {
			if distance(n, v.near) > distance(far, v.near) {
				far = n
			}
		}
		v.bytes -= v.loaded[far].bytes
		delete(v.loaded, far)
	}
}

// head is the title of the sheet, or what is being typed.
func (v *outputView) head() line {
	if v.typing {
		return inputLine(v.input)
	}
	l := line{{strong, "output"}, {plain, fmt.Sprintf(" · %s turn %d %s", cleanLine(v.ref.at.Key.String()), v.ref.at.Turn, cleanLine(toolLabel(v.ref.tool)))},
		{dim, " · " + bytesText(v.ref.kept.Size+v.ref.kept.Dropped)}}
	if n := v.count(); n > 1 {
		l.add(dim, fmt.Sprintf(" · part %d of %d", v.near+1, n))
	}
	switch {
	case v.looking:
		l.add(warn, fmt.Sprintf(" · looking for %q", cleanLine(v.query)))
	case v.query != "":
		l.add(warn, fmt.Sprintf(" · /%s", cleanLine(v.query)))
	}
	return l
}

// bytesText is a size in the unit that keeps it short.
func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return thousands(n) + " bytes"
}

// lower folds ASCII letters only, so that every offset stays.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// finder is a query made ready: without a capital letter it finds both cases.
type finder struct {
	query string
	fold  bool
}

func newFinder(query string) finder { return finder{query, lower(query) == query} }

func (f finder) text(s string) string {
	if f.fold {
		return lower(s)
	}
	return s
}
