package ui

import (
	"strings"
	"unicode/utf8"
)

// row is one screen row of a text: text[row.from:row.to]. Offsets instead of
// strings keep a 10 MB observation at 16 bytes a row.
type row struct{ from, to int }

// wrap cuts clean text into rows of at most w columns. A row ends at a space
// where there is one in its second half.
func wrap(text string, w int) []row {
	if w < 1 {
		w = 1
	}
	text = strings.TrimRight(text, "\n")
	rows := make([]row, 0, len(text)/w+strings.Count(text, "\n")+1)
	for from := 0; from <= len(text); {
		end := strings.IndexByte(text[from:], '\n')
		if end < 0 {
			end = len(text)
		} else {
			end += from
		}
		rows = wrapLine(rows, text, from, end, w)
		from = end + 1
	}
	return rows
}

// wrapLine takes one line of the text, without its newline.
func wrapLine(rows []row, text string, from, end, w int) []row {
	for end-from > w {
		h, _ := head(text[from:end], w)
		stop := from + len(h)
		if stop == end {
			break
		}
		if stop == from { // a wide rune in a single column: draw it cut
			_, n := utf8.DecodeRuneInString(text[from:end])
			if stop += n; stop == end {
				break
			}
		}
		next := stop
		if text[stop] == ' ' {
			next = stop + 1
		} else if i := strings.LastIndexByte(text[from:stop], ' '); i > (stop-from)/2 {
			stop, next = from+i, from+i+1
		}
		rows = append(rows, row{from, stop})
		from = next
	}
	return append(rows, row{from, end})
}
