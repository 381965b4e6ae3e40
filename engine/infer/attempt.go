package infer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// call is one request for a reply, by whatever protocol.
type call struct {
	path    string
	body    []byte
	session string // sent as X-Session-ID
	sent    []int32
	// read takes in an answer, or a piece of a stream. An error that is no
	// *Error says what is wrong with the JSON.
	read func(data []byte, b *builder) error
	// abort asks the server to stop sampling; nil where it notices that the
	// connection has gone.
	abort func(ctx context.Context) error
}

// sample makes attempts until one gives a reply, fails for good, or the request
// limit strikes. restart is called before an attempt when text of the one
// before had been streamed.
func (c *Client) sample(ctx context.Context, stream func(string), restart func(), attempt try) (reply Reply, err error) {
	ctx, cancel := limited(ctx, c.opt.RequestLimit)
	defer cancel()
	streamed := false
	deliver := stream
	if stream != nil {
		deliver = func(text string) {
			streamed = true
			stream(text)
		}
	}
	err = c.retry(ctx, func(n int) error {
		if n > 0 && streamed && restart != nil {
			restart()
		}
		streamed = false
		var failure error
		reply, failure = attempt(ctx, deliver)
		return failure
	})
	if err != nil {
		return Reply{}, err
	}
	c.sign(&reply)
	return reply, nil
}

// attempt is one HTTP exchange, streamed when deliver is set.
func (c *Client) attempt(ctx context.Context, k call, deliver func(string)) (Reply, error) {
	start := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := c.request(ctx, http.MethodPost, k.path, bytes.NewReader(k.body))
	if err != nil {
		return Reply{}, err
	}
	if k.session != "" {
		req.Header.Set("X-Session-ID", k.session)
	}
	build := builder{start: start, deliver: deliver, sent: k.sent}
	if deliver == nil {
		err = c.whole(req, &build, k.read)
	} else {
		err = c.streamed(req, &build, k.read, cancel)
	}
	if err != nil {
		if ctx.Err() == nil {
			return Reply{}, err
		}
		if k.abort != nil {
			c.aside(k.abort)
		}
		return Reply{}, &CutOff{Tokens: build.came(), Err: err}
	}
	return c.finished(&build)
}

// whole reads an answer that is not streamed.
func (c *Client) whole(req *http.Request, build *builder, read func([]byte, *builder) error) error {
	data, err := c.exchange(req, maxAnswer)
	if err != nil {
		return err
	}
	if err := c.unreadable("the answer is not the JSON of a reply (%s); is it an OpenAI-compatible server?", read(data, build)); err != nil {
		return err
	}
	if build.finish == "" {
		return c.fault(Unavailable, "the answer holds no finished choice", nil)
	}
	return nil
}

// unreadable makes an Error of what is wrong with JSON; others stay.
func (c *Client) unreadable(text string, err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return c.fault(Unavailable, fmt.Sprintf(text, oneLine(err.Error(), 120)), err)
}

// finished checks what was built and makes the reply of it.
func (c *Client) finished(build *builder) (Reply, error) {
	reply, problem := build.reply()
	if problem != "" {
		return Reply{}, c.fault(Mismatch, problem+"; the turn is refused", nil)
	}
	if reply.FinishReason == "error" {
		return Reply{}, c.fault(Unavailable, "the server ended the reply with finish reason error", nil)
	}
	reply.Wall = time.Since(build.start)
	if reply.FirstToken == 0 {
		reply.FirstToken = reply.Wall
	}
	if reply.Model == "" {
		reply.Model = c.Model()
	}
	return reply, nil
}

func (c *Client) noRoom(tokens int) error {
	return c.fault(BadRequest, fmt.Sprintf("a reply of at most %d tokens was asked for; at least 1 is needed", tokens), nil)
}
