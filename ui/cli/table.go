package cli

import (
	"slices"
	"strings"

	"rollbench/sessions"
	"rollbench/ui"
)

// table of runs, w columns wide at most where that is possible (0: any width).
func table(runs []sessions.Summary, w int) string {
	shown := slices.Clone(columns)
	if !slices.ContainsFunc(runs, func(r sessions.Summary) bool { return r.Failed > 0 }) {
		shown = without(shown, "FAILED")
	}
	if !slices.ContainsFunc(runs, func(r sessions.Summary) bool { return r.Cancelled > 0 }) {
		shown = without(shown, "CANCELLED")
	}
	for _, name := range leaveOut() {
		if w == 0 || wide(shown, runs, taskRoom) <= w {
			break
		}
		shown = without(shown, name)
	}
	widths := widthsOf(shown, runs)
	if over := wide(shown, runs, 1<<20) - w; w > 0 && over > 0 { // the names of tasks give way
		i := slices.IndexFunc(shown, isTasks)
		widths[i] = max(widths[i]-over, len("TASKS"))
	}
	var b strings.Builder
	for i, c := range shown {
		cell(&b, c, c.name, widths[i], i == len(shown)-1)
	}
	for _, r := range runs {
		b.WriteByte('\n')
		if r.Problem != "" {
			line := r.ID + "  unreadable: " + word(r.Problem)
			if w > 0 {
				line = ui.CutTo(line, w)
			}
			b.WriteString(line)
			continue
		}
		for i, c := range shown {
			cell(&b, c, c.text(&r), widths[i], i == len(shown)-1)
		}
	}
	b.WriteByte('\n')
	return b.String()
}

func without(list []column, name string) []column {
	return slices.DeleteFunc(list, func(c column) bool { return c.name == name })
}

// widthsOf the columns: each as wide as its widest text.
func widthsOf(shown []column, runs []sessions.Summary) []int {
	widths := make([]int, len(shown))
	for i, c := range shown {
		widths[i] = len(c.name)
		for _, r := range runs {
			if r.Problem == "" {
				widths[i] = max(widths[i], ui.Columns(c.text(&r)))
			}
		}
	}
	return widths
}

// taskRoom is to how much the names of tasks are cut before a column is left out.
const taskRoom = 20

func isTasks(c column) bool { return c.name == "TASKS" }

// wide is how many columns of the terminal they take, with two between them; names of
// tasks no more than so many.
func wide(shown []column, runs []sessions.Summary, tasks int) int {
	n := -2
	for i, w := range widthsOf(shown, runs) {
		if isTasks(shown[i]) {
			w = min(w, tasks)
		}
		n += w + 2
	}
	return n
}

// cell of the table, cut and filled to its width; nothing stands behind the last one.
func cell(b *strings.Builder, c column, text string, w int, last bool) {
	text = ui.CutTo(text, w)
	gap := strings.Repeat(" ", w-ui.Columns(text))
	switch {
	case c.right:
		b.WriteString(gap + text)
	case last:
		b.WriteString(text)
	default:
		b.WriteString(text + gap)
	}
	if !last {
		b.WriteString("  ")
	}
}
