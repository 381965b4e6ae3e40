package ui

// Columns that a text takes on the terminal, for those who print without a screen.
func Columns(text string) int { return width(text) }

// CutTo makes a text fit into n columns, with a … where something is gone.
func CutTo(text string, n int) string { return cut(text, n) }
