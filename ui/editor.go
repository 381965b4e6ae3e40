package ui

import (
	"strings"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// editor is a small text field. It keeps text as it is (tabs included): what
// a person sends is exactly what was typed. One with a single line never
// takes a newline.
type editor struct {
	lines  [][]rune
	y, x   int // cursor: line, rune in it
	top    int
	single bool
}

func newEditor(text string, single bool) editor {
	e := editor{single: single}
	e.set(text)
	return e
}

// set replaces the text and puts the cursor behind it: most edits append.
func (e *editor) set(text string) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if e.single {
		text = strings.ReplaceAll(text, "\n", " ")
	}
	e.lines = nil
	for _, l := range strings.Split(text, "\n") {
		e.lines = append(e.lines, []rune(l))
	}
	e.y = len(e.lines) - 1
	e.x = len(e.lines[e.y])
	e.top = 0
}

func (e *editor) text() string {
	parts := make([]string, len(e.lines))
	for i, l := range e.lines {
		parts[i] = string(l)
	}
	return strings.Join(parts, "\n")
}

// key edits; it reports whether the key was its own.
func (e *editor) key(m tea.KeyMsg) bool {
	if m.Type == tea.KeyRunes && !m.Alt || m.Type == tea.KeySpace {
		e.insert(string(m.Runes))
		return true
	}
	line := e.lines[e.y]
	switch m.String() {
	case "enter":
		if e.single {
			return false
		}
		e.insert("\n")
	case "backspace":
		e.backspace()
	case "delete", "ctrl+d":
		e.remove()
	case "left":
		if e.x > 0 {
			e.x--
		} else if e.y > 0 {
			e.y--
			e.x = len(e.lines[e.y])
		}
	case "right":
		if e.x < len(line) {
			e.x++
		} else if e.y < len(e.lines)-1 {
			e.y++
			e.x = 0
		}
	case "up":
		if e.y == 0 {
			return !e.single
		}
		e.y--
	case "down":
		if e.y == len(e.lines)-1 {
			return !e.single
		}
		e.y++
	case "home", "ctrl+a":
		e.x = 0
	case "end":
		e.x = len(line)
	case "ctrl+u":
		e.lines[e.y] = append([]rune{}, line[e.x:]...)
		e.x = 0
	case "ctrl+k":
		e.lines[e.y] = line[:e.x:e.x]
	case "ctrl+w":
		e.dropWord()
	case "alt+b", "ctrl+left":
		e.x = wordStart(line, e.x)
	case "alt+f", "ctrl+right":
		e.x = wordEnd(line, e.x)
	default:
		return false
	}
	e.x = min(e.x, len(e.lines[e.y]))
	return true
}

// insert typed or pasted text. Control characters other than tab and newline
// have no place in a field.
func (e *editor) insert(text string) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	for _, r := range text {
		switch {
		case r == '\n' && !e.single:
			rest := append([]rune{}, e.lines[e.y][e.x:]...)
			e.lines[e.y] = e.lines[e.y][:e.x]
			e.lines = append(e.lines[:e.y+1], append([][]rune{rest}, e.lines[e.y+1:]...)...)
			e.y++
			e.x = 0
			continue
		case r == '\n':
			r = ' '
		case r != '\t' && unicode.IsControl(r):
			continue
		}
		l := e.lines[e.y]
		e.lines[e.y] = append(l[:e.x:e.x], append([]rune{r}, l[e.x:]...)...)
		e.x++
	}
}

func (e *editor) backspace() {
	if e.x > 0 {
		e.x--
		e.remove()
		return
	}
	if e.y > 0 {
		e.y--
		e.x = len(e.lines[e.y])
		e.remove()
	}
}

// remove the character under the cursor; at a line's end, join the next line.
func (e *editor) remove() {
	l := e.lines[e.y]
	if e.x < len(l) {
		e.lines[e.y] = append(l[:e.x:e.x], l[e.x+1:]...)
		return
	}
	if e.y < len(e.lines)-1 {
		e.lines[e.y] = append(l[:len(l):len(l)], e.lines[e.y+1]...)
		e.lines = append(e.lines[:e.y+1], e.lines[e.y+2:]...)
	}
}

