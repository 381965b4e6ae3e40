// Package simulated is the embedded inference endpoint: a real HTTP server with
// the OpenAI-compatible protocol of vLLM, whose model is an explicit stochastic
// policy over an agent's next actions.
//
// In: chat requests with tools, prompts of token ids by the protocol of vLLM,
// SGLang or the Tinker API, and by Register what the policy may know of a
// session's task. Out: replies with the true ids and
// logprobs of what was sampled, paced like a real engine, and its metrics. The
// server keeps no state of a conversation: the same seed, session and
// conversation give the same reply, whatever else is going on.
package simulated

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Owner is what /v1/models names as owner: clients tell by it that the
// endpoint is simulated.
const Owner = "rollbench-simulated"

// Options of a server. Zero values take the defaults in brackets.
type Options struct {
	Address         string        // to listen on [127.0.0.1:0]
	Listener        net.Listener  // used instead of Address when set
	Model           string        // [simulated-policy]
	Like            string        // whose routes it has: LikeSGLang, LikeTinker [vLLM's]
	Seed            int64         // of every random stream
	Latency         time.Duration // to the first token [30 ms]; negative for none
	TokensPerSecond float64       // of each request [4000]; negative: all at once
	Concurrency     int           // requests that run; others wait [16]
	MaxModelLen     int           // tokens [262,144]; of a modelled GPU at most KVTokens

	// With one of these set, a GPU is modelled: what a request's tokens take
	// depends on who else is there. A step gives each running request a token:
	//	StepTime + running × StepTimePerSequence + computed prompt tokens ÷ PrefillTokensPerSecond
	KVTokens               int           // capacity of the KV cache, tokens [1,048,576]
	StepTime               time.Duration // [without both times: 1 s ÷ TokensPerSecond]
	StepTimePerSequence    time.Duration
	PrefillTokensPerSecond float64   // 0: prompts cost no time
	Behaviour              Behaviour // [DefaultBehaviour]
	// Faults is asked before each POST is answered: n counts them from 1 for
	// each path. nil: none.
	Faults func(n int, path string) Fault
}

// Servers that it can look like. /v1/models and the list of Tinker's models
// name Owner all the same.
const (
	LikeSGLang = "sglang"
	LikeTinker = "tinker"
)

func (o Options) withDefaults() Options {
	set := func(zero bool, assign func()) {
		if zero {
			assign()
		}
	}
	set(o.Address == "", func() { o.Address = "127.0.0.1:0" })
	set(o.Model == "", func() { o.Model = "simulated-policy" })
	set(o.Latency == 0, func() { o.Latency = 30 * time.Millisecond })
	set(o.TokensPerSecond == 0, func() { o.TokensPerSecond = 4000 })
	set(o.Concurrency == 0, func() { o.Concurrency = 16 })
	set(o.KVTokens == 0, func() { o.KVTokens = 1 << 20 })
	set(o.MaxModelLen == 0, func() { o.MaxModelLen = 1 << 18 })
	set(o.Behaviour == Behaviour{}, func() { o.Behaviour = DefaultBehaviour })
	return o
}

// Server is a running endpoint.
type Server struct {
	opt     Options
	url     string
	http    *http.Server
	serving sync.WaitGroup
	failure error // of Serve, read after serving is done
	stop    context.CancelFunc

	load   load
	gpu    *modelled    // nil: none is modelled
	calls  atomic.Int64 // numbers replies and calls without a session
	tasks  sync.RWMutex // guards known
	known  map[string]Task
	faults faults

	ctx     context.Context // ends with Close
	running requests
	futures futures
}

