package export

import (
	"encoding/json"

	"rollbench/sessions"
)

// transitions is one row a reply: its prompt, its tokens, and what is known of
// its trajectory.
type transitions struct{ *lines }

func (f transitions) trajectory(c chosen, replies []reply) error {
	if c.did == nil {
		c.did = []intervention{}
	}
	did, err := json.Marshal(c.did)
	if err != nil {
		return err
	}
	var prompt, output []int32 // of the last row that has a prompt
	first := true
	for _, r := range replies {
		if r.empty() {
			continue
		}
		keep := commonPrefix(prompt, r.PromptIDs)
		if keep == len(prompt) && len(r.PromptIDs) > keep {
			keep += commonPrefix(output, r.PromptIDs[keep:])
		}
		broken := r.PromptIDs != nil && keep < len(prompt)+len(output)
		fresh := first || r.NewSample || r.Source == sessions.FromOperator || broken
		if err := f.write(c, r, keep, fresh, did); err != nil {
			return err
		}
		first = false
		if r.PromptIDs != nil {
			prompt, output = r.PromptIDs, r.OutputIDs
		}
	}
	return nil
}

// write the row with all keys, always in this order (docs/exports.md). keep is
// how many tokens its prompt shares with the row before it; fresh says that it
// starts a sample.
func (f transitions) write(c chosen, r reply, keep int, fresh bool, did []byte) error {
	prompt := r.PromptIDs
	if f.opt.Prompt != "delta" || prompt == nil {
		keep = 0
	}
	o := f.object()
	o.text("run", f.run.ID)
	o.text("instance_id", r.Instance)
	o.integer("trajectory_id", r.ID)
	o.integer("attempt", r.Attempt)
	o.integer("turn", r.Index)
	if prompt == nil {
		o.null("prompt_prefix_length")
	} else {
		o.integer("prompt_prefix_length", keep)
	}
	o.ids("prompt_token_ids", prompt[keep:])
	o.ids("output_token_ids", r.OutputIDs)
	o.floats("logprobs", r.logprobs)
	o.textOrNull("finish_reason", c.Finish)
	o.textOrNull("turn_finish_reason", r.Finish)
	o.float("reward", c.Reward)
	o.float("advantage", c.advantage)
	mask := f.mask(c, r)
	o.ids("loss_mask", mask)
	o.textOrNull("mask_reason", c.mask())
	o.boolean("intervened", c.Intervened)
	o.raw("interventions", did)
	o.boolean("new_sample", fresh)
	o.textOrNull("model", f.model(r))
	o.raw("sampling", r.Sampling)
	o.boolean("simulated", f.run.Simulate)
	o.textOrNull("source", string(r.Source))
	if fresh {
		f.sum.NewSamples++
	}
	f.tokens(mask)
	return f.end(o)
}

// mask of the reply's tokens; nil when the endpoint reported none.
func (f transitions) mask(c chosen, r reply) []int32 {
	if r.OutputIDs == nil {
		return nil
	}
	f.masks = fill(f.masks[:0], len(r.OutputIDs), c.mask() == "" && r.trains())
	return f.masks
}

// model as the endpoint named it with the reply, else as the run asked for it.
func (l *lines) model(r reply) string {
	if r.Model != "" {
		return r.Model
	}
	return l.run.Model
}
