package ui

import (
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// role is what a piece of text means; the theme says how a meaning looks.
// Default foreground and background are never set.
type role uint8

// The roles.
const (
	plain   role = iota
	dim          // labels, frames, what is over
	strong       // titles, keys
	good         // solved, healthy
	live         // work going on
	warn         // held, limits, degraded
	fail         // broken
	person       // made or changed by a person
	thought      // reasoning of the policy
	call         // tool calls
	added        // lines of a diff
	removed
	hunk
	// Words of code: see highlight.go.
	keyword
	quoted
	comment
	variable
	operator
	chosen  // the cursor's row in the focused pane
	focused // frame of the focused pane
	// Tokens that train: as plain, live, warn and fail, and underlined.
	plainTrains
	liveTrains
	warnTrains
	failTrains
	roles
)

// styles are how the roles look.
type styles [roles]lipgloss.Style

func (t *styles) set(s lipgloss.Style, rs ...role) {
	for _, r := range rs {
		t[r] = s
	}
}

// theme is what the styles write before and after a text, asked of them once:
// a screen has thousands of pieces.
type theme [roles]struct{ before, after string }

func newTheme(t styles) theme {
	for i, r := range []role{plain, live, warn, fail} {
		t[plainTrains+role(i)] = t[r].Underline(true)
	}
	var th theme
	for r, s := range t {
		th[r].before, th[r].after, _ = strings.Cut(s.Render("x"), "x")
	}
	return th
}

// newRenderer for an output. The profile comes from the environment alone: a
// terminal that is asked may answer late, into what a person types. It never
// is the one without any style, so that NO_COLOR keeps weight and reverse.
func newRenderer(out io.Writer, term, colorTerm string) *lipgloss.Renderer {
	profile := termenv.ANSI
	if colorTerm != "" || strings.Contains(term, "256color") || strings.Contains(term, "direct") {
		profile = termenv.ANSI256
	}
	r := lipgloss.NewRenderer(out, termenv.WithProfile(profile))
	r.SetColorProfile(profile)
	r.SetHasDarkBackground(true) // no style depends on it; unset, it would be asked for
	return r
}

// seg is a piece of a line in one role. Its text is clean and has no newline.
type seg struct {
	r    role
	text string
}

// line is one screen line before it is drawn.
type line []seg

func (l *line) add(r role, text string) { *l = append(*l, seg{r, text}) }

// width is summed from runes, as wrap and cut do: one measure everywhere.
func (l line) width() int {
	w := 0
	for _, s := range l {
		w += width(s.text)
	}
	return w
}

// fit draws the line exactly w columns wide, cut with an ellipsis or padded.
func (t *theme) fit(l line, w int) string { return t.fitOn(l, w, plain) }

// fitOn is fit on a row whose own role is base: chosen overrides every other
// role, so that a cursor row reads the same in every palette.
func (t *theme) fitOn(l line, w int, base role) string {
	var b strings.Builder
	left := w
	total := l.width()
	for _, s := range l {
		if left <= 0 {
			break
		}
		text, tw := s.text, width(s.text)
		if total > w && tw >= left {
			text = cutForced(text, left)
			tw = left
		}
		r := s.r
		if base != plain {
			r = base
		}
		t.paint(&b, r, text)
		left -= tw
	}
	if left > 0 {
		t.paint(&b, base, spaces(left))
	}
	return b.String()
}

// cutForced fills exactly w columns and ends in an ellipsis: more follows.
func cutForced(s string, w int) string {
	h, used := head(s, w-1)
	return h + "…" + spaces(w-1-used)
}

// paint closes every piece: a row cut anywhere cannot leak its colour.
func (t *theme) paint(b *strings.Builder, r role, text string) {
	if text == "" {
		return
	}
	b.WriteString(t[r].before)
	b.WriteString(text)
	b.WriteString(t[r].after)
}

// text paints one piece.
func (t *theme) text(r role, s string) string {
	var b strings.Builder
	t.paint(&b, r, s)
	return b.String()
}
