package infer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// told is what both decoders are asked for.
type told struct {
	Text   string    `json:"text"`
	IDs    []int32   `json:"ids"`
	Logs   []float64 `json:"logs"`
	Count  *int      `json:"count"`
	Nested struct {
		Text string `json:"text"`
	} `json:"nested"`
}

func scanTold(data []byte) (out told, err error) {
	s := scanner{data: data}
	s.object(func(key []byte) {
		switch string(key) {
		case "text":
			out.Text = s.text()
		case "ids":
			out.IDs = s.ids()
		case "logs":
			s.array(func() { out.Logs = append(out.Logs, s.number()) })
		case "count":
			out.Count = s.count()
		case "nested":
			s.object(func(key []byte) {
				if string(key) == "text" {
					out.Nested.Text = s.text()
				} else {
					s.skip()
				}
			})
		default:
			s.skip()
		}
	})
	return out, s.end()
}

var scanned = []string{
	`{}`, `null`, ` { "text" : "a\n\u00e9\ud83d\ude00" , "ids" : [ 1 , 22 ] } `, `{"ids":[]}`, `{"ids":null,"count":0}`,
	`{"logs":[-0.5,0,-12.25,-0.1234567890123456789,-9999.0,0.30000000000000004]}`, `{"count":7,"x":[{"a":"]}\\\""},[1,[2]],true,false,1.5]}`,
	`{"nested":{"text":"in","y":{}},"text":"out"}`, `{"text":"\ud800"}`, "{\"text\":\"\xff\"}", `{"text":"</a>\\\\"}`,
	`{"logs":[0.000000000000000000000000001,123456789012345678901234567890]}`,
}

func TestScanner(t *testing.T) {
	for _, s := range scanned {
		ours, err1 := scanTold([]byte(s))
		var theirs told
		err2 := json.Unmarshal([]byte(s), &theirs)
		if err1 != nil || err2 != nil || !reflect.DeepEqual(ours, theirs) {
			t.Errorf("%s: %+v, %v; the standard decoder: %+v, %v", s, ours, err1, theirs, err2)
		}
	}
	for _, s := range []string{
		``, `{`, `{"text"}`, `{"text":}`, `{"text":"a}`, `{"text":"a",}`, `{"x":}`, `{"x":1,,"y":2}`, `{"ids":[1,]}`, `{"ids":[1 2]}`, `{"ids":[01]}`, `{"ids":[1.5]}`,
		`{"ids":[-1]}`, `{"ids":[2147483648]}`, `{"ids":[99999999999999999999]}`, `{"ids":{}}`, `{"logs":[01]}`, `{"logs":[1.]}`, `{"logs":[.5]}`, `{"logs":[1e]}`, `{"logs":[+1]}`,
		`{"logs":["1"]}`, `{"logs":[-]}`, `{"text":1}`, `{"count":-1}`, `[]`, `{} x`, `{"x":[}`, `{"x":{"y":[1,2}`, "{\"text\":\"a\nb\"}", `{"text":"\x"}`, `{"x":"\"}`,
	} {
		if out, err := scanTold([]byte(s)); err == nil {
			t.Errorf("%s was taken: %+v", s, out)
		}
	}
}

// What the standard decoder takes is skipped whole, and is the same value when
// it is asked for.
func FuzzScanner(f *testing.F) {
	for _, s := range append(scanned, `"a\u00e9\\"`, "\"\xff\"", `[-0.5,null,1e3]`, `-12.50`, `"]}"`) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		scan := func() *scanner { return &scanner{data: data} }
		if s := scan(); json.Valid(data) {
			if s.skip(); s.end() != nil {
				t.Fatalf("%q is not skipped: %v", data, s.err)
			}
		}
		var text string
		if s := scan(); json.Unmarshal(data, &text) == nil {
			if got := s.text(); got != text || s.end() != nil {
				t.Fatalf("%q is %q, %v", data, got, s.err)
			}
		}
		var numbers []*float64
		if s := scan(); json.Unmarshal(data, &numbers) == nil {
			at := 0
			s.array(func() {
				if got, want := s.number(), numbers[at]; want == nil != math.IsNaN(got) || want != nil && got != *want {
					t.Fatalf("%q holds %v at %d", data, got, at)
				}
				at++
			})
			if s.end() != nil || at != len(numbers) {
				t.Fatalf("%q has %d numbers, %v", data, at, s.err)
			}
		}
	})
}

// Numbers are read to the last bit, however they are written.
func FuzzNumber(f *testing.F) {
	for _, v := range []float64{0, -0.5, 1e-9, -9999, 5e-324, math.MaxFloat64, 0.1, -123456.789012345} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		for _, format := range []string{"%v", "%.20f", "%e", "%f", "%.3f"} {
			text := fmt.Sprintf(format, v)
			if strings.HasPrefix(text, "+") {
				continue
			}
			var want float64
			if err := json.Unmarshal([]byte(text), &want); err != nil {
				t.Fatal(err)
			}
			s := scanner{data: []byte(text)}
			got := s.number()
			if err := s.end(); err != nil || math.Float64bits(got) != math.Float64bits(want) {
				t.Fatalf("%s: %v, %v", text, got, err)
			}
		}
	})
}

// Of 19 digits one in some thousand lies all but between two numbers, where the
// rest of the division decides.
func TestRounding(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100_000 {
		text := fmt.Sprintf("%d.%017d", rng.IntN(100), rng.Int64N(1e17))
		want, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		s := scanner{data: []byte(text)}
		if got := s.number(); got != want || s.end() != nil {
			t.Fatalf("%s: %v, want %v, %v", text, got, want, s.err)
		}
	}
}

