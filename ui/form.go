package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// field of a form.
type field struct {
	name string
	editor
	ext string // file name ending for $EDITOR: .sh, .json, .txt
	was string // shown beside another value; "" for nothing
	// options complete what is typed; hint says what to write; must: it is required.
	options []string
	hint    string
	must    bool
}

// form asks for text. ctrl+s sends, esc leaves everything as it was, ctrl+e
// opens the field in $EDITOR.
type form struct {
	name   string
	help   string
	fields []field
	at     int
	label  int    // width of the names' column, 0: fieldName
	note   string // what must be known, however little room there is
	room   int    // rows there are for fields, set before rendering
	failed string
	send   func(values []string) (tea.Cmd, error)
	edit   func(text, ext string) tea.Cmd
	// swap, when set, shows the same values another way (ctrl+t).
	swap func(f *form) error
	// changed, when set, is called after a field took a key; more and less add and
	// remove a part.
	changed, more, less func(f *form)
}

// editedMsg brings a field's text back from $EDITOR.
type editedMsg struct {
	text string
	err  error
}

func (f *form) title() string { return f.name }

func (f *form) values() []string {
	out := make([]string, len(f.fields))
	for i := range f.fields {
		out[i] = f.fields[i].text()
	}
	return out
}

// Keys of the form come before those of the field, which takes all others.
func (f *form) key(m tea.KeyMsg) (tea.Cmd, bool) {
	f.failed = ""
	cur := &f.fields[f.at]
	switch {
	case key.Matches(m, closeKey):
		return nil, true
	case key.Matches(m, sendKey):
		return f.submit()
	case key.Matches(m, editorKey):
		return f.edit(cur.text(), cur.ext), false
	case key.Matches(m, swapKey):
		if f.swap != nil {
			f.fail(f.swap(f))
		}
		return nil, false
	case key.Matches(m, nextKey):
		f.at = (f.at + 1) % len(f.fields)
		return nil, false
	case key.Matches(m, beforeKey):
		f.at = (f.at + len(f.fields) - 1) % len(f.fields)
		return nil, false
	}
	if f.special(m) {
		return nil, false
	}
	if cur.complete(m) || cur.key(m) {
		if f.changed != nil {
			f.changed(f)
		}
		return nil, false
	}
	switch k := m.String(); {
	case key.Matches(m, takeKey) && f.at == len(f.fields)-1:
		return f.submit()
	case key.Matches(m, takeKey), k == "down" && f.at < len(f.fields)-1:
		f.at++
	case k == "up" && f.at > 0:
		f.at--
	}
	return nil, false
}

// special keys act where a form has what they are for.
func (f *form) special(m tea.KeyMsg) bool {
	switch {
	case f.more != nil && key.Matches(m, moreKey):
		f.more(f)
	case f.less != nil && key.Matches(m, lessKey):
		f.less(f)
	default:
		return false
	}
	return true
}

// complete takes what the options say of what is typed.
func (fd *field) complete(m tea.KeyMsg) bool {
	if len(fd.options) == 0 {
		return false
	}
	typed := fd.text()
	at := slices.Index(fd.options, typed)
	switch {
	case key.Matches(m, nextOptionKey):
		fd.set(fd.options[(at+1)%len(fd.options)])
	case key.Matches(m, optionKey) && at < 0 && fd.x == len(fd.lines[fd.y]):
		list := fd.matching()
		if len(list) == 0 {
			return false
		}
		fd.set(list[0])
	default:
		return false
	}
	return true
}

