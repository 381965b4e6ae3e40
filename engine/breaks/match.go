package breaks

import (
	"encoding/json"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"rollbench/sessions"
	"rollbench/tools"
)

// Place is where a trajectory is, as far as conditions can ask.
type Place struct {
	Key   sessions.Key
	At    sessions.Gate
	Turn  int
	Share float64 // of the token budget that is used
	// Calls of the last reply, at after-reply and after-tool; Observations at
	// after-tool, in the order of the calls.
	Calls        []sessions.Call
	Observations []sessions.Observation
	Unread       bool                  // the reply begins a call that could not be read
	Finish       sessions.FinishReason // at before-eval
	Reward       *float64              // once the verifier has answered
	Met          []int                 // breakpoints that counted this place before: they pass it
}

// Match reports whether all terms are true at the place.
func (c *Condition) Match(p *Place) bool {
	if p.At != c.At || !c.in(p.Key) || !all(c.Turn, float64(p.Turn)) || !all(c.Context, p.Share) {
		return false
	}
	switch {
	case c.Reward != nil:
		return p.Reward != nil && all(c.Reward, *p.Reward)
	case c.At == sessions.BeforeEval && c.Errors:
		return c.Error == string(p.Finish)
	case c.Malformed && c.Tool == nil && c.Args == nil && c.Obs == nil && c.At == sessions.AfterReply && p.Unread:
		return true
	case c.Tool == nil && c.Args == nil && c.Obs == nil && !c.Errors && !c.Malformed:
		return true
	}
	for i := range p.Calls {
		if c.call(p, i) {
			return true
		}
	}
	return false
}

// call reports whether one call and its answer are what the terms ask for.
func (c *Condition) call(p *Place, i int) bool {
	call := &p.Calls[i]
	var o *sessions.Observation
	if c.At == sessions.AfterTool {
		if i >= len(p.Observations) {
			return false // it was not run
		}
		o = &p.Observations[i]
	}
	switch {
	case c.Tool != nil && !c.Tool.names(call.Name):
		return false
	case c.Args != nil && !c.Args.inArguments(call.Arguments):
		return false
	case c.Obs != nil && !c.Obs.re.MatchString(o.Text):
		return false
	case c.Errors && (o.Status == string(tools.OK) || c.Error != "" && c.Error != o.Status):
		return false
	case c.Malformed && o == nil && call.Problem == "", c.Malformed && o != nil && o.Status != string(tools.Invalid):
		return false
	}
	return true
}

func (c *Condition) in(k sessions.Key) bool {
	return c.In == "" || c.In == k.Instance || c.In == k.String()
}

func all(list []compare, n float64) bool {
	for _, x := range list {
		if !x.holds(n) {
			return false
		}
	}
	return true
}

func (x compare) holds(n float64) bool {
	switch x.op {
	case "=":
		return n == x.bound
	case ">=":
		return n >= x.bound
	case "<=":
		return n <= x.bound
	case ">":
		return n > x.bound
	}
	return n < x.bound
}

// names reports whether the pattern means the tool. The last word of a tool's
// name is a name of it: bash for execute_bash.
func (p *pattern) names(tool string) bool {
	if p.re != nil {
		return p.re.MatchString(tool)
	}
	return tool == p.text || strings.HasSuffix(tool, "_"+p.text)
}

// inArguments looks into the arguments as the policy wrote them, and into the
// texts that they stand for, where no quote or newline is escaped.
func (p *pattern) inArguments(arguments string) bool {
	if p.re.MatchString(arguments) {
		return true
	}
	var args map[string]any
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return false
	}
	for _, v := range args {
		if text, ok := v.(string); ok && p.re.MatchString(text) {
			return true
		}
	}
	return false
}

// String is the condition as Parse reads it.
func (c *Condition) String() string {
	var t []string
	add := func(on bool, text string) {
		if on {
			t = append(t, text)
		}
	}
	add(c.In != "", "in="+word(c.In))
	if c.Tool != nil && c.Tool.re == nil {
		t = append(t, "tool="+word(c.Tool.text))
	} else if c.Tool != nil {
		t = append(t, "tool~/"+c.Tool.text+"/")
	}
	if c.Args != nil {
		t = append(t, "args~/"+c.Args.text+"/")
	}
	if c.Obs != nil {
		t = append(t, "obs~/"+c.Obs.text+"/")
	}
	numbers := func(name string, list []compare) {
		for _, x := range list {
			t = append(t, name+x.op+strconv.FormatFloat(x.bound, 'g', -1, 64))
		}
	}
	numbers("turn", c.Turn)
	numbers("context", c.Context)
	numbers("reward", c.Reward)
	add(c.Errors && c.Error == "", "error")
	add(c.Error != "", "error="+c.Error)
	add(c.Malformed, "malformed")
	add(c.atGiven, "at="+string(c.At))
	add(c.Every > 1, "every="+strconv.Itoa(c.Every))
	add(c.Log, "log")
	return strings.Join(t, " ")
}

// word is a value as it must be written to be read again.
func word(s string) string {
	if bareWord.FindString(s) == s {
		return s
	}
	return strconv.Quote(s)
}

// ForCall is a breakpoint on the tool and, where a text of the arguments is
// given, on the beginning of it.
func ForCall(tool, arguments string) string {
	text := "tool=" + word(tool)
	if a := firstText(arguments); a != "" {
		text += " args~/" + escape(a) + "/"
	}
	return text
}

// ForAnswer is a breakpoint on the tool's answers that have the beginning of this
// line. Blanks in it stand for any: a tab is shown as several.
func ForAnswer(tool, line string) string {
	line = strings.TrimSpace(line)
	if line == "" {
		return "tool=" + word(tool)
	}
	if rest := numbered.ReplaceAllString(line, ""); rest != "" { // the line's number in its file may be another one
		line = rest
	}
	words := gaps.Split(string([]rune(line)[:min(len([]rune(line)), maxFirst)]), -1)
	for i := range words {
		words[i] = escape(words[i])
	}
	return "tool=" + word(tool) + " obs~/" + strings.Join(words, `\s+`) + "/"
}

// numbered is how a file's line begins where it is viewed.
var numbered = regexp.MustCompile(`^\d+(\s{2,}|\t)`)

// gaps are what is one blank to a reader, or looks like several.
var gaps = regexp.MustCompile(`\s{2,}|[^\S ]`)

// maxFirst is how much of a text a breakpoint made from a call asks for.
const maxFirst = 40

// firstText is the beginning of the first text among the arguments, by name; of
// an edit its path.
func firstText(arguments string) string {
	var args map[string]any
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return ""
	}
	if path, ok := args["path"].(string); ok { // which file says more than what is done to it
		return path
	}
	names := make([]string, 0, len(args))
	for name := range args {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		text, ok := args[name].(string)
		first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		if ok && first != "" {
			return string([]rune(first)[:min(len([]rune(first)), maxFirst)])
		}
	}
	return ""
}

// escape a text for an expression between slashes.
func escape(s string) string { return strings.ReplaceAll(regexp.QuoteMeta(s), "/", `\/`) }
