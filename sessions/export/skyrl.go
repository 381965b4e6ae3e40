package export

// skyrl writes the rows of SkyRL's GeneratorOutput
// (skyrl/train/generators/base.py): one a trajectory, or one a reply. The
// columns that a trainer takes come from docs/exports/skyrl.py.
type skyrl struct {
	*lines
	sample
}

func (f *skyrl) trajectory(c chosen, replies []reply) error {
	if f.opt.Rows == "step" {
		return f.samples(c, f.cut(replies, true), &f.sample, func() error { return f.row(c, true) })
	}
	return f.whole(c, replies, &f.sample, func() error { return f.row(c, false) })
}

// row: step-wise, the last row of a trajectory carries its reward and the
// others 0, from which the trainer spreads one advantage over all of them
// (docs/content/docs/tutorials/step-wise-training.mdx). Only sampled tokens
// are responses there, as in SkyRL's Harbor generator
// (examples/train_integrations/harbor/harbor_generator.py).
func (f *skyrl) row(c chosen, step bool) error {
	last := f.rest == 0
	reward, stop := *c.Reward, stopReason(c)
	if !last {
		reward, stop = 0, "complete"
	}
	o := f.object()
	o.open("trajectory_id")        // TrajectoryID(instance_id, repetition_id) of skyrl/train/generators/base.py
	o.text("instance_id", c.group) // trainers group by it, so that forks have one of their own
	o.integer("repetition_id", c.ID)
	o.close()
	o.ids("prompt_token_ids", f.prompt)
	o.ids("response_ids", f.response)
	o.ids("loss_mask", f.mask)
	o.floats("rollout_logprobs", f.logprobs)
	o.float("reward", &reward)
	o.text("stop_reason", stop)
	if step {
		o.boolean("is_last_step", last)
	} else {
		o.null("is_last_step")
	}
	o.spans("spans", f.spans)
	o.about(c)
	return f.end(o)
}

// stopReason of a trajectory's last row. apply_overlong_filtering
// (skyrl/train/generators/utils.py) keeps "stop" alone: so what trains has
// "stop", and what is masked its reason.
func stopReason(c chosen) string {
	if reason := c.mask(); reason != "" {
		return reason
	}
	return "stop"
}
