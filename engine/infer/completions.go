package infer

import (
	"context"
	"fmt"
	"math/rand/v2"
)

// tokenSettings are what both of vLLM's ways to continue ids take.
type tokenSettings struct {
	Sampling
	StopIDs   []int32 `json:"stop_token_ids,omitempty"`
	MaxTokens int     `json:"max_tokens"`
	Logprobs  int     `json:"logprobs"` // 0: of the sampled token alone
	// For the text to be that of all ids, the end of the turn included.
	SkipSpecial   bool `json:"skip_special_tokens"`
	SpacesBetween bool `json:"spaces_between_special_tokens"`
	IncludeStop   bool `json:"include_stop_str_in_output"`
}

func (r TokenRequest) settings() tokenSettings {
	return tokenSettings{Sampling: r.Sampling, StopIDs: r.StopIDs, MaxTokens: r.MaxTokens, IncludeStop: true}
}

// streamFields are how vLLM is asked for a stream.
type streamFields struct {
	Stream        bool           `json:"stream,omitempty"`
	StreamOptions *streamOptions `json:"stream_options,omitempty"`
}

func (r TokenRequest) streamed() streamFields {
	if r.Stream == nil {
		return streamFields{}
	}
	return streamFields{true, &streamOptions{IncludeUsage: true}}
}

// splice encodes an object and puts ids before its fields: head opens it up to
// the ids, tail closes what head opened beside the object.
func splice(head string, ids []int32, tail string, rest any) ([]byte, error) {
	fields, err := encode(rest)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(head)+8*len(ids)+len(tail)+len(fields)+1)
	out = appendIDs(append(out, head...), ids)
	out = append(append(out, tail...), ',')
	return append(out, fields[1:]...), nil
}

// completionsCall is vLLM's /v1/completions with a prompt of ids.
func (c *Client) completionsCall(r TokenRequest) (call, error) {
	body, err := splice(`{"prompt":`, r.Prompt, "", struct {
		Model string `json:"model,omitempty"`
		tokenSettings
		ReturnTokenIDs bool `json:"return_token_ids"`
		AsTokenIDs     bool `json:"return_tokens_as_token_ids"` // logprobs name their ids
		streamFields
	}{c.Model(), r.settings(), true, true, r.streamed()})
	return call{path: "/v1/completions", body: body, session: r.SessionID, sent: r.Prompt, read: c.readChoices}, err
}

// generateCall is vLLM's /inference/v1/generate.
func (c *Client) generateCall(r TokenRequest) (call, error) {
	id := requestID()
	mode := "text"
	if c.textless.Load() {
		mode = "" // the default is ids alone
	}
	body, err := splice(`{"token_ids":`, r.Prompt, "", struct {
		RequestID      string        `json:"request_id"`
		Model          string        `json:"model,omitempty"`
		SamplingParams tokenSettings `json:"sampling_params"`
		ReturnTokenIDs bool          `json:"return_token_ids"`
		OutputMode     string        `json:"output_mode,omitempty"`
		streamFields
	}{id, c.Model(), r.settings(), true, mode, r.streamed()})
	k := call{path: "/inference/v1/generate", body: body, session: r.SessionID, sent: r.Prompt, read: c.readChoices}
	if c.stops.Load() {
		// The engine knows a request by its id with this before it. Without ids
		// the route would stop the requests of everybody.
		k.abort = func(ctx context.Context) error {
			return c.tell(ctx, "/abort_requests", map[string]any{"request_ids": []string{"generate-tokens-" + id}})
		}
	}
	return k, err
}

// requestID is new for every attempt.
func requestID() string { return fmt.Sprintf("rollbench-%016x%016x", rand.Uint64(), rand.Uint64()) }

// readChoices takes in an answer of either, or a piece of its stream.
func (c *Client) readChoices(data []byte, b *builder) error {
	s := scanner{data: data}
	var flaw flaws
	s.object(func(key []byte) {
		switch string(key) {
		case "choices":
			s.array(func() {
				p := s.choice()
				b.addTokens(&p)
			})
		case "prompt_token_ids":
			if ids := s.ids(); ids != nil {
				b.prompt = ids
			}
		case "usage":
			if u := s.usage(); u != nil {
				b.usage = u
			}
		case "model":
			if m := s.text(); m != "" {
				b.model = m
			}
		default:
			flaw.field(&s, key)
		}
	})
	if err := s.end(); err != nil {
		return err
	}
	return flaw.err(c)
}

// flaws are the error object, or SGLang's flat form of one, that an answer with
// status 200 may hold.
type flaws struct {
	nested  []byte
	object  string
	message string
}

// field reads a key of an error, or skips another.
func (f *flaws) field(s *scanner, key []byte) {
	switch string(key) {
	case "error":
		f.nested = s.raw()
	case "object":
		f.object = s.ending().by
	case "message":
		f.message = s.ending().by
	default:
		s.skip()
	}
}

func (f *flaws) err(c *Client) error {
	a := answer{Error: f.nested, Object: f.object, Problem: f.message}
	return c.errorIn(&a)
}

func (s *scanner) choice() (p tokenPiece) {
	s.object(func(key []byte) {
		switch string(key) {
		case "index":
			if n := s.count(); n != nil {
				p.index = *n
			}
		case "text":
			p.text = s.text()
		case "token_ids":
			p.ids = s.ids()
		case "prompt_token_ids":
			p.prompt = s.ids()
		case "logprobs":
			s.logprobs(&p)
		case "finish_reason":
			p.finish = s.text()
		case "stop_reason":
			p.stop = s.ending()
		default:
			s.skip()
		}
	})
	return p
}

// logprobs of completions are parallel lists; of generate they are a list of
// tokens, as in a chat.
func (s *scanner) logprobs(p *tokenPiece) {
	s.object(func(key []byte) {
		switch string(key) {
		case "tokens":
			p.named = make([]int32, 0, s.size())
			s.array(func() { p.named = append(p.named, s.named()) })
		case "token_logprobs":
			p.sawLogs, p.logs = !s.null(), make([]float64, 0, s.size())
			s.array(func() { p.logs = append(p.logs, s.number()) })
		case "content":
			p.sawLogs = !s.null()
			s.array(func() { s.tokenLogprob(p) })
		default:
			s.skip()
		}
	})
}

func (s *scanner) tokenLogprob(p *tokenPiece) {
	p.named, p.logs = append(p.named, -1), append(p.logs, missing)
	last := len(p.logs) - 1
	s.object(func(key []byte) {
		switch string(key) {
		case "token_id":
			p.named[last] = s.id()
		case "token":
			if id := s.named(); id >= 0 {
				p.named[last] = id
			}
		case "logprob":
			p.logs[last] = s.number()
		default:
			s.skip()
		}
	})
}

func (s *scanner) usage() *usage {
	if s.isNull() {
		return nil
	}
	u := &usage{}
	s.object(func(key []byte) {
		switch string(key) {
		case "prompt_tokens":
			u.PromptTokens = s.count()
		case "completion_tokens":
			u.CompletionTokens = s.count()
		case "prompt_tokens_details":
			s.object(func(key []byte) {
				if string(key) == "cached_tokens" {
					u.Details = &usageDetails{s.count()}
				} else {
					s.skip()
				}
			})
		default:
			s.skip()
		}
	})
	return u
}
