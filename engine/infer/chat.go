package infer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Chat asks for one reply, streamed when r.Stream is set. It retries failed
// attempts (no connection, 429, 5xx, a broken stream); r.Restart is called
// first when text of the failed one had been streamed. Cancelling ctx closes
// the connection, which makes the server stop sampling.
func (c *Client) Chat(ctx context.Context, r Request) (Reply, error) {
	if r.MaxTokens <= 0 {
		return Reply{}, c.fault(BadRequest, fmt.Sprintf("a reply of at most %d tokens was asked for; at least 1 is needed", r.MaxTokens), nil)
	}
	ctx, cancel := limited(ctx, c.opt.RequestLimit)
	defer cancel()
	body, err := encode(c.chatBody(r))
	if err != nil {
		return Reply{}, err
	}
	var reply Reply
	streamed := false
	err = c.retry(ctx, func(n int) error {
		if n > 0 && streamed && r.Restart != nil {
			r.Restart()
		}
		streamed = false
		deliver := r.Stream
		if deliver != nil {
			deliver = func(text string) {
				streamed = true
				r.Stream(text)
			}
		}
		var failure error
		reply, failure = c.attempt(ctx, r, body, deliver)
		return failure
	})
	if err != nil {
		return Reply{}, err
	}
	return reply, nil
}

func (c *Client) chatBody(r Request) wireRequest {
	server := *c.server.Load()
	w := wireRequest{
		Model: c.Model(), Messages: toWire(r.Messages, server), Tools: toolsToWire(r.Tools),
		Sampling: r.Sampling,
	}
	// One name for the limit: strict servers refuse both, and each other's.
	if c.oldLimit.Load() {
		w.MaxTokens = r.MaxTokens
	} else {
		w.MaxCompletionTokens = r.MaxTokens
	}
	extras := c.extras.Load()
	w.Logprobs = extras <= extrasLogprobs
	w.ReturnTokenIDs = extras == extrasAll
	w.ReturnPromptTokenIDs = extras == extrasAll && server == "sglang"
	if r.Stream != nil {
		w.Stream, w.StreamOptions = true, &streamOptions{IncludeUsage: true}
	}
	return w
}

// attempt is one HTTP exchange.
func (c *Client) attempt(ctx context.Context, r Request, body []byte, deliver func(string)) (Reply, error) {
	start := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := c.request(ctx, http.MethodPost, "/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return Reply{}, err
	}
	if r.SessionID != "" {
		req.Header.Set("X-Session-ID", r.SessionID)
	}
	build := builder{start: start, deliver: deliver}
	if deliver == nil {
		err = c.whole(req, &build)
	} else {
		err = c.streamed(req, &build, cancel)
	}
	if err != nil {
		return Reply{}, err
	}
	reply, problem := build.reply()
	if problem != "" {
		return Reply{}, c.fault(Mismatch, problem+"; the turn is refused", nil)
	}
	if reply.FinishReason == "error" {
		return Reply{}, c.fault(Unavailable, "the server ended the reply with finish reason error", nil)
	}
	reply.Wall = time.Since(start)
	if reply.FirstToken == 0 {
		reply.FirstToken = reply.Wall
	}
	if reply.Model == "" {
		reply.Model = c.Model()
	}
	return reply, nil
}

// whole reads an answer that is not streamed.
func (c *Client) whole(req *http.Request, build *builder) error {
	data, err := c.exchange(req, maxAnswer)
	if err != nil {
		return err
	}
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return c.fault(Unavailable, "the answer is not the JSON of a chat reply ("+oneLine(err.Error(), 120)+"); is --endpoint an OpenAI-compatible server?", err)
	}
	if err := c.errorIn(&a); err != nil {
		return err
	}
	if len(a.Choices) == 0 || a.Choices[0].FinishReason == "" {
		return c.fault(Unavailable, "the answer holds no finished choice", nil)
	}
	build.add(&a)
	return nil
}

// errorIn finds an error object inside an answer with status 200.
func (c *Client) errorIn(a *answer) error {
	if len(a.Error) > 0 && string(a.Error) != "null" {
		return c.inStream(a.Error)
	}
	if a.Object == "error" {
		raw, err := json.Marshal(map[string]string{"message": a.Problem})
		if err != nil {
			return fmt.Errorf("error of endpoint %s: %w", c.URL(), err)
		}
		return c.inStream(raw)
	}
	return nil
}
