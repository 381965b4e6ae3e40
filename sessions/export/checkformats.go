package export

import (
	"context"
	"io"
	"slices"

	"rollbench/sessions"
	"rollbench/sessions/export/parquet"
)

func (c *checker) transition(r transitionRow) {
	if c.missing("reward", r.Reward) {
		return
	}
	c.member(sessions.Key{Instance: r.Instance, ID: r.ID}, r.Reward, r.about)
	c.advantage(r.Advantage)
	if r.Run != c.meta.Run || r.Simulated != c.meta.Simulated {
		c.fail("run %q, simulated %v: the meta says %q, %v", r.Run, r.Simulated, c.meta.Run, c.meta.Simulated)
	}
	c.turns(r.Turn)
	c.ids("prompt_token_ids", r.Prompt)
	c.ids("output_token_ids", r.Output)
	c.trains(r.LossMask, len(r.Output), r.about)
	if r.Logprobs != nil && len(r.Logprobs) != len(r.Output) {
		c.fail("%d logprobs for %d tokens", len(r.Logprobs), len(r.Output))
	}
	sampled := r.Source != nil && *r.Source == string(sessions.FromModel)
	switch {
	case !sampled && (r.Logprobs != nil || slices.Contains(r.LossMask, 1)):
		c.fail("a reply that nobody sampled has logprobs, or trains")
	case sampled && r.LossMask != nil:
		c.sampled(0, int32(len(r.LossMask)), r.LossMask, r.about)
	}
	c.prefix(r)
}

// prefix rebuilds the prompt and compares it with the row before.
func (c *checker) prefix(r transitionRow) {
	if r.NewSample {
		c.samples++
	} else if c.part == 1 {
		c.fail("the first row of %s is no new sample", c.key)
	}
	if r.Prompt == nil || r.Prefix == nil {
		if r.Prompt != nil || r.Prefix != nil {
			c.fail("prompt_token_ids and prompt_prefix_length: one is null")
		}
		return
	}
	keep := *r.Prefix
	if keep < 0 || keep > len(c.sequence) || keep > 0 && c.meta.Options.Prompt != "delta" {
		c.fail("prompt_prefix_length is %d, with %d tokens before it", keep, len(c.sequence))
		return
	}
	prompt := slices.Concat(c.sequence[:keep], r.Prompt)
	if same := commonPrefix(c.sequence, prompt); !r.NewSample && same < len(c.sequence) {
		c.fail("the prompt differs from the row before at position %d, and is no new sample", same)
	}
	c.sequence = append(prompt, r.Output...)
}

func (c *checker) skyrl(r skyrlRow) {
	if c.missing("reward", r.Reward) {
		return
	}
	last := r.Last == nil || *r.Last
	reward := r.Reward
	if !last {
		reward = nil
	}
	c.member(sessions.Key{Instance: r.ID.Instance, ID: r.ID.Repetition}, reward, r.about)
	c.advantage(r.Advantage)
	switch step := c.meta.Options.Rows == "step"; {
	case step != (r.Last != nil):
		c.fail("is_last_step does not fit rows %s", c.meta.Options.Rows)
	case !step && c.part > 1:
		c.fail("a second row of %s", c.key)
	case step && c.ended:
		c.fail("a row of %s after its is_last_step", c.key)
	case step && len(r.Spans) != 1:
		c.fail("%d replies in one step", len(r.Spans))
	}
	c.ended = last
	want := "stop"
	switch {
	case !last:
		want = "complete"
		if *r.Reward != 0 {
			c.fail("reward %v before the last step", *r.Reward)
		}
	case r.Mask != nil:
		want = *r.Mask
	}
	if r.Stop != want {
		c.fail("stop_reason is %q, want %q", r.Stop, want)
	}
	c.response(r.Prompt, r.Response, r.LossMask, r.Logprobs, r.Spans, r.about)
}

func (c *checker) verl(r verlRow) {
	if c.missing("reward_score", r.Reward) {
		return
	}
	c.member(sessions.Key{Instance: r.Instance, ID: r.ID}, r.Reward, r.about)
	c.advantage(r.Advantage)
	if c.part > 1 {
		c.fail("a second row of %s", c.key)
	}
	if p, ok := c.place[c.key]; ok && r.UID != c.meta.Run+"/"+p.group.name() {
		c.fail("uid is %q, want %q", r.UID, c.meta.Run+"/"+p.group.name())
	}
	if r.Turns != 2*len(r.Spans) {
		c.fail("num_turns is %d with %d replies", r.Turns, len(r.Spans))
	}
	if len(r.Scores) != len(r.Response) {
		c.fail("%d rm_scores for %d tokens", len(r.Scores), len(r.Response))
	}
	for i, s := range r.Scores {
		want := 0.0
		if i == len(r.Scores)-1 {
			want = *r.Reward
			if c.meta.Format == "verl-parquet" {
				want = float64(float32(want))
			}
		}
		if s != want {
			c.fail("rm_scores[%d] is %v, want %v", i, s, want)
			break
		}
	}
	c.response(r.Prompt, r.Response, r.LossMask, r.Logprobs, r.Spans, r.about)
}

// table checks a Parquet file.
func (c *checker) table(ctx context.Context, r io.ReaderAt, size int64) error {
	err := parquet.Read(r, size, verlColumns, func(v []parquet.Value) error {
		c.line++
		c.verl(verlRow{UID: v[0].Text, Instance: v[1].Text, ID: int(v[2].Int), Prompt: v[3].Ints, Response: v[4].Ints, LossMask: v[5].Ints,
			Logprobs: wide(v[6]), Scores: wide(v[7]), Reward: &v[8].Double, Turns: int(v[9].Int), Spans: triples(v[10].Ints),
			about: about{Advantage: orNil(v[11], v[11].Double), Finish: orNil(v[12], v[12].Text), Mask: orNil(v[13], v[13].Text), Intervened: v[14].Bool}})
		return ctx.Err()
	})
	if err != nil && ctx.Err() == nil {
		c.line++
		c.fail("unreadable: %v", err)
		return nil
	}
	return err
}

