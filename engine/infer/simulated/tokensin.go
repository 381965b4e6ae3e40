package simulated

import (
	"context"
	"net/http"
	"strconv"
	"sync"
)

// vLLM's way to continue ids that is no OpenAI's.

type generateBody struct {
	ID             string `json:"request_id"`
	TokenIDs       idList `json:"token_ids"`
	SamplingParams struct {
		settings
		Logprobs *int `json:"logprobs"`
	} `json:"sampling_params"`
	Model          string `json:"model"`
	Stream         bool   `json:"stream"`
	ReturnTokenIDs bool   `json:"return_token_ids"`
	OutputMode     string `json:"output_mode"`
	StreamOptions  *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

func (s *Server) generate(w http.ResponseWriter, r *http.Request, fault Fault) error {
	var body generateBody
	if err := decodeBody(r, &body); err != nil {
		return err
	}
	set := &body.SamplingParams.settings
	set.Model, set.Stream, set.StreamOptions, set.ReturnTokenIDs = body.Model, body.Stream, body.StreamOptions, body.ReturnTokenIDs
	if err := s.checkTokens(set, body.TokenIDs); err != nil {
		return err
	}
	if n := body.SamplingParams.Logprobs; n != nil && *n > 0 {
		return badRequest("logprobs is %d: the simulated endpoint gives the sampled token's logprob only (0)", *n)
	}
	j := job{settings: set, form: generateForm, prompt: body.TokenIDs, logprobs: body.SamplingParams.Logprobs != nil, text: body.OutputMode == "text", fault: fault}
	if body.ID != "" {
		j.id = "generate-tokens-" + body.ID
	}
	return s.serve(w, r, j)
}

// generated is an answer or, not whole, a piece of a stream without its frame.
func (s *Server) generated(j job, o sampled, from, to int, whole bool) []byte {
	out := append(make([]byte, 0, 1024+8*len(j.prompt)+100*(to-from)), `{"request_id":"`+o.id+`","model":`...)
	out = append(out, quoted(s.opt.Model)...)
	if j.idsWanted() && from == 0 {
		out = appendIDs(append(out, `,"prompt_token_ids":`...), j.prompt)
	}
	out = append(out, `,"choices":[{"index":0,"finish_reason":`...)
	out = o.finishAt(out, to)
	if to == len(o.ids) {
		out = o.stopReason(append(out, `,"stop_reason":`...))
	}
	if !j.fault.NoTokenIDs {
		out = appendIDs(append(out, `,"token_ids":`...), o.ids[from:to])
	}
	if j.text {
		out = append(append(out, `,"text":`...), quoted(j.spelled(o, from, to))...)
	}
	if j.logprobs && !j.fault.NoLogprobs {
		out = append(out, `,"logprobs":{"content":[`...)
		for i := from; i < to; i++ {
			if i > from {
				out = append(out, ',')
			}
			out = strconv.AppendInt(append(out, `{"token_id":`...), int64(o.ids[i]), 10)
			out = strconv.AppendFloat(append(out, `,"logprob":`...), o.logprobs[i], 'g', -1, 64)
			out = append(out, `,"rank":null,"top_logprobs":[]}`...)
		}
		out = append(out, `]}`...)
	}
	out = append(out, `}]`...)
	if whole {
		out = j.usage(append(out, ','), o)
	}
	return append(out, '}')
}

// finishAt is the finish reason once all tokens are there, else null.
func (o sampled) finishAt(out []byte, to int) []byte {
	if to < len(o.ids) {
		return append(out, "null"...)
	}
	return append(out, `"`+o.finish+`"`...)
}

// event of a stream.
func event(data []byte) []byte {
	return append(append([]byte("data: "), data...), "\n\n"...)
}

func (s *Server) abortRequests(w http.ResponseWriter, r *http.Request, _ Fault) error {
	var body struct {
		IDs []string `json:"request_ids"`
	}
	if err := decodeBody(r, &body); err != nil {
		return err
	}
	if body.IDs == nil {
		return badRequest("Missing 'request_ids' in request body")
	}
	aborted := 0
	for _, id := range body.IDs {
		aborted += s.running.abort(id)
	}
	answer(w, http.StatusOK, map[string]any{"status": "aborted", "aborted": aborted})
	return nil
}

// requests that run under an id, to be aborted by it.
type requests struct {
	mu sync.Mutex // guards of
	of map[string]context.CancelFunc
}

// begin a request, which ends by the time done is called.
func (q *requests) begin(ctx context.Context, id string) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	if id == "" {
		return ctx, cancel
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.of == nil {
		q.of = map[string]context.CancelFunc{}
	}
	q.of[id] = cancel
	return ctx, func() {
		cancel()
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.of, id)
	}
}

// abort the request of an id; it says how many there were.
func (q *requests) abort(id string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	cancel, ok := q.of[id]
	if !ok {
		return 0
	}
	cancel()
	return 1
}
