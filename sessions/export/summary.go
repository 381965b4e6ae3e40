package export

import (
	"fmt"
	"strings"

	"rollbench/sessions"
)

// Summary counts what an export wrote and what it left out, and why.
type Summary struct {
	Run          string `json:"run"`
	Format       string `json:"format"`
	Simulated    bool   `json:"simulated"`
	Rows         int    `json:"rows"`         // written
	Trajectories int    `json:"trajectories"` // with at least one row
	Groups       int    `json:"groups"`       // with at least one row
	Members      int    `json:"members"`      // trajectories of the run, of the set fixed at the start
	Forks        int    `json:"forks"`        // beside them

	// Trajectories left out, each counted once under the first that applies.
	Filtered     int `json:"left_out_filtered"` // by a filter of the options
	Unfinished   int `json:"left_out_unfinished"`
	Dropped      int `json:"left_out_dropped"`  // by a person
	LeftTampered int `json:"left_out_tampered"` // signs of tampering, with tampered=drop
	LeftForks    int `json:"left_out_forks"`    // not asked in, as intervened ones
	Intervened   int `json:"left_out_intervened"`
	Empty        int `json:"left_out_empty"` // no turn was made
	NoReward     int `json:"left_out_no_reward"`
	OfGroup      int `json:"left_out_with_group"`   // on-missing=group: another member has no reward
	Broken       int `json:"left_out_several"`      // several samples in a format with one row a trajectory
	NoTokens     int `json:"left_out_no_tokens"`    // no reply that could have a row
	NoAdvantage  int `json:"left_out_no_advantage"` // a group of one, in tinker
	LeftMasked   int `json:"left_out_masked"`       // masked, in chat

	// Baselines that teach nothing.
	GroupsOfOne int `json:"groups_of_one"`
	NoVariance  int `json:"groups_without_variance"`

	// Written trajectories whose tokens are kept out of the gradient, by reason.
	Masked int            `json:"masked"`
	Masks  map[string]int `json:"masks"`

	// Written trajectories with signs of tampering; which they are is in Meta.
	Tampered  int        `json:"tampered"`
	Tampering []Tampered `json:"-"`

	// Replies of the chosen trajectories.
	Superseded int `json:"replies_superseded"`       // not written
	NoOutput   int `json:"replies_without_output"`   // without a token
	TextOnly   int `json:"replies_without_ids"`      // the endpoint reported no output ids
	NoLogprobs int `json:"replies_without_logprobs"` // or with one that is no finite number
	Operator   int `json:"replies_by_operator"`      // made by a person, mask 0
	Picked     int `json:"replies_picked"`           // sampled, but chosen by a person, mask 0
	Parents    int `json:"replies_before_fork"`      // of a fork's parent, mask 0

	NewSamples    int `json:"samples"`
	OutputTokens  int `json:"output_tokens"`
	TrainTokens   int `json:"train_tokens"`       // with mask 1
	TrainMessages int `json:"train_messages"`     // of chat, with weight 1
	NoTools       int `json:"rows_without_tools"` // of chat: what the policy was told of is not known

	Metrics   map[string]float64 `json:"-"` // by SkyRL-Agent's names; these are in Meta
	PassAt    []PassAt           `json:"-"`
	Baselines []Group            `json:"-"`
}

// Tampered is a written trajectory with signs of tampering.
type Tampered struct {
	sessions.Key
	Signs []sessions.Sign `json:"signs"`
}

// wrote counts a trajectory that has rows.
func (s *Summary) wrote(c chosen) {
	s.Trajectories++
	if reason := c.mask(); reason != "" {
		s.Masked++
		s.Masks[reason]++
	}
	if len(c.Trajectory.Tampering) > 0 {
		s.Tampered++
		s.Tampering = append(s.Tampering, Tampered{c.Key, c.Trajectory.Tampering})
	}
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
	what, of := "row", "response" // with the observations in it
	if s.Format == "transitions" {
		what, of = "transition", "output"
	}
	text := fmt.Sprintf("%s of %s in %s, ", count(s.Rows, what), count(s.Trajectories, "trajectory"), count(s.Groups, "group"))
	if s.Format == "chat" {
		text += count(s.TrainMessages, "message") + " train"
	} else {
		text += fmt.Sprintf("%d of %d %s tokens train", s.TrainTokens, s.OutputTokens, of)
	}
	var out []string
	for _, c := range []struct {
		n    int
		what string
	}{
		{s.Masked, "masked"},
		{s.Tampered, "with signs of tampering (--tampered mask or drop)"},
		{s.Unfinished, "left out: unfinished"},
		{s.Dropped, "left out: dropped by a person"},
		{s.LeftTampered, "left out: signs of tampering"},
		{s.LeftForks, "left out: forks"},
		{s.Intervened, "left out: intervened"},
		{s.Empty, "left out: no turns"},
		{s.NoReward, "left out: no reward"},
		{s.OfGroup, "left out: group has a member without reward"},
		{s.Filtered, "left out: filtered"},
		{s.Broken, "left out: several samples (--format skyrl --rows step, or tinker, writes them)"},
		{s.NoTokens, "left out: no reply with token ids and logprobs"},
		{s.NoAdvantage, "left out: nobody to compare with"},
		{s.LeftMasked, "left out: masked"},
		{s.GroupsOfOne, "groups of one"},
		{s.NoVariance, "groups without variance"},
		{s.TextOnly, "replies without token ids"},
		{s.NoLogprobs, "replies without logprobs"},
		{s.NoTools, "rows without tools"},
	} {
		if c.n == 1 {
			c.what = ofOne.Replace(c.what)
		}
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

// ofOne words what stands behind a count of one.
var ofOne = strings.NewReplacer("groups of", "group of", "groups without", "group without", "replies without", "reply without", "rows without", "row without")
