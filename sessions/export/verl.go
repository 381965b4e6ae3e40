package export

import "rollbench/sessions/export/parquet"

// verl writes the fields that verl's agent loop gives its trainer
// (verl/experimental/agent_loop/agent_loop.py), unpadded, one row a
// trajectory. docs/exports/verl.py pads them to a batch.
type verl struct {
	*lines
	sample
	scores []float64
	table  *parquet.Writer // nil: JSON lines
}

func newVerlParquet(l *lines) format {
	return &verl{lines: l, table: parquet.NewWriter(l.w, verlColumns)}
}

// verlColumns of the Parquet file, with the types that the trainer's tensors
// have (ids int64 there, which 32 bits hold).
var verlColumns = []parquet.Column{
	{Name: "uid", Type: parquet.String},
	{Name: "instance_id", Type: parquet.String},
	{Name: "trajectory_id", Type: parquet.Int32},
	{Name: "prompts", Type: parquet.Int32, List: true},
	{Name: "responses", Type: parquet.Int32, List: true},
	{Name: "response_mask", Type: parquet.Int32, List: true},
	{Name: "rollout_log_probs", Type: parquet.Float, List: true, Optional: true},
	{Name: "rm_scores", Type: parquet.Float, List: true},
	{Name: "reward_score", Type: parquet.Double},
	{Name: "num_turns", Type: parquet.Int32},
	{Name: "spans", Type: parquet.Int32, List: true},
	{Name: "advantage", Type: parquet.Double, Optional: true},
	{Name: "finish_reason", Type: parquet.String, Optional: true},
	{Name: "mask_reason", Type: parquet.String, Optional: true},
	{Name: "intervened", Type: parquet.Bool},
}

func (f *verl) trajectory(c chosen, replies []reply) error {
	return f.whole(c, replies, &f.sample, func() error {
		// The reward stands on the last token of the response.
		f.scores = append(f.scores[:0], make([]float64, len(f.response))...)
		f.scores[len(f.scores)-1] = *c.Reward
		if f.table != nil {
			return f.record(c)
		}
		return f.row(c)
	})
}

func (f *verl) finish() error {
	if f.table == nil {
		return nil
	}
	return f.table.Close()
}

// uid names the group of rows with one prompt, as the uuid that verl's trainer
// draws for each prompt does. Forks are a group of their own.
func (f *verl) uid(c chosen) string { return f.run.ID + "/" + c.group }

// turns of the chat as verl counts them (verl/experimental/agent_loop/
// tool_agent_loop.py): the instruction, the replies and the observations
// between them.
func (f *verl) turns() int { return 2 * len(f.spans) }

func (f *verl) row(c chosen) error {
	o := f.object()
	o.text("uid", f.uid(c))
	o.text("instance_id", c.Instance)
	o.integer("trajectory_id", c.ID)
	o.ids("prompts", f.prompt)
	o.ids("responses", f.response)
	o.ids("response_mask", f.mask)
	o.floats("rollout_log_probs", f.logprobs)
	o.floats("rm_scores", f.scores)
	o.float("reward_score", c.Reward)
	o.integer("num_turns", f.turns())
	o.spans("spans", f.spans)
	o.about(c)
	return f.end(o)
}

// record is row for the Parquet file: spans are a flat list there.
func (f *verl) record(c chosen) error {
	f.sum.Rows++
	w := f.table
	w.Text(f.uid(c))
	w.Text(c.Instance)
	w.Int(int32(c.ID))
	w.Ints(f.prompt)
	w.Ints(f.response)
	w.Ints(f.mask)
	w.Floats(f.logprobs)
	w.Floats(f.scores)
	w.Double(c.Reward)
	w.Int(int32(f.turns()))
	var flat []int32
	for _, s := range f.spans {
		flat = append(flat, s.Turn, s.Start, s.End)
	}
	w.Ints(flat)
	w.Double(c.advantage)
	w.TextOrNull(c.Finish)
	w.TextOrNull(c.mask())
	w.Bool(c.Intervened)
	return w.EndRow()
}
