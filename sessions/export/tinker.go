package export

// tinker writes Tinker's Datum (thinking-machines-lab/tinker 160ee7aa,
// src/tinker/types/_pydantic_types/tensor_data.py), one a sample: the
// advantage of a trajectory is the same on all of its samples
// (skyrl-agent/skyrl_agent/integrations/tinker/tinker_train.py), so a
// trajectory may have several.
type tinker struct {
	*lines
	sample
	sequence   []int32
	advantages []float64
}

func (f *tinker) trajectory(c chosen, replies []reply) error {
	if c.advantage == nil { // a Datum has no place for an absent advantage
		f.sum.NoAdvantage++
		return nil
	}
	number := 0
	return f.samples(c, f.cut(replies, false), &f.sample, func() error {
		number++
		return f.row(c, number-1)
	})
}

// row: the model reads all tokens but the last, and every loss input is the
// array of all tokens without its first entry (tinker_cookbook/supervised/
// common.py). A prompt of no token would leave the first sampled one without
// a place; no endpoint has one.
func (f *tinker) row(c chosen, number int) error {
	f.sequence = append(append(f.sequence[:0], f.prompt...), f.response...)
	f.advantages = f.advantages[:0]
	for _, m := range f.mask {
		a := 0.0
		if m > 0 {
			a = *c.advantage
		}
		f.advantages = append(f.advantages, a)
	}
	o := f.object()
	o.text("instance_id", c.Instance)
	o.integer("trajectory_id", c.ID)
	o.integer("sample", number)
	o.open("datum")
	o.open("model_input")
	o.chunk(f.sequence[:len(f.sequence)-1])
	o.close()
	o.open("loss_fn_inputs")
	targets := f.sequence[1:]
	o.tensor("target_tokens", "int64", len(targets), func() { o.ids("data", targets) })
	o.tensor("logprobs", "float32", len(targets), func() { o.shifted(len(f.prompt), f.logprobs) })
	o.tensor("advantages", "float32", len(targets), func() { o.shifted(len(f.prompt), f.advantages) })
	o.close()
	o.close()
	o.ids("mask", f.mask)
	o.integer("prompt_length", len(f.prompt))
	o.float("reward", c.Reward)
	o.spans("spans", f.spans)
	o.about(c)
	return f.end(o)
}

// chunk is model_input.chunks with one chunk of text.
func (o *object) chunk(tokens []int32) {
	o.key("chunks")
	o.b = append(o.b, `[{"type":"encoded_text"`...)
	o.ids("tokens", tokens)
	o.b = append(o.b, "}]"...)
}

func (o *object) tensor(name, dtype string, n int, data func()) {
	o.open(name)
	data()
	o.text("dtype", dtype)
	o.ids("shape", []int32{int32(n)})
	o.close()
}

// shifted is a prompt's zeros and the values of the response, without the
// first entry.
func (o *object) shifted(prompt int, values []float64) {
	o.key("data")
	b := append(o.b, '[')
	if prompt == 0 {
		values = values[1:]
	}
	for i := range max(prompt-1, 0) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '0')
	}
	for i, v := range values {
		if i > 0 || prompt > 1 {
			b = append(b, ',')
		}
		b = appendFloat(b, v)
	}
	o.b = append(b, ']')
}
