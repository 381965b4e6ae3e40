package infer

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// sglangSampling are SGLang's names. Its top_k is −1 where others say 0.
type sglangSampling struct {
	Temperature       *float64 `json:"temperature,omitempty"`
	TopP              *float64 `json:"top_p,omitempty"`
	TopK              *int     `json:"top_k,omitempty"`
	MinP              *float64 `json:"min_p,omitempty"`
	RepetitionPenalty *float64 `json:"repetition_penalty,omitempty"`
	Seed              *int64   `json:"sampling_seed,omitempty"`
	Stop              []string `json:"stop,omitempty"`
	StopIDs           []int32  `json:"stop_token_ids,omitempty"`
	MaxTokens         int      `json:"max_new_tokens"`
	// For the text to be that of all ids, the end of the turn included.
	SkipSpecial   bool `json:"skip_special_tokens"`
	SpacesBetween bool `json:"spaces_between_special_tokens"`
	NoStopTrim    bool `json:"no_stop_trim"`
}

// topK as servers write it that turn it off by −1.
func (s Sampling) topK() *int {
	if s.TopK != nil && *s.TopK == 0 {
		off := -1
		return &off
	}
	return s.TopK
}

// sglangCall is SGLang's own /generate.
func (c *Client) sglangCall(r TokenRequest) (call, error) {
	id, s := requestID(), r.Sampling
	body, err := splice(`{"input_ids":`, r.Prompt, "", struct {
		Sampling      sglangSampling `json:"sampling_params"`
		ReturnLogprob bool           `json:"return_logprob"`
		LogprobStart  int            `json:"logprob_start_len"` // −1: of the output alone
		Stream        bool           `json:"stream,omitempty"`
		ID            string         `json:"rid"`
	}{sglangSampling{s.Temperature, s.TopP, s.topK(), s.MinP, s.RepetitionPenalty, s.Seed, s.Stop, r.StopIDs, r.MaxTokens, false, false, true},
		true, -1, r.Stream != nil, id})
	return call{path: "/generate", body: body, session: r.SessionID, sent: r.Prompt, read: c.readSGLang,
		abort: func(ctx context.Context) error {
			return c.tell(ctx, "/abort_request", map[string]any{"rid": id})
		}}, err
}

// readSGLang takes in an answer or an event of its stream.
func (c *Client) readSGLang(data []byte, b *builder) error {
	s := scanner{data: data}
	var flaw flaws
	var p tokenPiece
	var u usage
	var cause string
	s.object(func(key []byte) {
		switch string(key) {
		case "text":
			p.text = s.text()
		case "output_ids":
			p.ids = s.ids()
		case "prompt_token_ids":
			p.prompt = s.ids()
		case "meta_info":
			cause = s.meta(&p, &u)
		default:
			flaw.field(&s, key)
		}
	})
	if err := s.end(); err != nil {
		return err
	}
	if err := flaw.err(c); err != nil {
		return err
	}
	if p.finish == "abort" && overflows(cause, "") {
		return c.fault(Overflow, oneLine(cause, 500), nil)
	}
	b.addCumulative(&p, &u)
	return nil
}

// meta reads meta_info; cause is what an abort says of itself.
func (s *scanner) meta(p *tokenPiece, u *usage) (cause string) {
	s.object(func(key []byte) {
		switch string(key) {
		case "finish_reason":
			cause = s.sglangFinish(p)
		case "prompt_tokens":
			u.PromptTokens = s.count()
		case "completion_tokens":
			u.CompletionTokens = s.count()
		case "cached_tokens":
			u.Details = &usageDetails{s.count()}
		case "weight_version":
			p.version = s.ending().by
		case "output_token_logprobs":
			p.sawLogs = !s.null()
			s.array(func() { s.triple(p) })
		default:
			s.skip()
		}
	})
	return cause
}

func (s *scanner) sglangFinish(p *tokenPiece) (cause string) {
	s.object(func(key []byte) {
		switch string(key) {
		case "type":
			p.finish = s.text()
		case "matched":
			p.stop = s.ending()
		case "message":
			cause = s.ending().by
		default:
			s.skip()
		}
	})
	if p.finish == "abort" {
		p.stop = ending{oneLine(cause, 200), true}
	}
	return cause
}

// triple is [logprob, token id, text or null].
func (s *scanner) triple(p *tokenPiece) {
	at, logprob, id := 0, missing, int32(-1)
	s.array(func() {
		switch at {
		case 0:
			logprob = s.number()
		case 1:
			id = s.id()
		default:
			s.skip()
		}
		at++
	})
	p.logs, p.named = append(p.logs, logprob), append(p.named, id)
}

// addCumulative takes in an event that repeats what came before it. Servers can
// be set to send only what is new, of all or of the ids alone: the count of all
// tokens tells which.
func (b *builder) addCumulative(p *tokenPiece, u *usage) {
	total := max(len(p.ids), len(p.logs))
	if u.CompletionTokens != nil {
		total = *u.CompletionTokens
	}
	fits := func(have, come int) (fresh, ok bool) {
		return come != total && have+come == total, come == total || have+come == total
	}
	freshIDs, ok := fits(len(b.output), len(p.ids))
	switch {
	case p.ids == nil:
	case !ok:
		b.problem = fmt.Sprintf("%d token ids after %d, but %d are counted", len(p.ids), len(b.output), total)
	case freshIDs:
		b.output = append(b.output, p.ids...)
	case len(p.ids) < len(b.output) || !slices.Equal(p.ids[:len(b.output)], b.output):
		b.problem = fmt.Sprintf("%d token ids do not begin with the %d that came before", len(p.ids), len(b.output))
	default:
		b.output = p.ids
	}
	freshLogs, ok := fits(len(b.logs), len(p.logs))
	switch {
	case !p.sawLogs:
	case !ok:
		b.problem = fmt.Sprintf("%d logprobs after %d, but %d tokens are counted", len(p.logs), len(b.logs), total)
	case freshLogs:
		b.logs, b.named = append(b.logs, p.logs...), append(b.named, p.named...)
	default:
		b.logs, b.named = p.logs, p.named
	}
	b.sawLogs = b.sawLogs || p.sawLogs
	if p.prompt != nil {
		b.prompt = p.prompt
	}
	b.usage = u
	if p.version != "" {
		b.version = p.version
	}
	b.spelled(p.text, freshIDs && (freshLogs || !p.sawLogs))
	b.ended(p)
}

// spelled takes in text that is new, or that repeats what came before it.
func (b *builder) spelled(text string, fresh bool) {
	before := b.raw.String()
	switch {
	case text == "":
	case fresh:
		b.raw.WriteString(text)
		b.tell(text)
	default:
		b.raw.Reset()
		b.raw.WriteString(text)
		if news, ok := strings.CutPrefix(text, before); ok && news != "" {
			b.tell(news)
		}
	}
}