// matching options begin with what is typed; else they hold it.
func (fd *field) matching() (list []string) {
	typed := strings.ToLower(strings.TrimSpace(fd.text()))
	for _, test := range []func(s, typed string) bool{strings.HasPrefix, strings.Contains} {
		for _, o := range fd.options {
			if test(strings.ToLower(o), typed) {
				list = append(list, o)
			}
		}
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// help below the field with the keys: what completes it, else what to write.
func (fd *field) help() line {
	typed := fd.text()
	if len(fd.options) == 0 || slices.Contains(fd.options, typed) {
		return line{{dim, cleanLine(fd.hint)}}
	}
	list := fd.matching()
	if len(list) == 0 {
		return line{{warn, "none of " + cleanLine(strings.Join(fd.options, ", "))}}
	}
	return line{{strong, "→ "}, {plain, cleanLine(list[0])}, {dim, "  " + cleanLine(strings.Join(list[1:], "  "))}}
}

// submit closes the form only when what was typed can be sent.
func (f *form) submit() (tea.Cmd, bool) {
	cmd, err := f.send(f.values())
	f.fail(err)
	return cmd, err == nil
}

func (f *form) fail(err error) {
	if err != nil {
		f.failed = cleanLine(err.Error())
	}
}

// edited puts the text of $EDITOR into the field it came from.
func (f *form) edited(m editedMsg) {
	f.fail(m.err)
	if m.err == nil {
		f.fields[f.at].set(m.text)
	}
}

func (f *form) render(t *theme, w, h int) []string {
	rows := []string{}
	for _, row := range Wrap(f.help, w) {
		if h >= 14 { // where room is scarce the text to edit comes first
			rows = append(rows, t.fit(line{{dim, row}}, w))
		}
	}
	for _, row := range Wrap(f.note, w) {
		if f.note != "" {
			rows = append(rows, t.fit(line{{warn, row}}, w))
		}
	}
	end := []string{spaces(w)}
	if f.failed != "" {
		for _, row := range Wrap("✘ "+f.failed, w) {
			end = append(end, t.fit(line{{fail, row}}, w))
		}
	}
	end = append(end, t.fit(f.keys(w), w))
	fields, at := f.renderFields(t, w, max(f.room-len(rows)-1, len(f.fields)))
	if over := len(rows) + len(fields) + len(end) - h; over > 0 { // the field with the keys stays in sight
		from := min(at, over)
		fields = fields[from:max(len(fields)-(over-from), from+1)]
	}
	return append(append(rows, fields...), end...)
}

// renderFields in about so many rows; at is the first row of the one with the keys.
func (f *form) renderFields(t *theme, w, left int) (rows []string, at int) {
	label := min(max(f.label, fieldName), max(w-10, fieldName))
	for i := range f.fields {
		fd := &f.fields[i]
		n := f.rowsFor(i, w-label, left)
		has := i == f.at
		title := cleanLine(fd.name)
		if fd.must {
			title += " *"
		}
		name, r := pad(title, label), dim
		if has {
			r, at = focused, len(rows)
		}
		was := ""
		if fd.was != "" && fd.was != strings.TrimSpace(fd.text()) && w-label >= 24 {
			was = "was " + cleanLine(fd.was)
			was = padLeft(was, min(max(width(was), 12), (w-label)/2))
		}
		for j, text := range fd.render(t, max(w-label-2-width(was), 1), n, has) {
			if j > 0 {
				name = spaces(label)
			}
			rows = append(rows, t.text(r, name+"▏")+" "+text+t.text(dim, was))
		}
		if help := fd.help(); has && help.width() > 0 {
			rows = append(rows, t.fit(append(line{{dim, spaces(label) + "  "}}, help...), w))
		}
	}
	return rows, at
}

// fieldName is the width of the names' column.
const fieldName = 12

// rowsFor shares the rows: a field gets what its text needs, the one with the
// keys first. w is without the column of the names.
func (f *form) rowsFor(i, w, left int) int {
	need := func(j int) int {
		fd := &f.fields[j]
		rows, _ := fd.layout(max(w-2, 1))
		switch {
		case fd.single && j == f.at: // all of a line that is being typed
			return min(len(rows), 3)
		case fd.single:
			return 1
		}
		if j != f.at {
			return len(rows)
		}
		return max(len(rows), 2) // the field does not grow under the first new line
	}
	others := 0
	for j := range f.fields {
		if j != f.at {
			others += min(need(j), 3)
		}
	}
	if i != f.at {
		return min(need(i), 3)
	}
	return max(min(need(i), left-others), 1)
}

// keys that act in the form, closer to each other where there is little room.
func (f *form) keys(w int) line {
	items := [][2]string{{"ctrl+s", "send"}, {"esc", "leave"}, {"ctrl+e", "$EDITOR"}}
	if f.swap != nil {
		items = append(items, [2]string{"ctrl+t", "JSON"})
	}
	if f.more != nil {
		items = append(items, [2]string{"ctrl+o", "+call"})
	}
	if len(f.fields) > 1 {
		items = append(items, [2]string{"tab", fmt.Sprintf("field %d/%d", f.at+1, len(f.fields))})
	}
	l := keyLine(items, "  ")
	if l.width() > w {
		items[len(items)-1][1] = fmt.Sprintf("%d/%d", f.at+1, len(f.fields))
		l = keyLine(items, "  ")
	}
	if l.width() > w {
		l = keyLine(items, " ")
	}
	return l
}

func keyLine(items [][2]string, gap string) (l line) {
	for i, it := range items {
		if i == len(items)-1 {
			gap = ""
		}
		l.add(strong, it[0])
		l.add(dim, " "+it[1]+gap)
	}
	return l
}
