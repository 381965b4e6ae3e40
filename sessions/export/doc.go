// Package export writes what a run recorded in the formats trainers read.
//
// In: a sessions.Reader and Options. Out: the rows on a writer or in a file
// with FILE.meta.json beside it, and a Summary that counts every row, and
// every trajectory that was left out, by its reason.
//
// Nothing is made up: an absent reward, logprob or token array is null, and
// only tokens the policy sampled of its own accord have mask 1.
package export

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"rollbench/sessions"
)

// Options of an export. The zero value writes whole prompts, leaves out
// intervened trajectories and drops those without a reward.
type Options struct {
	IncludeIntervened bool   `json:"include_intervened"`
	Prompt            string `json:"prompt"`     // full (also ""), delta
	OnMissing         string `json:"on_missing"` // drop (also ""), group, error
	Overwrite         bool   `json:"-"`          // File may replace what is there
}

// normal is the options with defaults filled in, or what is wrong with them.
func (o Options) normal() (Options, error) {
	if o.Prompt == "" {
		o.Prompt = "full"
	}
	if o.OnMissing == "" {
		o.OnMissing = "drop"
	}
	if o.Prompt != "full" && o.Prompt != "delta" {
		return o, fmt.Errorf("export: prompt is %q; it can be full or delta", o.Prompt)
	}
	if o.OnMissing != "drop" && o.OnMissing != "group" && o.OnMissing != "error" {
		return o, fmt.Errorf("export: on-missing is %q; it can be drop, group or error", o.OnMissing)
	}
	return o, nil
}

// formats by name.
var formats = map[string]func(context.Context, io.Writer, sessions.Reader, Options) (Summary, error){
	"transitions": Transitions,
}

// Formats are the names that Write and File know.
func Formats() []string {
	var names []string
	for name := range formats {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Write the run to w in the named format.
func Write(ctx context.Context, w io.Writer, format string, r sessions.Reader, opt Options) (Summary, error) {
	write, ok := formats[format]
	if !ok {
		return Summary{}, fmt.Errorf("export: no format %q; there is %s", format, strings.Join(Formats(), ", "))
	}
	return write(ctx, w, r, opt)
}
