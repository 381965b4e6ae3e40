package tools

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Rule allows or denies calls before they run. Of all rules the first that a
// call matches decides; a call that none matches is allowed.
type Rule struct {
	Deny     bool
	Tool     string // glob on the tool's name; "": every tool
	Argument string // whose value Pattern is looked for in; "": the JSON of all arguments
	Pattern  string // regular expression (RE2), found anywhere in the value; "": always
}

// rule is a Rule made ready.
type rule struct {
	Rule
	number  int // from 1
	pattern *regexp.Regexp
}

// compileRules also finds rules that could never match, since a misspelt one
// would allow what it was to deny. Where not all tools are known yet (partly)
// nothing can be said of that.
func compileRules(rules []Rule, entries []entry, partly bool) ([]rule, error) {
	var out []rule
	for i, r := range rules {
		if r.Tool == "" {
			r.Tool = "*"
		}
		c := rule{Rule: r, number: i + 1}
		wrong := func(format string, args ...any) error {
			return fmt.Errorf("rule %d (%s): %s", c.number, c.verb(), fmt.Sprintf(format, args...))
		}
		if _, err := path.Match(r.Tool, ""); err != nil {
			return nil, wrong("tool %q is no glob: write it like execute_bash or web_*", r.Tool)
		}
		var names []string
		known := false
		for _, e := range entries {
			names = append(names, e.spec.Name)
			s := e.schema.Schema()
			known = known || c.covers(e.spec.Name) && takes(s, r.Argument)
		}
		switch {
		case partly:
		case !slices.ContainsFunc(names, c.covers):
			return nil, wrong("no enabled tool matches %q: there are %s", r.Tool, strings.Join(names, ", "))
		case !known:
			return nil, wrong("no tool that matches %q has an argument %q", r.Tool, r.Argument)
		}
		var err error
		if c.pattern, err = regexp.Compile(r.Pattern); err != nil {
			return nil, wrong("pattern: %v", err)
		}
		out = append(out, c)
	}
	return out, nil
}

func takes(s *jsonschema.Schema, argument string) bool {
	return argument == "" || s.Properties[argument] != nil || beyond(s, argument) != nil
}

func (r rule) covers(tool string) bool {
	ok, err := path.Match(r.Tool, tool)
	return ok && err == nil
}

func (r rule) verb() string {
	if r.Deny {
		return "deny"
	}
	return "allow"
}

// matches a call by its arguments as the tool would get them, so that no other
// spelling of their JSON gets past.
func (r rule) matches(tool string, args map[string]any) bool {
	if !r.covers(tool) {
		return false
	}
	if r.Argument == "" {
		return r.pattern.MatchString(asJSON(args))
	}
	value, given := args[r.Argument]
	if !given {
		return false
	}
	text, is := value.(string)
	if !is {
		text = asJSON(value)
	}
	return r.pattern.MatchString(text)
}

// String says which calls the rule is about.
func (r rule) String() string {
	where := "any call"
	switch {
	case r.Argument != "":
		where = fmt.Sprintf("argument %s matches %q", r.Argument, r.Pattern)
	case r.Pattern != "":
		where = fmt.Sprintf("the arguments match %q", r.Pattern)
	}
	return fmt.Sprintf("rule %d, %s %s: %s", r.number, r.verb(), r.Tool, where)
}

// deniedError is a call that a rule forbids, in words for the model.
type deniedError string

func (e deniedError) Error() string { return string(e) }

// permit is the denial of a call, nil where it may run.
func (r *Registry) permit(tool string, args map[string]any) error {
	for _, rule := range r.rules {
		if rule.matches(tool, args) {
			if rule.Deny {
				return deniedError("ERROR: this call is not allowed and was not run (" + rule.String() + ").")
			}
			return nil
		}
	}
	return nil
}
