package infer

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The Tinker API, as SkyRL's server speaks it: a sample is asked for and a
// future comes back at once, which is polled until the sample is there. It has
// no call to stop a sample, and no tokenizer.

// tinkerSession is the sampling session of a client, made once.
type tinkerSession struct {
	turn chan struct{} // holds a token while somebody reads or makes id
	id   string
}

func (t *tinkerSession) enter(ctx context.Context) (leave func(), err error) {
	select {
	case t.turn <- struct{}{}:
		return func() { <-t.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// sampler is the id of the client's sampling session.
func (c *Client) sampler(ctx context.Context) (string, error) {
	t := &c.tinker
	leave, err := t.enter(ctx)
	if err != nil {
		return "", c.failed(ctx, err)
	}
	defer leave()
	if t.id != "" {
		return t.id, nil
	}
	var session struct {
		ID string `json:"session_id"`
	}
	body := map[string]any{"tags": []string{}, "user_metadata": nil, "sdk_version": "rollbench", "type": "create_session"}
	if err := c.ask(ctx, "/api/v1/create_session", body, &session); err != nil {
		return "", err
	}
	body = map[string]any{"session_id": session.ID, "sampling_session_seq_id": 0, "type": "create_sampling_session"}
	if model := c.Model(); strings.HasPrefix(model, "tinker://") {
		body["model_path"] = model
	} else {
		body["base_model"] = model
	}
	var sampling struct {
		ID string `json:"sampling_session_id"`
	}
	if err := c.ask(ctx, "/api/v1/create_sampling_session", body, &sampling); err != nil {
		return "", err
	}
	if sampling.ID == "" {
		return "", c.fault(BadRequest, "create_sampling_session gave no sampling_session_id", nil)
	}
	t.id = sampling.ID
	return t.id, nil
}

// lose a sampling session that the server does not know any more.
func (t *tinkerSession) lose(ctx context.Context, id string) {
	leave, err := t.enter(ctx)
	if err != nil {
		return // the call is over, and the next one will find out
	}
	defer leave()
	if t.id == id {
		t.id = ""
	}
}

type tinkerSampling struct {
	MaxTokens   int      `json:"max_tokens"`
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	TopK        *int     `json:"top_k,omitempty"`
	Seed        *int64   `json:"seed,omitempty"`
	Stop        any      `json:"stop,omitempty"` // texts or ids
}

// tinkerSampling refuses what the API has no name for: left out in silence, the
// logprobs would be those of other settings.
func (c *Client) tinkerSampling(r TokenRequest) (tinkerSampling, error) {
	s := r.Sampling
	out := tinkerSampling{r.MaxTokens, s.Temperature, s.TopP, s.topK(), s.Seed, nil}
	switch {
	case s.MinP != nil && *s.MinP != 0, s.RepetitionPenalty != nil && *s.RepetitionPenalty != 1:
		return out, c.fault(BadRequest, "the Tinker API knows neither min_p nor repetition_penalty; leave them out of the sampling settings", nil)
	case len(s.Stop) > 0 && len(r.StopIDs) > 0:
		return out, c.fault(BadRequest, "the Tinker API takes stop texts or stop ids, not both", nil)
	case len(s.Stop) > 0:
		out.Stop = s.Stop
	case len(r.StopIDs) > 0:
		out.Stop = r.StopIDs
	}
	return out, nil
}

// future is one sample through all its attempts: a poll that failed goes on
// with the same sample, and only one that is lost is asked for again.
type future struct {
	client   *Client
	request  TokenRequest
	sampling tinkerSampling
	start    time.Time
	id       string // "" until asked for
}

// pollEvery is the least time from one poll to the next.
const pollEvery = time.Second

func (f *future) attempt(ctx context.Context, _ func(string)) (Reply, error) {
	c := f.client
	if f.id == "" {
		f.start = time.Now()
		if err := f.submit(ctx); err != nil {
			return Reply{}, err
		}
	}
	for {
		asked := time.Now()
		data, err := c.send(ctx, "/api/v1/retrieve_future", f.request.SessionID, encoded(map[string]string{"request_id": f.id}))
		var e *Error
		switch {
		case err == nil:
			f.id = ""
			return f.reply(data)
		case errors.As(err, &e) && e.Status == http.StatusRequestTimeout: // not yet there
			if err := sleep(ctx, pollEvery-time.Since(asked)); err != nil {
				return Reply{}, c.failed(ctx, err)
			}
		case errors.As(err, &e) && e.Status == http.StatusNotFound: // the server has been started anew
			f.id = ""
			e.Kind = Unavailable
			return Reply{}, err
		default:
			if e != nil && !slices.Contains(passing, e.Status) {
				f.id = "" // the sample failed, not the poll
			}
			return Reply{}, err
		}
	}
}

// passing are the statuses of a poll that say nothing of the sample; 0 is a
// connection's.
var passing = []int{0, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// submit asks for the sample. All turns of a trajectory have one seq_id, which
// keeps them on one engine.
func (f *future) submit(ctx context.Context) error {
	c := f.client
	sampler, err := c.sampler(ctx)
	if err != nil {
		return err
	}
	h := fnv.New32a()
	h.Write([]byte(f.request.SessionID)) // a hash never fails
	body, err := splice(`{"prompt":{"chunks":[{"type":"encoded_text","tokens":`, f.request.Prompt, `}]}`, struct {
		NumSamples int            `json:"num_samples"`
		Sampling   tinkerSampling `json:"sampling_params"`
		Sampler    string         `json:"sampling_session_id"`
		Seq        uint32         `json:"seq_id"`
		Type       string         `json:"type"`
	}{1, f.sampling, sampler, h.Sum32() >> 1, "sample"})
	if err != nil {
		return err
	}
	data, err := c.send(ctx, "/api/v1/asample", f.request.SessionID, body)
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusNotFound && strings.Contains(strings.ToLower(e.Message), "session") {
		c.tinker.lose(ctx, sampler)
		e.Kind = Unavailable
	}
	if err != nil {
		return err
	}
	var out struct {
		ID string `json:"request_id"`
	}
	if err := json.Unmarshal(data, &out); err != nil || out.ID == "" {
		return c.fault(Unavailable, "the answer of asample names no request_id: "+oneLine(string(data), 120), err)
	}
	f.id = out.ID
	return nil
}

// reply of a sample's result.
func (f *future) reply(data []byte) (Reply, error) {
	c := f.client
	b := builder{start: f.start, sent: f.request.Prompt}
	s := scanner{data: data}
	first := true
	s.object(func(key []byte) {
		if string(key) != "sequences" {
			s.skip()
			return
		}
		s.array(func() {
			p := s.sequence()
			p.stop.text = len(f.request.Sampling.Stop) > 0 // perhaps one of them
			if first {
				b.addTokens(&p)
			}
			first = false
		})
	})
	if err := c.unreadable("the answer is not the JSON of a sample (%s)", s.end()); err != nil {
		return Reply{}, err
	}
	if b.finish == "" {
		return Reply{}, c.fault(Unavailable, "the answer holds no finished sequence", nil)
	}
	return c.finished(&b)
}

func (s *scanner) sequence() (p tokenPiece) {
	s.object(func(key []byte) {
		switch string(key) {
		case "tokens":
			p.ids = s.ids()
		case "logprobs":
			p.sawLogs = !s.null()
			s.array(func() { p.logs = append(p.logs, s.number()) })
		case "stop_reason":
			p.finish = s.text()
		default:
			s.skip()
		}
	})
	return p
}
