package export

import (
	"encoding/json"
	"slices"
)

// The rows as the check reads them; docs/exports.md has their tables.
type (
	transitionRow struct {
		Run           string            `json:"run"`
		Instance      string            `json:"instance_id"`
		ID            int               `json:"trajectory_id"`
		Attempt       int               `json:"attempt"`
		Turn          int               `json:"turn"`
		Prefix        *int              `json:"prompt_prefix_length"`
		Prompt        []int32           `json:"prompt_token_ids"`
		Output        []int32           `json:"output_token_ids"`
		Logprobs      []float64         `json:"logprobs"`
		TurnFinish    *string           `json:"turn_finish_reason"`
		Reward        *float64          `json:"reward"`
		LossMask      []int32           `json:"loss_mask"`
		Interventions []json.RawMessage `json:"interventions"`
		NewSample     bool              `json:"new_sample"`
		Model         *string           `json:"model"`
		Sampling      json.RawMessage   `json:"sampling"`
		Simulated     bool              `json:"simulated"`
		Source        *string           `json:"source"`
		about
	}
	skyrlRow struct {
		ID struct {
			Instance   string `json:"instance_id"`
			Repetition int    `json:"repetition_id"`
		} `json:"trajectory_id"`
		Prompt   []int32   `json:"prompt_token_ids"`
		Response []int32   `json:"response_ids"`
		LossMask []int32   `json:"loss_mask"`
		Logprobs []float64 `json:"rollout_logprobs"`
		Reward   *float64  `json:"reward"`
		Stop     string    `json:"stop_reason"`
		Last     *bool     `json:"is_last_step"`
		Spans    [][]int32 `json:"spans"`
		about
	}
	verlRow struct {
		UID      string    `json:"uid"`
		Instance string    `json:"instance_id"`
		ID       int       `json:"trajectory_id"`
		Prompt   []int32   `json:"prompts"`
		Response []int32   `json:"responses"`
		LossMask []int32   `json:"response_mask"`
		Logprobs []float64 `json:"rollout_log_probs"`
		Scores   []float64 `json:"rm_scores"`
		Reward   *float64  `json:"reward_score"`
		Turns    int       `json:"num_turns"`
		Spans    [][]int32 `json:"spans"`
		about
	}
	tinkerRow struct {
		Instance string    `json:"instance_id"`
		ID       int       `json:"trajectory_id"`
		Sample   int       `json:"sample"`
		Datum    datum     `json:"datum"`
		LossMask []int32   `json:"mask"`
		Prompt   int       `json:"prompt_length"`
		Reward   *float64  `json:"reward"`
		Spans    [][]int32 `json:"spans"`
		about
	}
	datum struct {
		Input struct {
			Chunks []struct {
				Type   string  `json:"type"`
				Tokens []int32 `json:"tokens"`
			} `json:"chunks"`
		} `json:"model_input"`
		Loss struct {
			Targets    tensor[int32]   `json:"target_tokens"`
			Logprobs   tensor[float64] `json:"logprobs"`
			Advantages tensor[float64] `json:"advantages"`
		} `json:"loss_fn_inputs"`
	}
	tensor[T any] struct {
		Data  []T    `json:"data"`
		Type  string `json:"dtype"`
		Shape []int  `json:"shape"`
	}
	chatRow struct {
		Instance string          `json:"instance_id"`
		ID       int             `json:"trajectory_id"`
		Messages []message       `json:"messages"`
		Tools    json.RawMessage `json:"tools"`
		Reward   *float64        `json:"reward"`
		about
	}
)

// row checks one line.
func (c *checker) row(line []byte) {
	switch c.meta.Format {
	case "transitions":
		checkRow(c, line, c.transition)
	case "skyrl":
		checkRow(c, line, c.skyrl)
	case "verl":
		checkRow(c, line, c.verl)
	case "tinker":
		checkRow(c, line, c.tinker)
	case "chat":
		checkRow(c, line, c.chat)
	}
}

func checkRow[T any](c *checker, line []byte, fn func(T)) {
	var row T
	if err := decode(line, &row); err != nil {
		c.fail("unreadable: %v", err)
		return
	}
	fn(row)
}

// missing says that a key is null which may not be.
func (c *checker) missing(name string, value *float64) bool {
	if value == nil {
		c.fail("%s is null", name)
	}
	return value == nil
}

// ids are no negative numbers.
func (c *checker) ids(name string, ids []int32) {
	if i := slices.IndexFunc(ids, func(id int32) bool { return id < 0 }); i >= 0 {
		c.fail("%s[%d] is %d", name, i, ids[i])
	}
}

// trains checks a mask: one number a token, and nothing trains of a masked
// trajectory.
func (c *checker) trains(mask []int32, tokens int, a about) {
	if len(mask) != tokens {
		c.fail("%d masks for %d tokens", len(mask), tokens)
	}
	c.output += len(mask)
	for i, m := range mask {
		if m != 0 && m != 1 {
			c.fail("mask[%d] is %d", i, m)
			return
		}
		if m == 1 && a.Mask != nil {
			c.fail("mask[%d] is 1 in a trajectory that is masked (%s)", i, *a.Mask)
			return
		}
		c.train += int(m)
	}
}

// response checks the arrays of a merged row: every token was sampled or
// observed, as the spans say; only sampled ones train, all of a reply or none,
// and all of them where no person had a hand in it.
func (c *checker) response(prompt, response, mask []int32, logprobs []float64, spans [][]int32, a about) {
	c.samples++
	if len(prompt) == 0 {
		c.fail("no prompt")
	}
	c.ids("prompt", prompt)
	c.ids("response", response)
	c.trains(mask, len(response), a)
	switch omit := c.meta.Options.Logprobs == "omit"; {
	case omit && logprobs != nil:
		c.fail("logprobs, which were to be left out")
	case !omit && len(logprobs) != len(response):
		c.fail("%d logprobs for %d tokens", len(logprobs), len(response))
	}
	end := int32(0)
	for i, s := range spans {
		if len(s) != 3 || s[1] < end || i == 0 && s[1] != 0 || s[2] <= s[1] || int(s[2]) > len(response) {
			c.fail("span %v after token %d of %d", s, end, len(response))
			return
		}
		c.turns(int(s[0]))
		c.observed(end, s[1], mask, logprobs)
		c.sampled(s[1], s[2], mask, a)
		end = s[2]
	}
	if int(end) != len(response) {
		c.fail("the response goes on after its last sampled token: %d of %d", end, len(response))
	}
}

// turns of a trajectory go up.
func (c *checker) turns(turn int) {
	if turn <= c.turn {
		c.fail("turn %d after turn %d", turn, c.turn)
	}
	c.turn = turn
}

func (c *checker) observed(from, to int32, mask []int32, logprobs []float64) {
	for i := from; i < to && int(i) < len(mask); i++ {
		if mask[i] != 0 {
			c.fail("mask[%d] is 1, and nobody sampled it", i)
			return
		}
		if int(i) < len(logprobs) && logprobs[i] != 0 {
			c.fail("logprob[%d] is %v, and nobody sampled it", i, logprobs[i])
			return
		}
	}
}

func (c *checker) sampled(from, to int32, mask []int32, a about) {
	for i := from; i < to && int(i) < len(mask); i++ {
		if mask[i] != mask[from] {
			c.fail("mask[%d] is %d, and %d at the start of the reply", i, mask[i], mask[from])
			return
		}
	}
	if int(from) < len(mask) && mask[from] == 0 && a.Mask == nil && !a.Intervened {
		c.fail("mask[%d] is 0, and the policy sampled it of its own accord", from)
	}
}
