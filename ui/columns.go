package ui

// Columns that a text takes on the terminal, for those who print without a screen.
func Columns(text string) int { return width(text) }

// CutTo makes a text fit into n columns, with a … where something is gone.
func CutTo(text string, n int) string { return cut(text, n) }

// Wrap a text into lines of at most n columns, at blanks where there are any near.
func Wrap(text string, n int) []string {
	var out []string
	for _, r := range wrap(text, n) {
		out = append(out, text[r.from:r.to])
	}
	return out
}