func (e *editor) dropWord() {
	l := e.lines[e.y]
	x := wordStart(l, e.x)
	e.lines[e.y] = append(l[:x:x], l[e.x:]...)
	e.x = x
}

// wordStart is where the word before x begins.
func wordStart(l []rune, x int) int {
	for x > 0 && unicode.IsSpace(l[x-1]) {
		x--
	}
	for x > 0 && !unicode.IsSpace(l[x-1]) {
		x--
	}
	return x
}

// wordEnd is where the word behind x ends.
func wordEnd(l []rune, x int) int {
	for x < len(l) && unicode.IsSpace(l[x]) {
		x++
	}
	for x < len(l) && !unicode.IsSpace(l[x]) {
		x++
	}
	return x
}

// cell is one character as it is drawn.
type cell struct {
	text string
	at   int // rune index in its line
}

// render h rows of w columns: where the field has the keys scrolled to the cursor,
// which is drawn in reverse; else its beginning and how much more there is.
func (e *editor) render(t *theme, w, h int, hasFocus bool) []string {
	rows, cy := e.layout(w)
	if !hasFocus && len(rows) > h {
		return renderHead(t, rows, w, h)
	}
	e.top = min(e.top, cy)
	if cy >= e.top+h {
		e.top = cy - h + 1
	}
	e.top = max(min(e.top, len(rows)-h), 0)
	out := make([]string, 0, h)
	for i := e.top; i < e.top+h; i++ {
		l := line{}
		if i < len(rows) {
			for _, c := range rows[i].cells {
				r := plain
				if hasFocus && i == cy && c.at == e.x {
					r = chosen
				}
				l.add(r, c.text)
			}
		}
		out = append(out, t.fit(l, w))
	}
	return out
}

// renderHead draws the first rows of a text that has more of them.
func renderHead(t *theme, rows []editorRow, w, h int) []string {
	text := func(r editorRow) string {
		var b strings.Builder
		for _, c := range r.cells {
			b.WriteString(c.text)
		}
		return b.String()
	}
	if h == 1 {
		return []string{t.fit(line{{plain, cut(text(rows[0])+"…", w)}}, w)}
	}
	out := make([]string, 0, h)
	for _, r := range rows[:h-1] {
		out = append(out, t.fit(line{{plain, text(r)}}, w))
	}
	return append(out, t.fit(line{{dim, foldNote(len(rows) - h + 1)}}, w))
}

type editorRow struct{ cells []cell }

// layout wraps the lines into rows of w columns and finds the cursor's row.
// Each line ends in a blank cell for a cursor behind its last character.
func (e *editor) layout(w int) (rows []editorRow, cursorRow int) {
	for y, l := range e.lines {
		cur, used := editorRow{}, 0
		for x := 0; x <= len(l); x++ {
			text := " "
			if x < len(l) {
				text = cellText(l[x], used)
			}
			tw := width(text)
			if used+tw > w && used > 0 {
				rows = append(rows, cur)
				cur, used = editorRow{}, 0
			}
			if y == e.y && x == e.x {
				cursorRow = len(rows)
			}
			cur.cells = append(cur.cells, cell{text, x})
			used += tw
		}
		rows = append(rows, cur)
	}
	return rows, cursorRow
}

// cellText is how a rune is drawn; what cannot be drawn is a dot, so that the
// cursor never stands on nothing.
func cellText(r rune, col int) string {
	if r == '\t' {
		return "    "[:tabWidth-col%tabWidth]
	}
	s := clean(string(r))
	if w := width(s); w == 0 || s == "\n" || joins(r) || ansi.StringWidth("é"+s) != 1+w {
		return "·"
	}
	return s
}

// joins reports whether a rune melts into the one before it: conjoining Hangul.
func joins(r rune) bool {
	return r >= 0x1100 && r <= 0x11ff || r >= 0xa960 && r <= 0xa97f || r >= 0xd7b0 && r <= 0xd7ff
}
