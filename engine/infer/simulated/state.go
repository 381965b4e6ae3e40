package simulated

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// outcome of the last test run since the last edit.
type outcome int

const (
	untested outcome = iota
	passed
	failed
)

// state is what the policy decides by. It is derived from the conversation
// alone, so the same conversation always meets the same policy.
type state struct {
	conversation
	task      *Task
	edits     []progress
	script    outcome  // of the reference script, when there is one
	looks     int      // searches and views
	asked     []string // terms that were searched for
	tests     outcome
	testRuns  int
	malformed bool // the last reply held no usable call
	left      int  // steps that remain, −1 when nobody said so
	hurry     bool // told that the budget runs low
}

func readState(c conversation, t *Task) *state {
	s := &state{conversation: c, task: t, left: -1}
	for _, e := range t.Edits {
		p := progress{Edit: e, now: e.Old}
		p.Create = e.Create || e.Old == "" && !e.Delete
		s.edits = append(s.edits, p)
	}
	for i := range c.turns {
		s.follow(&c.turns[i])
	}
	if n := len(c.turns); n > 0 {
		last := &c.turns[n-1]
		s.readHints(append(slices.Clone(last.results), last.users...))
	} else {
		s.readHints([]string{c.task})
	}
	return s
}

// follow one exchange.
func (s *state) follow(e *exchange) {
	s.malformed = len(e.reply.calls) == 0
	for k, c := range e.reply.calls {
		if k >= len(e.results) {
			return // it was not run
		}
		args, ok := s.valid(c)
		if !ok {
			s.malformed = true
			continue
		}
		s.apply(c.name, args, e.results[k])
	}
}

// valid decodes a call's arguments and checks their names.
func (s *state) valid(c call) (map[string]any, bool) {
	spec, ok := s.tool(c.name)
	if !ok {
		return nil, false
	}
	var args map[string]any
	if json.Unmarshal([]byte(c.arguments), &args) != nil {
		return nil, false
	}
	for name := range args {
		if !spec.has(name) {
			return nil, false
		}
	}
	return args, true
}

func (s *state) apply(name string, args map[string]any, result string) {
	text := func(key string) string { v, _ := args[key].(string); return v } // other types: absent
	command := text("command")
	switch {
	case name == "search":
		s.looks++
		terms, _ := args["search_terms"].([]any)
		for _, t := range terms {
			if term, ok := t.(string); ok {
				s.asked = append(s.asked, term)
			}
		}
	case name == "str_replace_editor" && command == "view":
		s.looks++
	case name == "str_replace_editor":
		s.edited(command, text("path"), text("old_str"), text("new_str"), text("file_text"), result)
	case slices.Contains(bashNames, name):
		s.ran(command, result)
	}
}

func (s *state) edited(command, file, old, new, whole, result string) {
	for i := range s.edits {
		p := &s.edits[i]
		if s.task.abs(p.Path) != file {
			continue
		}
		switch {
		case command == "create" && p.Create:
			s.settle(p, whole, editFailed(result))
			return
		case command == "str_replace" && !p.Delete && old == p.now:
			s.settle(p, new, editFailed(result))
			return
		}
	}
}

// settle what an attempt at an edit left behind.
func (s *state) settle(p *progress, text string, fails bool) {
	if fails {
		p.failed++
		return
	}
	p.now, p.exists, p.failed = text, p.Create, 0
	p.done = text == p.New
	s.tests = untested
}

// ran follows a command the policy itself would give.
func (s *state) ran(command, result string) {
	code, known := exitCode(result)
	fails := known && code != 0 || !known && editFailed(result)
	for i := range s.edits {
		p := &s.edits[i]
		if p.Delete && command == s.deleteCommand(p) {
			if s.settle(p, p.New, fails); !fails {
				p.done = true
			}
			return
		}
		for _, text := range append(p.wrongTexts(), p.New) {
			if !p.Delete && command == s.editCommand(p, text) {
				s.settle(p, text, fails)
				return
			}
		}
	}
	switch {
	case s.task.Script != "" && command == scriptCommand(s.task.Script):
		s.tests, s.script = untested, passed
		if fails {
			s.script = failed
		}
	case s.isTest(command):
		s.testRuns++
		s.tests = passed
		if fails || !known && failureWord.MatchString(result) {
			s.tests = failed
		}
	default:
		s.looks++
	}
}

func (s *state) isTest(command string) bool {
	return s.task.TestCommand != "" && slices.Contains(s.testCommands(), command)
}

// done: the reference solution is in place, as far as the results tell.
func (s *state) done() bool {
	if len(s.edits) == 0 {
		return s.script == passed
	}
	return !slices.ContainsFunc(s.edits, func(p progress) bool { return !p.done })
}

// attempted: every edit was made, right or wrong.
func (s *state) attempted() bool {
	if len(s.edits) == 0 {
		return s.script != untested
	}
	return !slices.ContainsFunc(s.edits, func(p progress) bool { return !p.touched() })
}

var (
	exitPattern  = regexp.MustCompile(`(?i)(?:exit code:?|<returncode>)\s*(-?\d+)`)
	failureWord  = regexp.MustCompile(`(?m)\bFAIL|\bERROR\b|^Traceback|\berror:`)
	stepsPattern = regexp.MustCompile(`(?i)(?:steps?|turns?) (?:remaining|left):?\s*(\d+)|(\d+) (?:more )?(?:steps?|turns?) (?:remain|left)`)
	lastPattern  = regexp.MustCompile(`(?i)\blast (?:step|turn)\b`)
	lowPattern   = regexp.MustCompile(`(?i)running (?:low|out)|almost used up`)
)

// exitCode is the last one a command's result names.
func exitCode(result string) (code int, known bool) {
	all := exitPattern.FindAllStringSubmatch(tail(result, 400), -1)
	if len(all) == 0 {
		return 0, false
	}
	code, err := strconv.Atoi(all[len(all)-1][1])
	return code, err == nil
}

// editFailed judges an editor's result: its errors begin with the word.
func editFailed(result string) bool {
	start := strings.ToLower(strings.TrimSpace(result))
	for _, word := range []string{"error", "invalid", "no replacement", "traceback", `{"error"`, "rejected"} {
		if strings.HasPrefix(start, word) {
			return true
		}
	}
	return strings.Contains(result, "[Error occurred")
}

// readHints looks for what a harness says of the budget, at the texts' ends.
func (s *state) readHints(texts []string) {
	for _, text := range texts {
		text = tail(text, 400)
		if m := stepsPattern.FindStringSubmatch(text); m != nil {
			if n, err := strconv.Atoi(m[1] + m[2]); err == nil {
				s.left = n
			}
		}
		if lastPattern.MatchString(text) {
			s.left = 1
		}
		s.hurry = s.hurry || lowPattern.MatchString(text)
	}
}

func tail(text string, n int) string { return text[max(0, len(text)-n):] }
