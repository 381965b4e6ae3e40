package export

import (
	"fmt"
	"strings"
)

// Summary counts what an export wrote and what it left out, and why.
type Summary struct {
	Run          string `json:"run"`
	Format       string `json:"format"`
	Simulated    bool   `json:"simulated"`
	Rows         int    `json:"rows"`         // transitions written
	Trajectories int    `json:"trajectories"` // with at least one row
	Groups       int    `json:"groups"`       // with at least one row
	Members      int    `json:"members"`      // trajectories of the run

	// Trajectories left out, each counted once under the first that applies.
	Unfinished int `json:"left_out_unfinished"`
	Intervened int `json:"left_out_intervened"`
	Empty      int `json:"left_out_empty"` // no turn was made
	NoReward   int `json:"left_out_no_reward"`
	OfGroup    int `json:"left_out_with_group"` // on-missing=group: another member has no reward

	// Written trajectories whose tokens are kept out of the gradient, by reason.
	Masked int            `json:"masked"`
	Masks  map[string]int `json:"masks"`

	// Turns.
	Superseded   int `json:"turns_superseded"`     // not written
	NoOutput     int `json:"turns_without_output"` // not written: the reply had no token
	TextOnly     int `json:"rows_without_ids"`     // the endpoint reported no output ids
	NoLogprobs   int `json:"rows_without_logprobs"`
	Operator     int `json:"rows_by_operator"` // made by a person, mask 0
	Picked       int `json:"rows_picked"`      // sampled, but chosen by a person, mask 0
	NewSamples   int `json:"samples"`          // rows that start a sample
	OutputTokens int `json:"output_tokens"`
	TrainTokens  int `json:"train_tokens"` // with mask 1
}

func count(n int, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "y"):
		what = strings.TrimSuffix(what, "y") + "ies"
	default:
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// String is the summary on one line.
func (s Summary) String() string {
	text := fmt.Sprintf("%s of %s in %s, %d of %d output tokens train", count(s.Rows, "transition"), count(s.Trajectories, "trajectory"), count(s.Groups, "group"), s.TrainTokens, s.OutputTokens)
	var out []string
	for _, c := range []struct {
		n    int
		what string
	}{
		{s.Masked, "masked"},
		{s.Unfinished, "left out: unfinished"},
		{s.Intervened, "left out: intervened"},
		{s.Empty, "left out: no turns"},
		{s.NoReward, "left out: no reward"},
		{s.OfGroup, "left out: group has a member without reward"},
		{s.TextOnly, "rows without token ids"},
	} {
		if c.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if len(out) > 0 {
		text += "; " + strings.Join(out, ", ")
	}
	if s.Simulated {
		text += " (simulated)"
	}
	return text
}
