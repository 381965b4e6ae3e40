package infer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// LimitReached is the cause within an Error of kind TimedOut: one of our own
// limits ended the call, not the caller.
type LimitReached struct {
	Idle  bool // silence within a stream; else the whole call
	After time.Duration
}

func (l LimitReached) Error() string {
	if l.Idle {
		return fmt.Sprintf("the stream was silent for the idle limit of %v", l.After)
	}
	return fmt.Sprintf("no whole answer within the request limit of %v; raise it, or lower the load", l.After)
}

// limited is ctx with a request limit.
func limited(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, after, LimitReached{After: after})
}

// fault makes an Error of this endpoint; the key never stays in its text.
func (c *Client) fault(kind ErrorKind, message string, err error) *Error {
	return &Error{Kind: kind, URL: c.URL(), Message: c.hide(message), Err: err}
}

// hide takes the key out of a server's text: some repeat it in refusals.
func (c *Client) hide(text string) string {
	if key := string(c.opt.Key); key != "" {
		text = strings.ReplaceAll(text, key, "***")
	}
	if c.user != nil {
		if password, ok := c.user.Password(); ok && password != "" {
			text = strings.ReplaceAll(text, password, "***")
		}
	}
	return text
}

// failed classifies a call that has no answer or a broken one. The caller's
// own cancellation comes back as it is.
func (c *Client) failed(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		var limit LimitReached
		if errors.As(cause, &limit) {
			return c.fault(TimedOut, limit.Error(), cause)
		}
		return fmt.Errorf("call to endpoint %s ended: %w", c.URL(), cause)
	}
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return c.fault(Unavailable, "nothing listens there (connection refused); start the server, or name another with "+c.opt.Setting, err)
	case errors.As(err, &dns):
		return c.fault(Unavailable, fmt.Sprintf("host %s is not known; check %s", dns.Name, c.opt.Setting), err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return c.fault(Unavailable, "the connection was closed before the answer was whole", err)
	}
	return c.fault(Unavailable, oneLine(errorTail(err), 300), err)
}

// errorTail is the innermost text: the HTTP client's wrapper repeats the URL.
func errorTail(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Error()
	}
	if inner := errors.Unwrap(err); inner != nil {
		return inner.Error()
	}
	return err.Error()
}

// refused reads the body of an answer that is not 2xx.
func (c *Client) refused(ctx context.Context, res *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil && context.Cause(ctx) != nil {
		return c.failed(ctx, err)
	}
	text, param := errorText(body)
	e := c.fault(kindOf(res.StatusCode, text, param), text, nil)
	e.Status = res.StatusCode
	if text == "" {
		e.Message = http.StatusText(res.StatusCode)
	}
	if e.Kind == Denied {
		e.Message += "; check the environment variable that holds the key"
	}
	if wait, ok := retryAfter(res.Header.Get("Retry-After")); ok {
		e.Err = waitFor(wait)
	}
	return e
}

// inStream makes an Error of an error object that arrived after the status
// line said 200. Its code, when it is an HTTP status, decides the kind.
func (c *Client) inStream(raw json.RawMessage) error {
	text, param := errorText([]byte(`{"error":` + string(raw) + `}`))
	var code struct {
		Code json.Number `json:"code"`
	}
	status := http.StatusInternalServerError
	if json.Unmarshal(raw, &code) == nil {
		if n, err := strconv.Atoi(code.Code.String()); err == nil && n >= 400 && n < 600 {
			status = n
		}
	}
	return c.fault(kindOf(status, text, param), "error within the answer: "+text, nil)
}

// kindOf an HTTP status with the message that came with it.
func kindOf(status int, text, param string) ErrorKind {
	switch {
	case status == 401 || status == 403:
		return Denied
	case status == 429:
		return Busy
	case status == 408 || status == 425 || status >= 500 && status != 501:
		return Unavailable
	case overflows(text, param):
		return Overflow
	}
	return BadRequest
}

// overflowTexts are how servers say that a prompt is too long, lower case.
var overflowTexts = []string{
	"context length", "context window", "context size", "prompt is too long",
	"prompt too long", "please reduce the length", "exceed_context_size",
	"longer than the maximum model length",
}

func overflows(text, param string) bool {
	if param == "input_tokens" || param == "input_text" {
		return true
	}
	text = strings.ToLower(text)
	for _, t := range overflowTexts {
		if strings.Contains(text, t) {
			return true
		}
	}
	return false
}

// errorText finds the message in an error body: nested (vLLM, OpenAI), flat
// (SGLang), detail (FastAPI), a page of a proxy, or bare text.
func errorText(body []byte) (text, param string) {
	body = bytes.TrimSpace(body)
	var shape struct {
		Error   json.RawMessage `json:"error"`
		Detail  json.RawMessage `json:"detail"`
		Message string          `json:"message"`
		Param   any             `json:"param"`
	}
	if len(body) > 0 && body[0] == '{' && json.Unmarshal(body, &shape) == nil {
		var nested struct {
			Message string `json:"message"`
			Type    string `json:"type"`
			Param   any    `json:"param"`
		}
		var plain string
		switch {
		case shape.Message != "":
			text, nested.Param = shape.Message, shape.Param
		case json.Unmarshal(shape.Error, &plain) == nil && plain != "":
			text = plain
		case json.Unmarshal(shape.Error, &nested) == nil && nested.Message != "":
			text = nested.Message
		case json.Unmarshal(shape.Detail, &plain) == nil && plain != "":
			text = plain
		default:
			text = string(body)
		}
		if strings.Contains(nested.Type, "exceed_context_size") {
			text += " (exceed_context_size)"
		}
		param, _ = nested.Param.(string) // null and other types: no parameter
		return oneLine(text, 500), param
	}
	if lower := bytes.ToLower(body); bytes.HasPrefix(lower, []byte("<!doctype")) || bytes.HasPrefix(lower, []byte("<html")) {
		return "answered with a web page" + pageTitle(body) + "; is this the address of the model server, or of a proxy before it?", ""
	}
	return oneLine(string(body), 500), ""
}

var titleTag = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

func pageTitle(body []byte) string {
	if m := titleTag.FindSubmatch(body); m != nil {
		return fmt.Sprintf(" (%s)", oneLine(string(m[1]), 80))
	}
	return ""
}

// oneLine squeezes white space and control characters and cuts at max bytes.
func oneLine(text string, max int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 }), " ")
	if len(text) <= max {
		return text
	}
	for max > 0 && !utf8.RuneStart(text[max]) {
		max--
	}
	return text[:max] + "…"
}

// waitFor carries a Retry-After from the answer to the retry loop.
type waitFor time.Duration

func (w waitFor) Error() string { return "retry after " + time.Duration(w).String() }

// retryAfter reads the header: seconds or an HTTP date.
func retryAfter(value string) (time.Duration, bool) {
	if seconds, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at)), true
	}
	return 0, false
}