// Start listens and serves until Close.
func Start(opt Options) (*Server, error) {
	model := opt.modelled()
	opt = opt.withDefaults()
	if err := opt.check(model); err != nil {
		return nil, err
	}
	listener := opt.Listener
	if listener == nil {
		var err error
		if listener, err = net.Listen("tcp", opt.Address); err != nil {
			return nil, fmt.Errorf("simulated endpoint cannot listen on %s: %w; choose another address", opt.Address, err)
		}
	}
	s := &Server{opt: opt, url: "http://" + reachable(listener.Addr()), known: map[string]Task{}}
	s.load.init(opt)
	if model {
		s.gpu = newModelled(opt)
		s.opt.MaxModelLen = min(opt.MaxModelLen, opt.KVTokens/blockSize*blockSize)
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second,
		// Broken connections are the clients' business; they see them themselves.
		ErrorLog:    log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return s.ctx },
	}
	s.serving.Go(func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failure = err
		}
	})
	return s, nil
}

// reachable is an address to dial: a server on all interfaces is on loopback too.
func reachable(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return a.String()
}

func (o Options) check(model bool) error {
	b := o.Behaviour
	for _, p := range []struct {
		name  string
		value float64
	}{{"Right", b.Right}, {"Fix", b.Fix}, {"Test", b.Test}, {"Quit", b.Quit}, {"Malformed", b.Malformed}} {
		if !(p.value >= 0 && p.value <= 1) {
			return fmt.Errorf("simulated endpoint: behaviour %s is %v; it is a probability from 0 to 1", p.name, p.value)
		}
	}
	if o.Like != "" && o.Like != LikeSGLang && o.Like != LikeTinker {
		return fmt.Errorf("simulated endpoint: it can look like %s or %s, not like %q", LikeSGLang, LikeTinker, o.Like)
	}
	if o.StepTime < 0 || o.StepTimePerSequence < 0 || !(o.PrefillTokensPerSecond >= 0) || math.IsInf(o.PrefillTokensPerSecond, 0) {
		return fmt.Errorf("simulated endpoint: step time %v, %v per sequence and %v prefill tokens per second must not be negative", o.StepTime, o.StepTimePerSequence, o.PrefillTokensPerSecond)
	}
	if model && o.stepTime()+o.StepTimePerSequence <= 0 {
		return errors.New("simulated endpoint: a modelled GPU needs a step time or tokens per second")
	}
	if model && o.KVTokens < blockSize {
		return fmt.Errorf("simulated endpoint: a KV cache of %d tokens holds no block of %d", o.KVTokens, blockSize)
	}
	if o.Concurrency < 1 || o.KVTokens < 1 || o.MaxModelLen < 1 {
		return fmt.Errorf("simulated endpoint: concurrency %d, KV tokens %d and model length %d must be at least 1", o.Concurrency, o.KVTokens, o.MaxModelLen)
	}
	return nil
}

// URL is the root, without /v1.
func (s *Server) URL() string { return s.url }

// ServeHTTP answers a request that came by another way than the address.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.http.Handler.ServeHTTP(w, r) }

// Model is the name the server answers to.
func (s *Server) Model() string { return s.opt.Model }

// MaxModelLen is the context window in tokens, that is in bytes of text.
func (s *Server) MaxModelLen() int { return s.opt.MaxModelLen }

// Register tells the policy what it may know of a session's task.
func (s *Server) Register(sessionID string, t Task) {
	s.tasks.Lock()
	defer s.tasks.Unlock()
	s.known[sessionID] = t
}

// Forget a session.
func (s *Server) Forget(sessionID string) {
	s.tasks.Lock()
	defer s.tasks.Unlock()
	delete(s.known, sessionID)
}

func (s *Server) task(sessionID string) Task {
	s.tasks.RLock()
	defer s.tasks.RUnlock()
	return s.known[sessionID]
}

// Wait until the server has ended, by Close or by itself.
func (s *Server) Wait() error {
	s.serving.Wait()
	return s.failure
}

// Close ends all connections, with calls in progress, and waits for the end.
func (s *Server) Close() error {
	closeErr := s.http.Close()
	s.stop() // the context of every request
	err := s.Wait()
	s.load.drain()
	if s.gpu != nil {
		s.gpu.close()
	}
	return errors.Join(err, closeErr)
}