func wide(v parquet.Value) []float64 {
	if v.Null {
		return nil
	}
	out := make([]float64, len(v.Floats))
	for i, f := range v.Floats {
		out[i] = float64(f)
	}
	return out
}

func orNil[T any](v parquet.Value, value T) *T {
	if v.Null {
		return nil
	}
	return &value
}

// triples of a flat list; a rest becomes a short one.
func triples(flat []int32) [][]int32 { return slices.Collect(slices.Chunk(flat, 3)) }

// tinker rebuilds the tokens and holds every loss input against them, one
// position further.
func (c *checker) tinker(r tinkerRow) {
	if c.missing("reward", r.Reward) || c.missing("advantage", r.Advantage) {
		return
	}
	c.member(sessions.Key{Instance: r.Instance, ID: r.ID}, r.Reward, r.about)
	c.advantage(r.Advantage)
	if r.Sample != c.part-1 {
		c.fail("sample %d, want %d", r.Sample, c.part-1)
	}
	loss := &r.Datum.Loss
	if len(r.Datum.Input.Chunks) != 1 || r.Datum.Input.Chunks[0].Type != "encoded_text" {
		c.fail("model_input is not one chunk of encoded_text")
		return
	}
	in, targets := r.Datum.Input.Chunks[0].Tokens, loss.Targets.Data
	n := len(in)
	shape(c, "target_tokens", loss.Targets, "int64", n)
	shape(c, "logprobs", loss.Logprobs, "float32", n)
	shape(c, "advantages", loss.Advantages, "float32", n)
	if len(targets) != n || len(loss.Logprobs.Data) != n || len(loss.Advantages.Data) != n || n == 0 {
		return
	}
	if !slices.Equal(in[1:], targets[:n-1]) {
		c.fail("target_tokens are not the tokens of model_input, one position further")
	}
	if r.Prompt < 1 || r.Prompt > n || len(r.LossMask) != n+1-r.Prompt {
		c.fail("prompt_length %d and %d masks for %d tokens", r.Prompt, len(r.LossMask), n+1)
		return
	}
	at := r.Prompt - 1 // where the response's first token is the target
	for i, a := range loss.Advantages.Data {
		want := 0.0
		if i >= at && r.LossMask[i-at] == 1 {
			want = *r.Advantage
		}
		if a != want || i < at && loss.Logprobs.Data[i] != 0 {
			c.fail("position %d: advantage %v, want %v, logprob %v", i, a, want, loss.Logprobs.Data[i])
			break
		}
	}
	c.response(in[:r.Prompt], targets[at:], r.LossMask, loss.Logprobs.Data[at:], r.Spans, r.about)
}

func shape[T any](c *checker, name string, t tensor[T], kind string, n int) {
	if t.Type != kind || len(t.Data) != n || len(t.Shape) != 1 || t.Shape[0] != n {
		c.fail("%s: %d of %s in shape %v, want %d of %s", name, len(t.Data), t.Type, t.Shape, n, kind)
	}
}

// chat: roles and calls follow one another, only assistant messages have a
// weight, and the last message is one.
func (c *checker) chat(r chatRow) {
	if c.missing("reward", r.Reward) {
		return
	}
	c.member(sessions.Key{Instance: r.Instance, ID: r.ID}, r.Reward, r.about)
	c.advantage(r.Advantage)
	if c.part > 1 {
		c.fail("a second row of %s", c.key)
	}
	if r.Mask != nil {
		c.fail("a conversation that is masked (%s)", *r.Mask)
	}
	if n := len(r.Messages); n < 2 || r.Messages[0].Role == "assistant" || r.Messages[n-1].Role != "assistant" {
		c.fail("the conversation of %d messages does not go from a prompt to a reply", n)
	}
	asked := map[string]bool{}
	before := c.messages
	for i, m := range r.Messages {
		// Examples of a task stand before the first reply, and the user goes on.
		example := c.messages == before && i+1 < len(r.Messages) && r.Messages[i+1].Role == "user"
		c.message(i, m, asked, r.Intervened || example)
	}
	if c.messages == before {
		c.fail("no message trains")
	}
}

func (c *checker) message(i int, m message, asked map[string]bool, untrained bool) {
	switch {
	case m.Role == "assistant":
		if m.Weight == nil || *m.Weight != 0 && *m.Weight != 1 {
			c.fail("message %d has no weight of 0 or 1", i)
			return
		}
		c.messages += *m.Weight
		if empty := m.Content == "" && m.Reasoning == "" && len(m.Calls) == 0; *m.Weight == 0 && !untrained && !empty {
			c.fail("message %d has weight 0, and the policy sampled it of its own accord", i)
		}
		for _, call := range m.Calls {
			asked[call.ID] = true
		}
	case !slices.Contains([]string{"system", "user", "tool"}, m.Role):
		c.fail("message %d has role %q", i, m.Role)
	case m.Weight != nil || m.Calls != nil:
		c.fail("message %d of role %s has a weight, or calls", i, m.Role)
	case m.Role == "tool" && !asked[m.ToolCallID]:
		c.fail("message %d answers call %q, which nobody made", i, m.ToolCallID)
	}
}
