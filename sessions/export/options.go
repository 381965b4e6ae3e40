package export

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"rollbench/sessions"
)

// Options of an export. The zero value writes whole prompts and whole
// trajectories with leave-one-out advantages, leaves out intervened
// trajectories and drops those without a reward.
type Options struct {
	IncludeIntervened bool   `json:"include_intervened"`
	OnMissing         string `json:"on_missing"` // drop (also ""), group, error
	Advantage         string `json:"advantage"`  // loo (also ""), mean, grpo, grpo-no-std
	Prompt            string `json:"prompt"`     // of transitions: full (also ""), delta
	Rows              string `json:"rows"`       // of skyrl: trajectory (also ""), step
	Logprobs          string `json:"logprobs"`   // of skyrl and verl: require (also ""), omit
	Tampered          string `json:"tampered"`   // with signs of tampering: keep (also ""), mask, drop

	// Filters: a trajectory is written when it passes all of them. They do not
	// change the group that advantages are computed in.
	Instances     []string `json:"instances"`      // globs; any of them
	Finish        []string `json:"finish_reasons"` // any of them
	Reward        []string `json:"reward"`         // comparisons like ">=0.5"; all of them
	ExcludeMasked bool     `json:"exclude_masked"`

	// Tools the policy was told of, as in a chat request; for chat, nil when
	// they are not known.
	Tools     json.RawMessage `json:"-"`
	Overwrite bool            `json:"-"` // File may replace what is there
}

// choice of an option: its values, the default first, and the formats it is
// of (none: all).
type choice struct {
	flag   string
	value  *string
	values []string
	of     []string
}

func (o *Options) choices() []choice {
	return []choice{
		{"on-missing", &o.OnMissing, []string{"drop", "group", "error"}, nil},
		{"advantage", &o.Advantage, []string{"loo", "mean", "grpo", "grpo-no-std"}, nil},
		{"prompt", &o.Prompt, []string{"full", "delta"}, []string{"transitions"}},
		{"rows", &o.Rows, []string{"trajectory", "step"}, []string{"skyrl"}},
		{"logprobs", &o.Logprobs, []string{"require", "omit"}, []string{"skyrl", "verl", "verl-parquet"}},
		{"tampered", &o.Tampered, []string{"keep", "mask", "drop"}, nil},
	}
}

// normal is the options with defaults filled in, or what is wrong with them.
func (o Options) normal(format string) (Options, error) {
	for _, c := range o.choices() {
		if *c.value == "" {
			*c.value = c.values[0]
		}
		if !slices.Contains(c.values, *c.value) {
			return o, fmt.Errorf("export: %s is %q; it can be %s", c.flag, *c.value, strings.Join(c.values, ", "))
		}
		if *c.value != c.values[0] && c.of != nil && !slices.Contains(c.of, format) {
			return o, fmt.Errorf("export: %s %s is for %s, not for %s", c.flag, *c.value, strings.Join(c.of, " and "), format)
		}
	}
	for _, g := range o.Instances {
		if _, err := path.Match(g, ""); err != nil {
			return o, fmt.Errorf("export: instance pattern %q: %w", g, err)
		}
	}
	for _, f := range o.Finish {
		if f != NoFinishReason && !slices.Contains(sessions.FinishReasons(), sessions.FinishReason(f)) {
			return o, fmt.Errorf("export: no finish reason %q; docs/exports.md has the table", f)
		}
	}
	for _, c := range o.Reward {
		if _, err := compare(c, 0); err != nil {
			return o, err
		}
	}
	return o, nil
}

// takesInstance reports whether the instance passes the filter.
func (o Options) takesInstance(id string) bool {
	return len(o.Instances) == 0 || slices.ContainsFunc(o.Instances, func(glob string) bool {
		ok, err := path.Match(glob, id)
		return ok && err == nil
	})
}

// takes reports whether a trajectory passes the other filters. An empty mask
// says that its tokens train.
func (o Options) takes(finish, mask string, reward float64) bool {
	if finish == "" {
		finish = NoFinishReason
	}
	if len(o.Finish) > 0 && !slices.Contains(o.Finish, finish) || o.ExcludeMasked && mask != "" {
		return false
	}
	for _, c := range o.Reward {
		if ok, err := compare(c, reward); err != nil || !ok {
			return false
		}
	}
	return true
}

// compare a reward by an expression: one of < <= > >= = != and a number.
func compare(expression string, reward float64) (bool, error) {
	text := strings.TrimSpace(expression)
	number := strings.TrimLeft(text, "<>=!")
	want, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err == nil {
		switch strings.TrimSuffix(text, number) {
		case "<":
			return reward < want, nil
		case "<=":
			return reward <= want, nil
		case ">":
			return reward > want, nil
		case ">=":
			return reward >= want, nil
		case "=", "==":
			return reward == want, nil
		case "!=":
			return reward != want, nil
		}
	}
	return false, fmt.Errorf("export: reward %q is no comparison: write one of < <= > >= = != and a number, as in '>0'", expression)
}
