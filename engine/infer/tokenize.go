package infer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// ErrNoTokenize says that the endpoint has no /tokenize or /detokenize.
var ErrNoTokenize = errors.New("endpoint has no /tokenize; vLLM and SGLang have")

// sideLimit bounds calls that sample nothing.
const sideLimit = 30 * time.Second

// Tokenize renders messages and tools by the endpoint's own template.
func (c *Client) Tokenize(ctx context.Context, messages []Message, tools []Tool, addGenerationPrompt bool) ([]int32, error) {
	body := map[string]any{
		"model": c.Model(), "messages": toWire(messages, *c.server.Load()), "tools": toolsToWire(tools),
		"add_generation_prompt": addGenerationPrompt, "add_special_tokens": false,
	}
	if len(c.opt.Template) > 0 {
		body["chat_template_kwargs"] = c.opt.Template
	}
	return c.tokenize(ctx, body)
}

// TokenizeText gives the ids of bare text, without a template.
func (c *Client) TokenizeText(ctx context.Context, text string) ([]int32, error) {
	return c.tokenize(ctx, map[string]any{"model": c.Model(), "prompt": text, "add_special_tokens": false})
}

func (c *Client) tokenize(ctx context.Context, body map[string]any) ([]int32, error) {
	var out struct {
		Count  *int     `json:"count"`
		Tokens tokenIDs `json:"tokens"`
	}
	if err := c.post(ctx, "/tokenize", body, &out); err != nil {
		return nil, err
	}
	if out.Tokens == nil {
		return nil, fmt.Errorf("%w (the answer of %s/tokenize holds no tokens)", ErrNoTokenize, c.URL())
	}
	if out.Count != nil && *out.Count != len(out.Tokens) {
		return nil, c.fault(Mismatch, fmt.Sprintf("/tokenize gave %d ids and counts %d", len(out.Tokens), *out.Count), nil)
	}
	return out.Tokens, nil
}

// Detokenize gives the text of ids with every marker.
func (c *Client) Detokenize(ctx context.Context, ids []int32) (string, error) {
	if ids == nil {
		ids = []int32{}
	}
	var out struct {
		Prompt *string `json:"prompt"` // vLLM
		Text   *string `json:"text"`   // SGLang
	}
	body := map[string]any{"model": c.Model(), "tokens": ids}
	if *c.server.Load() == "sglang" {
		body["skip_special_tokens"] = false
	}
	if err := c.post(ctx, "/detokenize", body, &out); err != nil {
		return "", err
	}
	switch {
	case out.Prompt != nil:
		return *out.Prompt, nil
	case out.Text != nil:
		return *out.Text, nil
	}
	return "", fmt.Errorf("%w (the answer of %s/detokenize holds no text)", ErrNoTokenize, c.URL())
}

// post sends JSON and decodes the answer, with retries. 404, 405 and 501 mean
// that the endpoint lacks the route.
func (c *Client) post(ctx context.Context, path string, body, out any) error {
	payload, err := encode(body)
	if err != nil {
		return err
	}
	ctx, cancel := limited(ctx, sideLimit)
	defer cancel()
	err = c.retry(ctx, func(int) error {
		data, err := c.send(ctx, path, "", payload)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, out); err != nil {
			return c.fault(BadRequest, fmt.Sprintf("the answer of %s is not JSON: %s", path, oneLine(err.Error(), 120)), err)
		}
		return nil
	})
	var e *Error
	if errors.As(err, &e) && (e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented ||
		e.Status == http.StatusNotFound && !unknownModel(e.Message)) {
		return fmt.Errorf("%w (%s%s: HTTP %d)", ErrNoTokenize, c.URL(), path, e.Status)
	}
	return err
}
