package breaks

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rollbench/sessions"
	"rollbench/tools"
)

// Condition is a breakpoint's text, read. All of its terms must be true at once.
type Condition struct {
	In        string // instance or instance#id, "" for all
	At        sessions.Gate
	Tool      *pattern
	Args, Obs *pattern
	Turn      []compare
	Context   []compare // share of the token budget that is used, 0…1
	Reward    []compare
	Errors    bool   // something went wrong
	Error     string // what; "" with Errors: anything
	Malformed bool
	Every     int // holds at every n-th match; 0 as 1
	Log       bool
	atGiven   bool
}

// pattern is a name, or an expression between slashes.
type pattern struct {
	text string
	re   *regexp.Regexp // nil: the name itself
}

// compare a number with a bound.
type compare struct {
	op    string
	bound float64
}

// maxText bounds a breakpoint: it is looked at on every turn of a run.
const maxText = 1000

// afterEval is where rewards are known: no gate, nothing is held there.
const afterEval sessions.Gate = ""

// gates in the order of a turn.
var gates = []sessions.Gate{sessions.BeforeModel, sessions.AfterReply, sessions.AfterTool, sessions.BeforeEval}

// kinds of errors that a call ends with.
var callErrors = []string{string(tools.Failed), string(tools.TimedOut), string(tools.Invalid), string(tools.Denied), string(tools.Cancelled), string(tools.Rejected)}

// Grammar says how a breakpoint is written, in a line.
const Grammar = `tool=bash  args~/rm -rf/  obs~/error/  turn>=5  context>80%  error=timeout  malformed  reward<1 log  at=after-tool  in=INSTANCE#0  every=3  log`

// Parse a breakpoint such as `tool=bash args~/rm -rf/ turn>=5 every=3 log`.
func Parse(text string) (*Condition, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("the breakpoint has %d bytes: %d are allowed", len(text), maxText)
	}
	c, seen := &Condition{}, map[string]bool{}
	for rest := strings.Trim(text, blanks); rest != ""; rest = strings.Trim(rest, blanks) {
		t, after, err := nextTerm(rest)
		if err != nil {
			return nil, err
		}
		if rest = after; seen[t.name] && t.name != "turn" && t.name != "context" && t.name != "reward" {
			return nil, fmt.Errorf("%s is given twice", t.name)
		}
		seen[t.name] = true
		if err := c.take(t); err != nil {
			return nil, err
		}
	}
	return c, c.settle()
}

// term is one word of the text: name, operator, value.
type term struct {
	name, op, value string
	slashes         bool // the value stood between slashes
}

const blanks = " \t\n\f\r"

var (
	termHead = regexp.MustCompile(`^([a-z]+)(>=|<=|=|~|>|<)?`)
	bareWord = regexp.MustCompile(`^[^\s"/][^\s]*`)
)

func nextTerm(s string) (t term, rest string, err error) {
	m := termHead.FindStringSubmatch(s)
	if m == nil {
		return t, "", fmt.Errorf("%s is no condition: %s", quote(s), Grammar)
	}
	t.name, t.op, rest = m[1], m[2], s[len(m[0]):]
	switch {
	case t.op == "":
	case strings.HasPrefix(rest, "/"):
		end := 1
		for end < len(rest) && rest[end] != '/' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(rest) {
			return t, "", fmt.Errorf("%s~ has no closing slash: write it between slashes, \\/ for a slash in it", t.name)
		}
		t.value, t.slashes, rest = rest[1:end], true, rest[end+1:]
	case strings.HasPrefix(rest, `"`):
		word, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return t, "", fmt.Errorf("%s has no closing quote", t.name)
		}
		if t.value, err = strconv.Unquote(word); err != nil {
			return t, "", fmt.Errorf("%s is not a quoted text: %w", quote(word), err)
		}
		rest = rest[len(word):]
	default:
		t.value = bareWord.FindString(rest)
		rest = rest[len(t.value):]
	}
	if rest != "" && strings.TrimLeft(rest, blanks) == rest {
		return t, "", fmt.Errorf("a space must follow %s: in %s", t.name, quote(s))
	}
	return t, rest, nil
}

// quote the beginning of a text, on one line.
func quote(s string) string {
	if r := []rune(s); len(r) > 30 {
		s = string(r[:30]) + "…"
	}
	return strconv.Quote(s)
}

