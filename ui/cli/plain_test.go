package cli

import (
	"errors"
	"strings"
	"testing"
)

// What an error quotes of a program, and what a line of progress does, brings no escape
// sequence to the terminal.
func TestNoEscapesOnTheTerminal(t *testing.T) {
	const hostile = "it wrote: \x1b[31mred\x1b]0;title\x07 \xc2\x9b2Jend"
	if got := oneLine(errors.New("MCP server s:\n" + hostile)); got != "MCP server s: it wrote: red end" {
		t.Errorf("%q", got)
	}
	var out strings.Builder
	a := &app{err: &out}
	a.progress("layer " + hostile)
	if got := out.String(); got != "layer it wrote: red end\n" {
		t.Errorf("%q", got)
	}
}
