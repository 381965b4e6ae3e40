package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxBody bounds one reply of a server, in bytes, also one that is a stream: the SDK
// takes an event of any length into memory.
const maxBody = 32 << 20

// carrier sends requests with the configured headers, and only to the origin
// they are meant for.
type carrier struct {
	origin  *url.URL
	headers http.Header
	next    *http.Transport
}

func newCarrier(s Server) (*carrier, error) {
	origin, err := url.Parse(s.URL)
	if err != nil {
		return nil, fmt.Errorf("url %q cannot be read", redacted(s.URL))
	}
	c := &carrier{origin: origin, headers: http.Header{}, next: http.DefaultTransport.(*http.Transport).Clone()}
	for header, name := range s.Headers {
		value, err := variable(name, "the value of header "+header)
		if err != nil {
			return nil, err
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return nil, fmt.Errorf("the value of the environment variable %s, for header %s, has more than one line", name, header)
		}
		c.headers.Set(header, value)
	}
	return c, nil
}

func (c *carrier) client() *http.Client {
	return &http.Client{Transport: c, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if r.URL.Scheme != c.origin.Scheme || r.URL.Host != c.origin.Host {
			return fmt.Errorf("the server redirects to another one, %s://%s: give that as the url", r.URL.Scheme, r.URL.Host)
		}
		if len(via) >= 5 {
			return errors.New("the server redirects in a circle")
		}
		return nil
	}}
}

func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range c.headers {
		r.Header[name] = values
	}
	if r.Method == http.MethodDelete { // the end of a session, which a server busy with a call may not answer
		ctx, cancel := context.WithTimeout(r.Context(), grace)
		defer cancel()
		r = r.WithContext(ctx)
	}
	resp, err := c.next.RoundTrip(r)
	if err == nil {
		resp.Body = &limited{resp.Body, maxBody}
	}
	return resp, err
}

// limited fails where a body is longer than it may be.
type limited struct {
	io.ReadCloser
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("the reply is longer than %d MiB", maxBody>>20)
	}
	n, err := l.ReadCloser.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
