package simulated_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rollbench/engine/infer"
	"rollbench/engine/infer/simulated"
)

// bubble runs a server and a client of it on the clock of a bubble.
func bubble(t *testing.T, opt simulated.Options, test func(t *testing.T, s *simulated.Server, c *infer.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{make(chan net.Conn), make(chan struct{})}
		opt.Listener = p
		s, err := simulated.Start(opt)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{DialContext: p.dial}
		c, err := infer.New(infer.Options{BaseURL: s.URL(), HTTP: &http.Client{Transport: transport}, Retries: -1})
		if err != nil {
			t.Fatal(err)
		}
		test(t, s, c)
		transport.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A step takes 10 ms and 1 ms for each running request; 1000 prompt tokens take
// a second.
func modelled(kv int) simulated.Options {
	return simulated.Options{Latency: 5 * time.Millisecond, StepTime: 10 * time.Millisecond, StepTimePerSequence: time.Millisecond,
		PrefillTokensPerSecond: 1000, KVTokens: kv}
}

// Alone, n tokens of a reply take 5 ms, 1 ms for each token of the prompt and n
// times 11 ms. They are those that a server without a modelled GPU gives. Asked
// again, the prompt is in the prefix cache but for what fills no block of 16.
func TestModelledPace(t *testing.T) {
	plain := start(t, simulated.Options{})
	plain.Register("s", fix)
	want, err := client(t, infer.Options{BaseURL: plain.URL()}).Chat(context.Background(), question("s"))
	if err != nil {
		t.Fatal(err)
	}
	bubble(t, modelled(0), func(t *testing.T, s *simulated.Server, c *infer.Client) {
		s.Register("s", fix)
		r := question("s")
		whole, err := c.Chat(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(bare(whole), bare(want)) {
			t.Errorf("got %+v, want %+v", bare(whole), bare(want))
		}
		ms := time.Millisecond
		prompt, n := time.Duration(len(whole.PromptIDs)), time.Duration(len(whole.OutputIDs))
		if took := (5 + prompt + 11*n) * ms; whole.Wall != took || *whole.CachedTokens != 0 {
			t.Errorf("%d and %d tokens took %v, want %v; %d cached", prompt, n, whole.Wall, took, *whole.CachedTokens)
		}
		r.Stream = func(string) {}
		again, err := c.Chat(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		cached := (prompt - 1) / 16 * 16
		first := (5 + prompt - cached + 11) * ms
		all := first + 11*(n-1)*ms
		if again.FirstToken != first || again.Wall < all || again.Wall > all+25*ms || *again.CachedTokens != int(cached) {
			t.Errorf("streamed: first token after %v, want %v; all after %v, want %v; %d cached, want %d", again.FirstToken, first, again.Wall, all, *again.CachedTokens, cached)
		}
		if !reflect.DeepEqual(again.OutputIDs, want.OutputIDs) {
			t.Error("the stream has other ids")
		}
	})
}

// ask for n tokens after a prompt of so many; the answer's status.
func ask(ctx context.Context, s *simulated.Server, session string, prompt, n int) int {
	body := fmt.Sprintf(`{"prompt":"%s","max_tokens":%d}`, strings.Repeat(session, prompt), n)
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/completions", strings.NewReader(body))
	req.Header.Set("X-Session-ID", session)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	return w.Code
}

// shown by a scrape: running, waiting, preemptions, and blocks in use of all.
func shown(t *testing.T, c *infer.Client, blocks float64) [4]float64 {
	t.Helper()
	g, err := c.Scrape(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return [4]float64{*g.Running, *g.Waiting, *g.Preemptions, *g.KVUse * blocks}
}

// Ten blocks: three requests of 3 blocks each, and a fourth of 5 that waits, also
// when the third is over. A request that goes away frees its blocks at once.
func TestModelledMetrics(t *testing.T) {
	opt := modelled(160)
	opt.Latency, opt.PrefillTokensPerSecond = -1, 0
	bubble(t, opt, func(t *testing.T, s *simulated.Server, c *infer.Client) {
		var all sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for _, r := range []struct {
			ctx       context.Context
			prompt, n int
			status    int
		}{{t.Context(), 40, 20, 200}, {ctx, 40, 20, 200}, {t.Context(), 40, 4, 200}, {t.Context(), 70, 3, 200}} {
			all.Go(func() {
				if code := ask(r.ctx, s, fmt.Sprint(r.prompt%7), r.prompt, r.n); code != r.status && r.ctx.Err() == nil {
					t.Errorf("%+v: %d", r, code)
				}
			})
			synctest.Wait()
		}
		// The first alone for 11 ms, then three of them: 13 ms a step.
		at := func(ms int, want ...float64) {
			t.Helper()
			time.Sleep(time.Duration(ms) * time.Millisecond)
			if got := shown(t, c, 10); !reflect.DeepEqual(got[:], want) {
				t.Errorf("running, waiting, preempted, blocks are %v, want %v", got, want)
			}
		}
		at(0, 1, 3, 0, 3)
		at(11, 3, 1, 0, 9)
		at(52, 2, 1, 0, 6) // the third has its 4 tokens
		cancel()
		synctest.Wait()
		at(0, 1, 1, 0, 3)
		at(12, 2, 0, 0, 8) // the step in progress is over
		all.Wait()
		at(0, 0, 0, 0, 0)
	})
}

// What never fits is refused with the context error, at once or when the
// capacity drops while it waits; the others go on.
func TestModelledCapacity(t *testing.T) {
	opt := modelled(320)
	bubble(t, opt, func(t *testing.T, s *simulated.Server, c *infer.Client) {
		caps, err := c.Probe(t.Context())
		if err != nil || caps.MaxModelLen != 320 {
			t.Errorf("model length %d, %v; want 320", caps.MaxModelLen, err)
		}
		_, err = c.Chat(t.Context(), question("s")) // tools make it longer
		var e *infer.Error
		if !errors.As(err, &e) || e.Kind != infer.Overflow {
			t.Errorf("got %v", err)
		}
		var all sync.WaitGroup
		for i, r := range []struct{ prompt, n, status int }{{100, 15, 200}, {200, 10, 400}, {50, 15, 200}} {
			all.Go(func() {
				if code := ask(t.Context(), s, fmt.Sprint(i), r.prompt, r.n); code != r.status {
					t.Errorf("%+v: %d", r, code)
				}
			})
			synctest.Wait()
		}
		time.Sleep(50 * time.Millisecond)
		s.SetKVTokens(160)
		all.Wait()
		if code := ask(t.Context(), s, "x", 155, 10); code != 400 {
			t.Errorf("165 tokens of 160: %d", code)
		}
	})
}

func TestModelledOptions(t *testing.T) {
	for _, opt := range []simulated.Options{
		{StepTime: -1}, {StepTimePerSequence: -1}, {PrefillTokensPerSecond: -1}, {KVTokens: -1},
		{KVTokens: 100, TokensPerSecond: -1}, {KVTokens: 15},
	} {
		if s, err := simulated.Start(opt); err == nil {
			t.Errorf("%+v was taken", opt)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
