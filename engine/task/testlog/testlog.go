// Package testlog reads what test runners print and grades a run by it.
//
// In: the log of an evaluation, the name of a parser (or a repository), the
// names of the tests that must pass. Out: statuses by test name, and a Grade
// by the rules of the SWE-bench harness (v5), of SWE-smith, or of R2E-Gym.
// Everything is a pure function; time and memory grow with the log's size only.
package testlog

import (
	"fmt"
	"strings"
	"unicode"
)

// Status of one test in a log.
type Status string

// The statuses of the harness.
const (
	Passed  Status = "PASSED"
	Failed  Status = "FAILED"
	Skipped Status = "SKIPPED"
	Errored Status = "ERROR"
	XFailed Status = "XFAIL"
)

// Results are statuses by test name.
type Results map[string]Status

// bad reports whether any test failed or could not run.
func (r Results) bad() bool {
	for _, s := range r {
		if s == Failed || s == Errored {
			return true
		}
	}
	return false
}

// Parser reads the output of one kind of runner.
type Parser struct {
	Name string // as in the registry, without "parse_log_"
	read func(log string) Results
}

// Parse finds the statuses in a log. A name that occurs twice has its last status.
func (p Parser) Parse(log string) Results {
	return p.read(newlines(log))
}

// Row is what of a dataset row the choice of a parser may depend on.
type Row struct {
	InstanceID, Repo, Version string
	LogParser                 string // "" for rows older than that column
}

// Choose finds the parser of a row: the one it names, with or without
// "parse_log_", else its repository's, else pytest's. Three names stand for
// several formats, between which the instance or the version decides.
func Choose(row Row) (Parser, error) {
	name := strings.TrimPrefix(row.LogParser, "parse_log_")
	if name == "" {
		name = ForRepo(row.Repo)
	}
	read, known := parsers[name]
	if choose := variants[name]; choose != nil {
		variant, err := choose(row)
		if err != nil {
			return Parser{}, err
		}
		read, known = parsers[variant]
	}
	if !known {
		return Parser{}, fmt.Errorf("field \"log_parser\" is %q; it must be one of %s", row.LogParser, strings.Join(Names(), ", "))
	}
	return Parser{Name: name, read: read}, nil
}

// newlines makes every kind of line end "\n", as the harness does when it opens
// the log: what a progress bar overwrote is lines of its own.
func newlines(log string) string {
	if !strings.Contains(log, "\r") {
		return log
	}
	return strings.ReplaceAll(strings.ReplaceAll(log, "\r\n", "\n"), "\r", "\n")
}

// statusPrefix reports which status the text starts with.
func statusPrefix(text string) (Status, bool) {
	for _, s := range []Status{Passed, Failed, Skipped, Errored, XFailed} {
		if strings.HasPrefix(text, string(s)) {
			return s, true
		}
	}
	return "", false
}

// isStatus reports whether a word is a status and nothing more.
func isStatus(word string) bool {
	s, ok := statusPrefix(word)
	return ok && string(s) == word
}

func indentOf(line string) int {
	return len(line) - len(strings.TrimLeftFunc(line, unicode.IsSpace))
}

// symbols that stand for a status.
type symbols map[string]Status