// Ids are written as the standard encoder does, and read back.
func FuzzIDs(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 255, 255, 255, 127})
	f.Fuzz(func(t *testing.T, data []byte) {
		ids := make([]int32, len(data)/4)
		for i := range ids {
			ids[i] = int32(uint32(data[4*i])|uint32(data[4*i+1])<<8|uint32(data[4*i+2])<<16|uint32(data[4*i+3])<<24) & math.MaxInt32
		}
		want, err := json.Marshal(ids)
		if err != nil {
			t.Fatal(err)
		}
		ours := appendIDs(nil, ids)
		if !bytes.Equal(ours, want) {
			t.Fatalf("%s, want %s", ours, want)
		}
		s := scanner{data: ours}
		if back := s.ids(); s.end() != nil || !reflect.DeepEqual(back, ids) {
			t.Fatalf("%s came back as %v, %v", ours, back, s.err)
		}
	})
}

// No answer of any server makes a reader panic, and what is taken is whole.
func FuzzContinuations(f *testing.F) {
	for _, name := range []string{"vllm_completions.json", "vllm_generate.json", "vllm_old_generate.json", "sglang_generate.json", "tinker_sample.json"} {
		f.Add(recorded(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := New(Options{BaseURL: "http://h"})
		if err != nil {
			t.Fatal(err)
		}
		for _, read := range []func([]byte, *builder) error{c.readChoices, c.readSGLang} {
			b := builder{sent: []int32{7, 8}}
			if read(data, &b) != nil {
				continue
			}
			checkReply(t, &b)
		}
		fut := future{client: c, request: goOn}
		if r, err := fut.reply(data); err == nil && r.Logprobs != nil && len(r.OutputIDs) != len(r.Logprobs) {
			t.Fatalf("%d ids but %d logprobs", len(r.OutputIDs), len(r.Logprobs))
		}
	})
}

func checkReply(t *testing.T, b *builder) {
	t.Helper()
	r, problem := b.reply()
	if problem != "" {
		return
	}
	if r.OutputIDs == nil || r.Logprobs != nil && len(r.OutputIDs) != len(r.Logprobs) || !reflect.DeepEqual(r.PromptIDs, []int32{7, 8}) {
		t.Fatalf("taken: %+v", r)
	}
	for _, p := range r.Logprobs {
		if math.IsNaN(p) || math.IsInf(p, 0) {
			t.Fatalf("a logprob is %v", p)
		}
	}
}

// longAnswer of /v1/completions in vLLM's shape: logprobs as Python writes
// 32-bit numbers.
func longAnswer(prompt []int32, output int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var ids []int32
	var tokens, numbers, offsets, top []string
	for i := range output {
		id := int32(i*7) % 151000
		p := fmt.Sprint(float64(float32(-rng.ExpFloat64() / 10)))
		ids = append(ids, id)
		tokens = append(tokens, fmt.Sprintf(`"token_id:%d"`, id))
		numbers, offsets = append(numbers, p), append(offsets, fmt.Sprint(4*i))
		top = append(top, fmt.Sprintf(`{"token_id:%d":%s}`, id, p))
	}
	list := func(s []string) string { return "[" + strings.Join(s, ",") + "]" }
	return fmt.Appendf(nil, `{"id":"cmpl-5c","object":"text_completion","created":1790000000,"model":"demo-8b","choices":[{"index":0,"text":%q,"logprobs":{"text_offset":%s,"token_logprobs":%s,"tokens":%s,"top_logprobs":%s},"finish_reason":"length","stop_reason":null,"token_ids":%s,"prompt_token_ids":%s}],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`,
		strings.Repeat("abcd", output), list(offsets), list(numbers), list(tokens), list(top), appendIDs(nil, ids), appendIDs(nil, prompt), len(prompt), output, len(prompt)+output)
}

func longPrompt(n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(i*7) % 151000
	}
	return ids
}

// A request is encoded and its answer decoded and checked. "prompt" has 32,768
// ids in the request and, echoed, in the answer, with a reply of 512; "reply"
// has 32,768 ids with logprobs in the answer.
func BenchmarkContinuation32k(b *testing.B) {
	for _, size := range []struct {
		name           string
		prompt, output int
	}{{"prompt", 32768, 512}, {"reply", 16, 32768}} {
		prompt := longPrompt(size.prompt)
		data := longAnswer(prompt, size.output)
		b.Run(size.name, func(b *testing.B) {
			c, err := New(Options{BaseURL: "http://h", Model: "demo-8b"})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				k, err := c.completionsCall(TokenRequest{Prompt: prompt, MaxTokens: size.output})
				if err != nil {
					b.Fatal(err)
				}
				build := builder{sent: k.sent}
				if err := k.read(data, &build); err != nil {
					b.Fatal(err)
				}
				if r, problem := build.reply(); problem != "" || len(r.OutputIDs) != size.output || len(r.Logprobs) != size.output {
					b.Fatal(problem)
				}
			}
		})
		// The same with encoding/json alone, for comparison.
		b.Run(size.name+"/standard", func(b *testing.B) {
			type body struct {
				Prompt []int32 `json:"prompt"`
			}
			type answer struct {
				Choices []struct {
					Text     string `json:"text"`
					Logprobs struct {
						Tokens []string  `json:"tokens"`
						Logs   []float64 `json:"token_logprobs"`
					} `json:"logprobs"`
					IDs    []int32 `json:"token_ids"`
					Prompt []int32 `json:"prompt_token_ids"`
				} `json:"choices"`
			}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := json.Marshal(body{prompt}); err != nil {
					b.Fatal(err)
				}
				var a answer
				if err := json.Unmarshal(data, &a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
