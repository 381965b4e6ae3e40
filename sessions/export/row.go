package export

import (
	"bytes"
	"encoding/json"
	"strconv"

	"rollbench/sessions"
)

// transition is one row. keep is how many tokens its prompt shares with the
// row before it; fresh says that it starts a sample.
type transition struct {
	chosen
	turn     *sessions.Turn
	did      []byte // interventions, encoded
	keep     int
	fresh    bool
	mask     []int32
	logprobs []float64
}

// write appends the row with all keys, always in this order (docs/exports.md).
// Arrays are written by hand: they are nearly all of an export.
func (l *lines) write(row transition) error {
	t := row.turn
	keep, prompt := 0, t.PromptIDs
	if l.delta && prompt != nil {
		keep, prompt = row.keep, prompt[row.keep:]
	}
	o := object{b: l.buf[:0]}
	o.text("run", l.run.ID)
	o.text("instance_id", t.Instance)
	o.integer("trajectory_id", t.ID)
	o.integer("attempt", t.Attempt)
	o.integer("turn", t.Index)
	if t.PromptIDs == nil {
		o.null("prompt_prefix_length")
	} else {
		o.integer("prompt_prefix_length", keep)
	}
	o.ids("prompt_token_ids", prompt)
	o.ids("output_token_ids", t.OutputIDs)
	o.floats("logprobs", row.logprobs)
	o.textOrNull("finish_reason", row.Finish)
	o.textOrNull("turn_finish_reason", t.Finish)
	o.float("reward", row.Reward)
	o.float("advantage", row.advantage)
	o.ids("loss_mask", row.mask)
	o.textOrNull("mask_reason", row.chosen.mask())
	o.boolean("intervened", row.Intervened)
	o.raw("interventions", row.did)
	o.boolean("new_sample", row.fresh)
	o.textOrNull("model", model(t, l.run))
	o.raw("sampling", t.Sampling)
	o.boolean("simulated", l.run.Simulate)
	o.textOrNull("source", string(t.Source))
	o.b = append(o.b, "}\n"...)
	l.buf = o.b
	if o.err != nil {
		return o.err
	}
	_, err := l.w.Write(o.b)
	return err
}

// model as the endpoint named it with the reply, else as the run asked for it.
func model(t *sessions.Turn, run sessions.Run) string {
	if t.Model != "" {
		return t.Model
	}
	return run.Model
}

// object is a JSON object being written.
type object struct {
	b   []byte
	err error
}

func (o *object) key(name string) {
	open := byte(',')
	if len(o.b) == 0 {
		open = '{'
	}
	o.b = append(o.b, open, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, '"', ':')
}

func (o *object) null(name string) {
	o.key(name)
	o.b = append(o.b, "null"...)
}

func (o *object) text(name, value string) {
	encoded, err := json.Marshal(value)
	if err != nil {
		o.err = err
	}
	o.key(name)
	o.b = append(o.b, encoded...)
}

func (o *object) textOrNull(name, value string) {
	if value == "" {
		o.null(name)
		return
	}
	o.text(name, value)
}

func (o *object) integer(name string, value int) {
	o.key(name)
	o.b = strconv.AppendInt(o.b, int64(value), 10)
}

func (o *object) boolean(name string, value bool) {
	o.key(name)
	o.b = strconv.AppendBool(o.b, value)
}

// float writes the shortest text that reads back as the same value.
func (o *object) float(name string, value *float64) {
	if value == nil {
		o.null(name)
		return
	}
	o.key(name)
	o.b = strconv.AppendFloat(o.b, *value, 'g', -1, 64)
}

func (o *object) floats(name string, values []float64) {
	if values == nil {
		o.null(name)
		return
	}
	o.key(name)
	o.b = append(o.b, '[')
	for i, v := range values {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = strconv.AppendFloat(o.b, v, 'g', -1, 64)
	}
	o.b = append(o.b, ']')
}

func (o *object) ids(name string, values []int32) {
	if values == nil {
		o.null(name)
		return
	}
	o.key(name)
	o.b = append(o.b, '[')
	for i, v := range values {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = strconv.AppendInt(o.b, int64(v), 10)
	}
	o.b = append(o.b, ']')
}

// raw is JSON text, brought onto one line.
func (o *object) raw(name string, value json.RawMessage) {
	if len(value) == 0 {
		o.null(name)
		return
	}
	var line bytes.Buffer
	if err := json.Compact(&line, value); err != nil {
		o.err = err
	}
	o.key(name)
	o.b = append(o.b, line.Bytes()...)
}
