package infer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// ask sends JSON and decodes a small answer, without retries.
func (c *Client) ask(ctx context.Context, path string, body, out any) error {
	data, err := c.send(ctx, path, "", encoded(body))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return c.fault(Unavailable, fmt.Sprintf("the answer of %s is not JSON: %s", path, oneLine(err.Error(), 120)), err)
	}
	return nil
}

// tell sends JSON and heeds no answer.
func (c *Client) tell(ctx context.Context, path string, body any) error {
	_, err := c.send(ctx, path, "", encoded(body))
	return err
}

// send posts a body and reads the whole answer, without retries.
func (c *Client) send(ctx context.Context, path, session string, body []byte) ([]byte, error) {
	req, err := c.request(ctx, http.MethodPost, path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if session != "" {
		req.Header.Set("X-Session-ID", session)
	}
	return c.exchange(req, maxAnswer)
}

// encoded are maps of texts and numbers, which can always be encoded.
func encoded(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("infer: a request cannot be encoded: " + err.Error())
	}
	return data
}

// sleep for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(max(0, d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
