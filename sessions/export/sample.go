package export

import (
	"slices"

	"rollbench/sessions"
)

// sample is one training sequence: replies of which each prompt is the prompt
// and the output before it and new tokens of observations (SkyRL-Agent's
// transitions_to_training_data, skyrl-agent/skyrl_agent/functional/utils.py).
// The prompt is what stands before the first sampled token; the response ends
// with the last one. The arrays are reused: they are valid until the next one.
type sample struct {
	prompt, response []int32
	mask             []int32   // of the response: 1 trains
	logprobs         []float64 // 0 at observations; nil when they are left out
	spans            []span    // what was sampled
	rest             int       // samples of the trajectory that follow
}

// span of sampled tokens in a response: the turn, and the tokens from start up
// to end.
type span struct {
	Turn  int32 `json:"turn"`
	Start int32 `json:"start"`
	End   int32 `json:"end"`
}

// usable replies have what a row of token formats needs: sampled ids that
// follow known ones, and their logprobs unless these are left out (SkyRL takes
// rollout_logprobs for every row or for none: the validation in
// skyrl/train/utils/trainer_utils.py). Any other reply has no row. It stays in
// the prompts of those after it, and ends the sample: its tokens are neither
// the policy's nor an observation.
func (l *lines) usable(r reply) bool {
	return r.Source == sessions.FromModel && r.PromptIDs != nil && len(r.OutputIDs) > 0 &&
		(r.logprobs != nil || l.opt.Logprobs == "omit")
}

// cut the replies into samples: each is a run of usable replies that extend
// one another; with steps, each reply is one.
func (l *lines) cut(replies []reply, steps bool) [][]reply {
	var samples [][]reply
	ended := true
	for i, r := range replies {
		switch {
		case r.empty():
			continue // no token was added: the prompts say whether they go on
		case !l.usable(r):
			ended = true
			continue
		}
		if ended || steps || r.NewSample || !extends(r.Turn, samples[len(samples)-1]) {
			samples = append(samples, nil)
		}
		ended = false
		samples[len(samples)-1] = append(samples[len(samples)-1], replies[i])
	}
	// What only the parent of a fork sampled is in the parent's own samples.
	return slices.DeleteFunc(samples, func(s []reply) bool { return s[len(s)-1].parents })
}

// extends reports whether the prompt begins with that of the last of the
// replies and its output.
func extends(t *sessions.Turn, replies []reply) bool {
	last := replies[len(replies)-1]
	n := len(last.PromptIDs)
	return commonPrefix(last.PromptIDs, t.PromptIDs) == n && commonPrefix(last.OutputIDs, t.PromptIDs[n:]) == len(last.OutputIDs)
}

// merge the replies of one sample. Every token of a masked trajectory, every
// observation, every reply that a person picked and every one from before a fork
// has mask 0; observations
// have 0.0 in the place of a logprob (skyrl/train/generators/base.py,
// verl/experimental/agent_loop/agent_loop.py).
func (s *sample) merge(c chosen, replies []reply, logprobs bool) {
	s.prompt = replies[0].PromptIDs
	s.response, s.mask, s.logprobs, s.spans = s.response[:0], s.mask[:0], s.logprobs[:0], s.spans[:0]
	for _, r := range replies {
		observed := r.PromptIDs[len(s.prompt)+len(s.response):]
		start := len(s.response) + len(observed)
		s.response = append(append(s.response, observed...), r.OutputIDs...)
		s.mask = fill(fill(s.mask, len(observed), false), len(r.OutputIDs), c.mask() == "" && r.trains())
		s.spans = append(s.spans, span{int32(r.Index), int32(start), int32(len(s.response))})
		if logprobs {
			s.logprobs = append(append(s.logprobs, make([]float64, len(observed))...), r.logprobs...)
		}
	}
	if !logprobs {
		s.logprobs = nil
	}
}

// samples calls fn with each sample of the trajectory; a trajectory without
// one is counted.
func (l *lines) samples(c chosen, cuts [][]reply, s *sample, fn func() error) error {
	if len(cuts) == 0 {
		l.sum.NoTokens++
		return nil
	}
	for i, part := range cuts {
		s.rest = len(cuts) - 1 - i
		s.merge(c, part, l.opt.Logprobs != "omit")
		l.tokens(s.mask)
		l.sum.NewSamples++
		if err := fn(); err != nil {
			return err
		}
	}
	return nil
}

// whole is samples for formats with one row a trajectory. A trajectory with
// several samples is counted and has no row: a trainer would count its reward
// as often as it has rows.
func (l *lines) whole(c chosen, replies []reply, s *sample, fn func() error) error {
	cuts := l.cut(replies, false)
	if len(cuts) > 1 {
		l.sum.Broken++
		return nil
	}
	return l.samples(c, cuts, s, fn)
}

// spans are written as [[turn, start, end], …].
func (o *object) spans(name string, list []span) {
	o.key(name)
	o.b = append(o.b, '[')
	for i, s := range list {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = append(o.b, '[')
		o.b = append(appendInt(o.b, uint32(s.Turn)), ',')
		o.b = append(appendInt(o.b, uint32(s.Start)), ',')
		o.b = append(appendInt(o.b, uint32(s.End)), ']')
	}
	o.b = append(o.b, ']')
}

// about ends a row with what is known of its trajectory; trainers do not ask.
func (o *object) about(c chosen) {
	o.float("advantage", c.advantage)
	o.textOrNull("finish_reason", c.Finish)
	o.textOrNull("mask_reason", c.mask())
	o.boolean("intervened", c.Intervened)
}
