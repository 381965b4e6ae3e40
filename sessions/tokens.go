package sessions

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Token arrays are stored as blobs of one format byte and the values. A nil
// array is NULL, an empty one is the format byte alone, so the two never mix.
//
//	ids       1, then each id as the uvarint of its 32 bits
//	logprobs  1, then each value as the 8 bytes of its IEEE 754 bits, little-endian
//	prompt    1, uvarint keep, then the ids after the first keep tokens of the
//	          sequence before it (previous prompt + output of the attempt)
const blobFormat = 1

var errBlob = errors.New("token blob is damaged")

func encodeIDs(ids []int32) []byte {
	if ids == nil {
		return nil
	}
	return appendIDs(append(make([]byte, 0, 1+3*len(ids)), blobFormat), ids)
}

func appendIDs(b []byte, ids []int32) []byte {
	for _, id := range ids {
		b = binary.AppendUvarint(b, uint64(uint32(id)))
	}
	return b
}

func decodeIDs(blob []byte) ([]int32, error) {
	if blob == nil {
		return nil, nil
	}
	rest, err := body(blob)
	if err != nil {
		return nil, err
	}
	return decodeInto(make([]int32, 0, len(rest)), rest)
}

// decodeInto appends the ids of rest to ids.
func decodeInto(ids []int32, rest []byte) ([]int32, error) {
	for len(rest) > 0 {
		v, n := binary.Uvarint(rest)
		if n <= 0 || v > math.MaxUint32 {
			return nil, errBlob
		}
		ids, rest = append(ids, int32(uint32(v))), rest[n:]
	}
	return ids, nil
}

func encodeLogprobs(values []float64) []byte {
	if values == nil {
		return nil
	}
	b := append(make([]byte, 0, 1+8*len(values)), blobFormat)
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

func decodeLogprobs(blob []byte) ([]float64, error) {
	if blob == nil {
		return nil, nil
	}
	rest, err := body(blob)
	if err != nil {
		return nil, err
	}
	if len(rest)%8 != 0 {
		return nil, errBlob
	}
	values := make([]float64, 0, len(rest)/8)
	for ; len(rest) > 0; rest = rest[8:] {
		values = append(values, math.Float64frombits(binary.LittleEndian.Uint64(rest)))
	}
	return values, nil
}

func encodePrompt(before, prompt []int32) []byte {
	if prompt == nil {
		return nil
	}
	keep := commonPrefix(before, prompt)
	b := append(make([]byte, 0, 8+3*(len(prompt)-keep)), blobFormat)
	b = binary.AppendUvarint(b, uint64(keep))
	return appendIDs(b, prompt[keep:])
}

// chain rebuilds prompts in turn order. Prompts that extend the sequence share
// one growing array, so n turns cost the memory of the last one, not of all.
type chain struct {
	seq []int32 // the last prompt and its output
}

// next decodes a prompt blob and returns the whole prompt; nil when the
// endpoint reported none, which leaves the sequence as it was.
func (c *chain) next(blob []byte, output []int32) ([]int32, error) {
	if blob == nil {
		return nil, nil
	}
	rest, err := body(blob)
	if err != nil {
		return nil, err
	}
	keep, n := binary.Uvarint(rest)
	if n <= 0 || keep > uint64(len(c.seq)) {
		return nil, fmt.Errorf("%w: it refers to %d tokens before it, there are %d", errBlob, keep, len(c.seq))
	}
	seq := c.seq
	if int(keep) < len(seq) { // earlier prompts still show the tokens after keep: leave them alone
		seq = append(make([]int32, 0, int(keep)+len(rest)+len(output)), seq[:keep]...)
	}
	if seq, err = decodeInto(seq, rest[n:]); err != nil {
		return nil, err
	}
	if seq == nil {
		seq = []int32{}
	}
	prompt := seq[:len(seq):len(seq)]
	c.seq = append(seq, output...)
	return prompt, nil
}

func body(blob []byte) ([]byte, error) {
	if len(blob) == 0 || blob[0] != blobFormat {
		return nil, errBlob
	}
	return blob[1:], nil
}

func commonPrefix(a, b []int32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
