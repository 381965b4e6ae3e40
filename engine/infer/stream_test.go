package infer

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func readEvents(r io.Reader) (out []string, err error) {
	in := newEvents(r)
	for {
		data, err := in.next()
		if err != nil {
			return out, err
		}
		out = append(out, string(data))
	}
}

func TestEvents(t *testing.T) {
	cases := []struct {
		in   string
		want []string
		err  error
	}{
		{"", nil, io.EOF},
		{"data: a\n\ndata:b\n\n", []string{"a", "b"}, io.EOF},
		{"data: a\r\n\r\n", []string{"a"}, io.EOF},
		{": ping\n\nevent: x\nid: 1\ndata: a\ndata: b\n\n", []string{"a\nb"}, io.EOF},
		{"\n\n\ndata:\n\n", []string{""}, io.EOF},
		{"data: a\n", nil, io.ErrUnexpectedEOF},
		{"data: a\n\ndata: b", []string{"a"}, io.ErrUnexpectedEOF},
		{"data:  two spaces\n\n", []string{" two spaces"}, io.EOF},
		{"data: " + strings.Repeat("x", 50000) + "\n\n", []string{strings.Repeat("x", 50000)}, io.EOF},
	}
	for _, c := range cases {
		got, err := readEvents(strings.NewReader(c.in))
		if !reflect.DeepEqual(got, c.want) || !errors.Is(err, c.err) {
			t.Errorf("%.60q: %.60q, %v; want %.60q, %v", c.in, got, err, c.want, c.err)
		}
	}
}

// However a stream is cut into reads, its events are the same; and no stream
// makes the reader of replies panic.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"))
	f.Add([]byte("data: a\r\n\r\n: x\n\ndata"))
	f.Add([]byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":-1}]},\"logprobs\":{\"content\":[{\"bytes\":[999,-1],\"logprob\":1e308}]},\"token_ids\":[1,]}]}\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, err1 := readEvents(bytes.NewReader(data))
		bytewise, err2 := readEvents(iotest.OneByteReader(bytes.NewReader(data)))
		if !reflect.DeepEqual(whole, bytewise) || (err1 == nil) != (err2 == nil) {
			t.Fatalf("%q, %v but byte by byte %q, %v", whole, err1, bytewise, err2)
		}
		b := builder{}
		for _, event := range whole {
			var a answer
			if decodeAnswer([]byte(event), &a) == nil {
				b.add(&a)
			}
		}
		if r, problem := b.reply(); problem == "" && r.OutputIDs != nil && r.Logprobs != nil && len(r.OutputIDs) != len(r.Logprobs) {
			t.Fatalf("%d ids but %d logprobs", len(r.OutputIDs), len(r.Logprobs))
		}
	})
}

func FuzzTokenIDs(f *testing.F) {
	for _, s := range []string{"[]", "[1, 2]", "null", "[2147483647]", "[2147483648]", "[1.5]", "[-1]", "{}", "[[1]]", "\"a\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkTokenIDs(t, data) })
}
