package cli

import (
	"errors"
	"strings"
	"testing"
)

// The doctor's texts stay in their column where the terminal is narrow, and are one
// line each where they go elsewhere.
func TestDoctorWraps(t *testing.T) {
	checks := []check{{name: "images", detail: "none of them is here; a task runs locally", fix: "build them"}}
	for columns, want := range map[string]string{
		"":   "missing  images      none of them is here; a task runs locally\n                     fix: build them\nready: `rollbench` starts a run\n",
		"51": "missing  images      none of them is here; a task\n                     runs locally\n                     fix: build them\nready: `rollbench` starts a run\n",
	} {
		t.Setenv("COLUMNS", columns)
		var out strings.Builder
		if err := (&app{out: &out}).printChecks(checks); err != nil || out.String() != want {
			t.Errorf("%q columns: %v\n%s", columns, err, out.String())
		}
	}
}

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
