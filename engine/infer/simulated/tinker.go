package simulated

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// The routes of the Tinker API that sampling needs, as SkyRL's server has them.

// longPoll is how long retrieve_future waits before it says to try again.
const longPoll = 300 * time.Second

// maxFutures are kept; the oldest is forgotten first.
const maxFutures = 4096

// futures are the samples that were asked for, by their number.
type futures struct {
	mu       sync.Mutex // guards all below
	sessions int
	last     int
	of       map[int]*future
}

type future struct {
	done chan struct{} // closed when the rest is there
	body []byte
	err  error
}

func (f *futures) open() (int, *future) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[int]*future{}
	}
	f.last++
	delete(f.of, f.last-maxFutures)
	f.of[f.last] = &future{done: make(chan struct{})}
	return f.last, f.of[f.last]
}

func (f *futures) find(id int) *future {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[id]
}

// session gives a new name.
func (f *futures) session(prefix string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions++
	return fmt.Sprintf("%s_%d", prefix, f.sessions)
}

func (s *Server) tinkerRoutes(mux *http.ServeMux, post func(string, func(http.ResponseWriter, *http.Request, Fault) error)) {
	mux.HandleFunc("GET /api/v1/healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /api/v1/get_server_capabilities", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"supported_models": []any{map[string]string{"model_name": s.opt.Model, "owned_by": Owner}}})
	})
	post("/api/v1/create_session", func(w http.ResponseWriter, r *http.Request, _ Fault) error {
		var body struct {
			Tags       []string `json:"tags"`
			SDKVersion *string  `json:"sdk_version"`
		}
		if err := decodeBody(r, &body); err != nil {
			return err
		}
		if body.Tags == nil || body.SDKVersion == nil {
			return &refusal{status: http.StatusUnprocessableEntity, message: "tags and sdk_version are required"}
		}
		answer(w, http.StatusOK, map[string]any{"type": "create_session", "session_id": s.futures.session("session")})
		return nil
	})
	post("/api/v1/create_sampling_session", func(w http.ResponseWriter, r *http.Request, _ Fault) error {
		var body struct {
			Session string `json:"session_id"`
			Seq     *int   `json:"sampling_session_seq_id"`
			Model   string `json:"base_model"`
		}
		if err := decodeBody(r, &body); err != nil {
			return err
		}
		if body.Session == "" || body.Seq == nil {
			return &refusal{status: http.StatusUnprocessableEntity, message: "session_id and sampling_session_seq_id are required"}
		}
		if err := s.checkModel(body.Model); err != nil {
			return err
		}
		answer(w, http.StatusOK, map[string]any{"type": "create_sampling_session", "sampling_session_id": s.futures.session("sampling")})
		return nil
	})
	post("/api/v1/asample", s.asample)
	post("/api/v1/retrieve_future", s.retrieveFuture)
}

type sampleBody struct {
	Prompt struct {
		Chunks []struct {
			Type   string `json:"type"`
			Tokens idList `json:"tokens"`
		} `json:"chunks"`
	} `json:"prompt"`
	NumSamples     *int `json:"num_samples"`
	SamplingParams struct {
		settings
		Stop any `json:"stop"` // texts or ids
	} `json:"sampling_params"`
	Sampler string `json:"sampling_session_id"`
	Seq     *int   `json:"seq_id"`
}