// take a term into the condition.
func (c *Condition) take(t term) (err error) {
	switch t.name {
	case "tool":
		c.Tool, err = t.pattern(true)
	case "args":
		c.Args, err = t.pattern(false)
	case "obs":
		c.Obs, err = t.pattern(false)
	case "turn":
		c.Turn, err = t.number(c.Turn, 1)
	case "context":
		scale := 1.0
		if strings.HasSuffix(t.value, "%") {
			t.value, scale = strings.TrimSuffix(t.value, "%"), 0.01
		}
		c.Context, err = t.number(c.Context, scale)
	case "reward":
		c.Reward, err = t.number(c.Reward, 1)
	case "error":
		c.Errors = true
		c.Error, err = t.errorKind()
	case "malformed":
		c.Malformed, err = true, t.alone()
	case "log":
		c.Log, err = true, t.alone()
	case "every":
		if c.Every, err = strconv.Atoi(t.value); t.op != "=" || err != nil || c.Every < 1 {
			return errors.New("every takes a number from 1 on: every=3")
		}
	case "at":
		c.At, c.atGiven = sessions.Gate(t.value), true
		if t.op != "=" || !slices.Contains(gates, c.At) {
			return errors.New("at is one of before-model, after-reply, after-tool, before-eval: at=after-tool")
		}
	case "in":
		if c.In = t.value; t.op != "=" || t.value == "" {
			return errors.New("in takes an instance or a trajectory: in=flask-4045 or in=flask-4045#2")
		}
	default:
		return fmt.Errorf("%s is no condition: %s", t.name, Grammar)
	}
	return err
}

func (t term) alone() error {
	if t.op != "" {
		return fmt.Errorf("%s stands alone", t.name)
	}
	return nil
}

// pattern of a term. Only names may be compared as they are.
func (t term) pattern(names bool) (*pattern, error) {
	switch {
	case t.op == "~" && t.slashes && t.value != "":
		re, err := regexp.Compile(t.value)
		if err != nil {
			return nil, fmt.Errorf("%s~/%s/: %w", t.name, t.value, err)
		}
		return &pattern{t.value, re}, nil
	case names && t.op == "=" && !t.slashes && t.value != "":
		return &pattern{text: t.value}, nil
	case names:
		return nil, fmt.Errorf("%s takes a name or an expression: %s=bash or %s~/ba.*/", t.name, t.name, t.name)
	}
	return nil, fmt.Errorf("%s takes an expression between slashes: %s~/rm -rf/", t.name, t.name)
}

func (t term) number(list []compare, scale float64) ([]compare, error) {
	n, err := strconv.ParseFloat(t.value, 64)
	if err != nil || t.op == "" || t.op == "~" || n != n || n-n != 0 || t.slashes {
		return nil, fmt.Errorf("%s takes a comparison with a number: %s>=5", t.name, t.name)
	}
	return append(list, compare{t.op, n * scale}), nil
}

// errorKind is a status of a call, or a reason that the run stage ended for.
func (t term) errorKind() (string, error) {
	if t.op == "" {
		return "", nil
	}
	known := slices.Clone(callErrors)
	for _, r := range sessions.FinishReasons() {
		if failedEnd(r) {
			known = append(known, string(r))
		}
	}
	if t.op != "=" || !slices.Contains(known, t.value) {
		return "", fmt.Errorf("error is one of %s", strings.Join(known, ", "))
	}
	return t.value, nil
}

// failedEnd: the run stage ended so, and the gate before eval is still ahead.
func failedEnd(r sessions.FinishReason) bool {
	rule := r.Rule()
	return rule.Evaluated && rule.Masked && r != sessions.ForceFinished
}

// settle finds where the condition is looked at, and refuses what can never be.
func (c *Condition) settle() error {
	ofCall := c.Tool != nil || c.Args != nil || c.Malformed
	ofAnswer := c.Obs != nil || c.Errors && slices.Contains(append(callErrors, ""), c.Error)
	ofEnd := c.Errors && c.Error != "" && !ofAnswer
	if c.empty() {
		return errors.New("a breakpoint needs a condition: " + Grammar)
	}
	if c.Reward != nil {
		switch {
		case ofCall || ofAnswer || ofEnd || c.atGiven || c.Context != nil || c.Turn != nil:
			return errors.New("reward stands with in, every and log only: it is known when the trajectory is over")
		case !c.Log:
			return errors.New("a reward is known when nothing is left to hold: add log")
		}
		c.At = afterEval
		return nil
	}
	switch {
	case ofEnd && (ofCall || c.Obs != nil):
		return fmt.Errorf("error=%s is how the run stage ends: no call stands there", c.Error)
	case ofEnd && c.atGiven && c.At != sessions.BeforeEval:
		return fmt.Errorf("error=%s is known at before-eval", c.Error)
	case ofAnswer && c.atGiven && c.At != sessions.AfterTool:
		return errors.New("what a call answered is looked at at after-tool")
	case ofCall && c.atGiven && c.At != sessions.AfterReply && c.At != sessions.AfterTool:
		return errors.New("a call is looked at at after-reply or after-tool")
	case c.atGiven:
	case ofEnd:
		c.At = sessions.BeforeEval
	case ofAnswer:
		c.At = sessions.AfterTool
	case ofCall:
		c.At = sessions.AfterReply
	default:
		c.At = sessions.BeforeModel
	}
	return nil
}

// empty: it would be true everywhere, and nobody said where.
func (c *Condition) empty() bool {
	return c.Tool == nil && c.Args == nil && c.Obs == nil && c.Turn == nil && c.Context == nil && c.Reward == nil && !c.Errors && !c.Malformed && !c.atGiven
}
