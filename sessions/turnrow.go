package sessions

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// turnRow is a turn as its table rows hold it, all but the prompt: that is
// encoded by the writer, who knows the turn before.
type turnRow struct {
	body     []byte // JSON without free texts and token arrays
	texts    []byte
	output   []byte // nil when absent, as logprobs
	logprobs []byte
	parts    []part    // of texts, that may echo the turn before
	sums     []textSum // of the observations
}

func encodeTurn(t *Turn) (turnRow, error) {
	if t.Logprobs != nil && t.OutputIDs != nil && len(t.Logprobs) != len(t.OutputIDs) {
		return turnRow{}, fmt.Errorf("turn %d of %s has %d logprobs for %d output ids; they must match, or be absent", t.Index, t.Key, len(t.Logprobs), len(t.OutputIDs))
	}
	c := detach(t)
	row := turnRow{output: encodeIDs(t.OutputIDs), logprobs: encodeLogprobs(t.Logprobs)}
	c.PromptIDs, c.OutputIDs, c.Logprobs = nil, nil, nil
	row.texts = []byte{}
	row.sums = sumsOf(c.Observations)
	contents := map[*string]int{}
	for i := range c.New {
		contents[&c.New[i].Content] = i
	}
	for _, s := range texts(c) {
		from := len(row.texts)
		row.texts = binary.AppendUvarint(row.texts, uint64(len(*s)))
		row.texts = append(row.texts, *s...)
		if i, ok := contents[s]; ok && len(*s) >= minEcho {
			row.parts = append(row.parts, part{i, from, len(row.texts), sha256.Sum256([]byte(*s))})
		}
		*s = ""
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		return turnRow{}, fmt.Errorf("encode turn %d of %s: %w", t.Index, t.Key, err)
	}
	row.body = bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	return row, nil
}

func decodeTurn(body, packed []byte) (Turn, []echo, error) {
	var stored struct {
		Turn
		Echo []echo `json:"echo"`
	}
	if err := json.Unmarshal(body, &stored); err != nil {
		return stored.Turn, nil, err
	}
	t := stored.Turn
	if string(t.Sampling) == "null" {
		t.Sampling = nil
	}
	for _, s := range texts(&t) {
		n, used := binary.Uvarint(packed)
		if used <= 0 || n > uint64(len(packed)-used) {
			return t, nil, errTexts
		}
		*s = string(packed[used : used+int(n)])
		packed = packed[used+int(n):]
	}
	return t, stored.Echo, nil
}

// texts are the turn's free texts in the order in which they are packed.
func texts(t *Turn) []*string {
	list := []*string{&t.Raw, &t.Reasoning, &t.Content}
	for i := range t.Calls {
		list = append(list, &t.Calls[i].Arguments)
	}
	for i := range t.New {
		m := &t.New[i]
		list = append(list, &m.Content, &m.Reasoning)
		for j := range m.Calls {
			list = append(list, &m.Calls[j].Arguments)
		}
	}
	for i := range t.Observations {
		list = append(list, &t.Observations[i].Text, &t.Observations[i].Before)
	}
	return list
}

// detach copies what encoding changes, so that the caller's turn stays as it is.
func detach(t *Turn) *Turn {
	c := *t
	c.Calls = slices.Clone(t.Calls)
	c.New = slices.Clone(t.New)
	for i := range c.New {
		c.New[i].Calls = slices.Clone(c.New[i].Calls)
	}
	c.Observations = slices.Clone(t.Observations)
	for i := range c.Observations {
		c.Observations[i].Started = plain(c.Observations[i].Started)
	}
	c.Started = plain(t.Started)
	return &c
}

// plain is the time as it comes back from the database: UTC, no monotonic clock.
func plain(t time.Time) time.Time { return t.UTC().Round(0) }
