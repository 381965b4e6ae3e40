package ui

import (
	"fmt"
	"strings"
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
	chosen  // the cursor's row in the focused pane
	focused // frame of the focused pane
	roles
)

// theme holds the SGR parameters of each role. The first sixteen colours
// follow the person's own palette, so they are readable on any background.
type theme [roles]string

var themes = map[string]theme{
	"default": {
		dim: "2", strong: "1", good: "34", live: "36", warn: "33", fail: "1;31", person: "35",
		thought: "2;3", call: "36", added: "32", removed: "31", hunk: "36", chosen: "7", focused: "36",
	},
	// light replaces yellow and cyan, which white backgrounds swallow.
	"light": {
		dim: "2", strong: "1", good: "34", live: "34", warn: "38;5;130", fail: "1;31", person: "35",
		thought: "2;3", call: "34", added: "32", removed: "31", hunk: "34", chosen: "7", focused: "34",
	},
	// mono keeps weight and reverse only: glyphs and words carry the meaning.
	"mono": {
		dim: "2", strong: "1", warn: "1", fail: "1", person: "1", thought: "2", removed: "2",
		hunk: "1", chosen: "7", focused: "1",
	},
}

// pickTheme by name. "" is the light one where the terminal says (in COLORFGBG)
// that its background is, else the default. Without colour it is always mono.
func pickTheme(name string, noColor bool, colorFgBg string) (theme, error) {
	if name == "" {
		name = "default"
		if bg := colorFgBg[strings.LastIndexByte(colorFgBg, ';')+1:]; bg == "7" || bg == "15" {
			name = "light"
		}
	}
	t, ok := themes[name]
	if !ok {
		return theme{}, fmt.Errorf("no theme %q: use default, light or mono", name)
	}
	if noColor {
		t = themes["mono"]
	}
	return t, nil
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
	if t[r] == "" {
		b.WriteString(text)
		return
	}
	b.WriteString("\x1b[")
	b.WriteString(t[r])
	b.WriteByte('m')
	b.WriteString(text)
	b.WriteString("\x1b[0m")
}

// text paints one piece.
func (t *theme) text(r role, s string) string {
	var b strings.Builder
	t.paint(&b, r, s)
	return b.String()
}
