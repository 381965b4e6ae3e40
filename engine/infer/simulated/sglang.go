package simulated

import (
	"fmt"
	"net/http"
	"strconv"
)

// The routes of SGLang, beside those that it has in common with others.

func (s *Server) sglangRoutes(mux *http.ServeMux, post func(string, func(http.ResponseWriter, *http.Request, Fault) error)) {
	post("/generate", s.native)
	post("/abort_request", s.abortRequest)
	mux.HandleFunc("GET /get_model_info", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"model_path": s.opt.Model, "tokenizer_path": s.opt.Model, "is_generation": true, "weight_version": "default"})
	})
	mux.HandleFunc("GET /get_server_info", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"model_path": s.opt.Model, "context_length": s.opt.MaxModelLen, "version": version})
	})
}

type nativeBody struct {
	InputIDs       idList `json:"input_ids"`
	SamplingParams struct {
		settings
		MaxNew     *int   `json:"max_new_tokens"`
		Seed       *int64 `json:"sampling_seed"`
		NoStopTrim bool   `json:"no_stop_trim"`
	} `json:"sampling_params"`
	ReturnLogprob bool   `json:"return_logprob"`
	LogprobStart  *int   `json:"logprob_start_len"`
	Stream        bool   `json:"stream"`
	ID            string `json:"rid"`
}

func (s *Server) native(w http.ResponseWriter, r *http.Request, fault Fault) error {
	var body nativeBody
	if err := decodeBody(r, &body); err != nil {
		return err
	}
	p := &body.SamplingParams
	set := &p.settings
	set.MaxTokens, set.Seed, set.IncludeStop, set.Stream = p.MaxNew, p.Seed, p.NoStopTrim, body.Stream
	if err := s.checkTokens(set, body.InputIDs); err != nil {
		return err
	}
	switch {
	case set.TopK != nil && *set.TopK == 0:
		return badRequest("top_k must be -1 (off) or at least 1, got 0")
	case body.ReturnLogprob && (body.LogprobStart == nil || *body.LogprobStart != -1):
		return badRequest("the simulated endpoint has no logprobs of prompts: logprob_start_len must be -1")
	}
	return s.serve(w, r, job{settings: set, form: sglangForm, prompt: body.InputIDs, logprobs: body.ReturnLogprob, id: body.ID, fault: fault})
}

// sglang is an answer with the first n tokens: the whole, or an event, which
// repeats what came before it.
func (j job) sglang(o sampled, n int) []byte {
	out := append(make([]byte, 0, 512+40*n), `{"text":`...)
	out = append(out, quoted(j.spelled(o, 0, n))...)
	if !j.fault.NoTokenIDs {
		out = appendIDs(append(out, `,"output_ids":`...), o.ids[:n])
	}
	out = append(out, `,"meta_info":{"id":`...)
	out = append(append(out, quoted(o.id)...), `,"finish_reason":`...)
	switch {
	case n < len(o.ids):
		out = append(out, "null"...)
	case o.finish == "length":
		out = fmt.Appendf(out, `{"type":"length","length":%d}`, n)
	default:
		out = append(out, `{"type":"stop","matched":`...)
		if o.stop != "" || n == 0 {
			out = o.stopReason(out)
		} else {
			out = strconv.AppendInt(out, int64(o.ids[n-1]), 10)
		}
		out = append(out, '}')
	}
	out = fmt.Appendf(out, `,"prompt_tokens":%d,"completion_tokens":%d,"cached_tokens":%d,"weight_version":"default"`, len(j.prompt), n+j.fault.CountOff, o.cached)
	if j.logprobs && !j.fault.NoLogprobs {
		out = append(out, `,"output_token_logprobs":[`...)
		for i, id := range o.ids[:n] {
			if i > 0 {
				out = append(out, ',')
			}
			out = strconv.AppendFloat(append(out, '['), o.logprobs[i], 'g', -1, 64)
			out = append(strconv.AppendInt(append(out, ','), int64(id), 10), `,null]`...)
		}
		out = append(out, ']')
	}
	return append(out, "}}"...)
}

func (s *Server) abortRequest(w http.ResponseWriter, r *http.Request, _ Fault) error {
	var body struct {
		ID string `json:"rid"`
	}
	if err := decodeBody(r, &body); err != nil {
		return err
	}
	s.running.abort(body.ID)
	w.WriteHeader(http.StatusOK)
	return nil
}
