package infer

import (
	"context"
	"encoding/json"
	"fmt"
)

// Chat asks for one reply, streamed when r.Stream is set. It retries failed
// attempts (no connection, 429, 5xx, a broken stream); r.Restart is called
// first when text of the failed one had been streamed. Cancelling ctx closes
// the connection, which makes the server stop sampling.
func (c *Client) Chat(ctx context.Context, r Request) (Reply, error) {
	if r.MaxTokens <= 0 {
		return Reply{}, c.noRoom(r.MaxTokens)
	}
	body, err := encode(c.chatBody(r))
	if err != nil {
		return Reply{}, err
	}
	k := call{path: "/v1/chat/completions", body: body, session: r.SessionID, read: c.readChat}
	return c.sample(ctx, r.Stream, r.Restart, func(ctx context.Context, deliver func(string)) (Reply, error) {
		return c.attempt(ctx, k, deliver)
	})
}

func (c *Client) chatBody(r Request) wireRequest {
	server := *c.server.Load()
	w := wireRequest{
		Model: c.Model(), Messages: toWire(r.Messages, server), Tools: toolsToWire(r.Tools),
		Sampling: r.Sampling, Template: c.opt.Template,
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

// readChat takes in a chat answer or a piece of its stream.
func (c *Client) readChat(data []byte, b *builder) error {
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return err
	}
	if err := c.errorIn(&a); err != nil {
		return err
	}
	b.add(&a)
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