func (s *Server) asample(w http.ResponseWriter, r *http.Request, fault Fault) error {
	var body sampleBody
	if err := decodeBody(r, &body); err != nil {
		return err
	}
	set := &body.SamplingParams.settings
	set.N = body.NumSamples
	var prompt []int32
	for _, c := range body.Prompt.Chunks {
		if c.Type != "encoded_text" {
			return badRequest("a prompt's chunk of type %q: only encoded_text is supported", c.Type)
		}
		prompt = append(prompt, c.Tokens...)
	}
	if err := setStops(set, body.SamplingParams.Stop); err != nil {
		return err
	}
	switch {
	case body.Sampler == "" || body.Seq == nil:
		return &refusal{status: http.StatusUnprocessableEntity, message: "sampling_session_id and seq_id are required"}
	case set.MaxTokens == nil:
		return badRequest("max_tokens is currently required")
	}
	if err := s.checkTokens(set, prompt); err != nil {
		return err
	}
	if !s.load.begin() {
		return errors.New("the server is closing")
	}
	id, f := s.futures.open()
	session := r.Header.Get("X-Session-ID")
	j := job{settings: set, form: tinkerForm, prompt: prompt, logprobs: true, fault: fault}
	go func() {
		defer s.load.handlers.Done()
		f.sample(s, session, j)
	}()
	answer(w, http.StatusOK, map[string]string{"future_id": strconv.Itoa(id), "status": "pending", "request_id": strconv.Itoa(id)})
	return nil
}

// sample what was asked for. One with a fault of streams never comes.
func (f *future) sample(s *Server, session string, j job) {
	defer close(f.done)
	defer func() {
		if p := recover(); p != nil {
			f.err = fmt.Errorf("simulated endpoint broke: %v", p)
		}
	}()
	var out memory
	f.err = s.reply(s.ctx, &out, session, j)
	f.body = out.Bytes()
	if j.fault.Stall || j.fault.Endless {
		<-s.ctx.Done()
	}
}

// setStops of a list of texts or of ids.
func setStops(set *settings, stop any) error {
	list, ok := stop.([]any)
	if text, one := stop.(string); one {
		list, ok = []any{text}, true
	}
	if !ok && stop != nil {
		return badRequest("stop is neither text nor a list")
	}
	for _, v := range list {
		switch v := v.(type) {
		case string:
			set.Stop = append(set.Stop, v)
		case float64:
			set.StopTokenIDs = append(set.StopTokenIDs, int32(v))
		}
	}
	if len(set.Stop)+len(set.StopTokenIDs) != len(list) || len(set.Stop) > 0 && len(set.StopTokenIDs) > 0 {
		return badRequest("stop must be either all integers (token IDs) or all strings, not mixed")
	}
	return nil
}

// memory is an answer that nobody reads yet.
type memory struct{ bytes.Buffer }

func (m *memory) Header() http.Header { return http.Header{} }
func (m *memory) WriteHeader(int)     {}

func (s *Server) retrieveFuture(w http.ResponseWriter, r *http.Request, _ Fault) error {
	var body struct {
		ID string `json:"request_id"`
	}
	if err := decodeBody(r, &body); err != nil {
		return err
	}
	id, err := strconv.Atoi(body.ID)
	f := s.futures.find(id)
	if err != nil || f == nil {
		return &refusal{status: http.StatusNotFound, message: "Future not found"}
	}
	limit := time.NewTimer(longPoll)
	defer limit.Stop()
	select {
	case <-f.done:
	case <-limit.C:
		return &refusal{status: http.StatusRequestTimeout, message: "Timeout waiting for result"}
	case <-r.Context().Done():
		return r.Context().Err()
	}
	if f.err != nil {
		return badRequest("%v", f.err)
	}
	w.Header().Set("Content-Type", "application/json")
	write(w, f.body)
	return nil
}

// sequence is the result of a sample.
func (j job) sequence(o sampled) []byte {
	out := append(make([]byte, 0, 256+30*len(o.ids)), `{"type":"sample","sequences":[{"stop_reason":"`+o.finish+`"`...)
	if !j.fault.NoTokenIDs {
		out = appendIDs(append(out, `,"tokens":`...), o.ids)
	}
	out = append(out, `,"logprobs":`...)
	if j.fault.NoLogprobs {
		out = append(out, "null"...)
	} else {
		out = append(out, '[')
		for i, p := range o.logprobs {
			if i > 0 {
				out = append(out, ',')
			}
			out = strconv.AppendFloat(out, p, 'g', -1, 64)
		}
		for range j.fault.CountOff { // there is no usage to be wrong
			out = append(out, ",-1"...)
		}
		out = append(out, ']')
	}
	return append(out, `}],"prompt_logprobs":null}`...)
}
