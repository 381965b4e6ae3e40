package infer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Secret is a key that never shows in a log, an error or a dump.
type Secret string

func (Secret) String() string { return "***" }

// GoString hides the key from %#v too.
func (Secret) GoString() string { return "***" }

// MarshalText hides the key from JSON and TOML.
func (Secret) MarshalText() ([]byte, error) { return []byte("***"), nil }

// Options of a client. Zero values take the defaults in brackets.
type Options struct {
	BaseURL string // with or without /v1
	Setting string // what a person names it by, for messages [--endpoint]
	Model   string // "" takes the server's only model (after Probe)
	Key     Secret // bearer token, "" for none
	// Template are arguments of the server's chat template (chat_template_kwargs),
	// sent wherever it renders messages; nil: none.
	Template map[string]any
	// Plain asks Chat for text alone: no token ids, no logprobs.
	Plain bool
	// RequestLimit bounds one Chat call with all its retries [10 min].
	RequestLimit time.Duration
	// IdleLimit bounds the silence between two pieces of a stream, from the
	// first token on: a queued request may be silent until RequestLimit [60 s].
	IdleLimit time.Duration
	Retries   int            // further attempts after a failed one; negative for none [3]
	HTTP      *http.Client   // [own, without a global timeout]
	Rand      func() float64 // jitter in 0..1, for tests
}

// Client of one endpoint. It is safe for concurrent use.
type Client struct {
	opt  Options
	root *url.URL // without /v1, without credentials
	user *url.Userinfo
	http *http.Client

	model  atomic.Pointer[string]
	server atomic.Pointer[string] // as Probe found it, "" before
	// oldLimit: the token limit of a reply is sent as max_tokens, not as
	// max_completion_tokens.
	oldLimit atomic.Bool
	extras   atomic.Int32 // what the server tolerates, see extras

	complete atomic.Pointer[string] // the protocol of Complete, "" for none
	textless atomic.Bool            // of generate: it gives ids only
	stops    atomic.Bool            // it has vLLM's /abort_requests
	tinker   tinkerSession

	version   atomic.Pointer[string] // of the weights, as last seen
	versionAt atomic.Pointer[string] // route that names it, "" for none
	mode      atomic.Pointer[string] // of the logprobs

	scrapes sync.Mutex // guards last and gpus
	last    counters
	gpus    []GPU

	errors atomic.Int64 // attempts that failed

	asides sync.Mutex // guards closed, and that nothing is added to side once it is
	closed bool
	side   sync.WaitGroup // calls that nobody waits for but Close
}

// extras a chat request may carry; a server that refuses them gets fewer.
const (
	extrasAll      = int32(iota) // token ids and logprobs
	extrasLogprobs               // logprobs only
	extrasNone
)

// New checks the options; it does not contact the endpoint.
func New(opt Options) (*Client, error) {
	root, err := parseBase(opt.BaseURL)
	if err != nil {
		return nil, err
	}
	if opt.Setting == "" {
		opt.Setting = "--endpoint"
	}
	if opt.RequestLimit == 0 {
		opt.RequestLimit = 10 * time.Minute
	}
	if opt.IdleLimit == 0 {
		opt.IdleLimit = time.Minute
	}
	if opt.Retries == 0 {
		opt.Retries = 3
	}
	if opt.Rand == nil {
		opt.Rand = rand.Float64
	}
	c := &Client{opt: opt, user: root.User, http: opt.HTTP, tinker: tinkerSession{turn: make(chan struct{}, 1)}}
	root.User = nil
	c.root = root
	if c.http == nil {
		c.http = &http.Client{Transport: newTransport()}
	}
	model, none := opt.Model, ""
	c.model.Store(&model)
	if opt.Plain {
		c.extras.Store(extrasNone)
	}
	c.server.Store(&none)
	for _, p := range []*atomic.Pointer[string]{&c.complete, &c.version, &c.versionAt, &c.mode} {
		p.Store(&none)
	}
	return c, nil
}

// parseBase normalises a base URL to its root, without a trailing /v1 or slash.
func parseBase(base string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		// The parser's own text would repeat the URL, credentials included.
		var parse *url.Error
		if errors.As(err, &parse) {
			err = parse.Err
		}
		return nil, fmt.Errorf("endpoint URL cannot be read: %w; write it like http://127.0.0.1:8000/v1", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("endpoint URL %q has no http:// or https:// and host; write it like http://127.0.0.1:8000/v1", u.Redacted())
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.Path = strings.TrimRight(strings.TrimSuffix(u.Path, "/v1"), "/")
	u.RawPath, u.RawQuery, u.Fragment = "", "", ""
	return u, nil
}

func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		// One connection a running trajectory: hundreds are usual.
		MaxIdleConnsPerHost: 1024,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // pieces of a stream must not wait for a full block
	}
}

// URL is the endpoint's root without /v1 and without credentials.
func (c *Client) URL() string { return c.root.String() }

// String names the client without its key.
func (c *Client) String() string { return "endpoint " + c.URL() }

// GoString too: the printer could not call Secret's methods on hidden fields.
func (c *Client) GoString() string { return c.String() }

// Model is the model asked for, or the one Probe chose.
func (c *Client) Model() string { return *c.model.Load() }

// Close drops idle connections. Calls in progress end with their contexts;
// those that stop a server's sampling are waited for, asideLimit at most.
func (c *Client) Close() error {
	c.asides.Lock()
	c.closed = true
	c.asides.Unlock()
	c.side.Wait()
	c.http.CloseIdleConnections()
	return nil
}

// asideLimit bounds a call that nobody waits for.
const asideLimit = 2 * time.Second

// aside makes a call whose outcome changes nothing, without delaying anybody.
func (c *Client) aside(do func(ctx context.Context) error) {
	c.asides.Lock()
	defer c.asides.Unlock()
	if c.closed {
		return
	}
	c.side.Go(func() {
		ctx, cancel := limited(context.Background(), asideLimit)
		defer cancel()
		_ = do(ctx) // best effort: the server may be the very thing that does not answer
	})
}

// request makes an HTTP request for a path below the root. The length of body
// is known, so a connection that died idle is replaced by the transport.
func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.URL()+path, body)
	if err != nil {
		return nil, fmt.Errorf("request to %s%s: %w", c.URL(), path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	switch {
	case c.opt.Key != "":
		req.Header.Set("Authorization", "Bearer "+string(c.opt.Key))
	case c.user != nil:
		password, _ := c.user.Password() // absent is the empty password
		req.SetBasicAuth(c.user.Username(), password)
	}
	return req, nil
}

// maxAnswer bounds any answer's body, bytes: about 5 million token ids.
const maxAnswer = 256 << 20

// exchange sends one request and reads a whole 2xx answer, at most limit bytes
// of it. Every other outcome is an *Error, or the context's error.
func (c *Client) exchange(req *http.Request, limit int64) ([]byte, error) {
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.failed(req.Context(), err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return nil, c.refused(req.Context(), res)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return nil, c.failed(req.Context(), err)
	}
	if int64(len(body)) > limit {
		return nil, c.fault(Unavailable, fmt.Sprintf("answer of %s is longer than %d bytes", req.URL.Path, limit), nil)
	}
	return body, nil
}
