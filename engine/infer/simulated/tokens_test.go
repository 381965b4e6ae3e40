package simulated_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rollbench/engine/infer"
	"rollbench/engine/infer/simulated"
)

// ways to continue ids: what the server looks like, and the path that is asked.
// The first two are of one server; which is used is the probe's choice.
var ways = []struct{ like, path, refused string }{
	{"", "/v1/completions", ""},
	{"", "/inference/v1/generate", "/v1/completions"},
	{simulated.LikeSGLang, "/generate", ""},
	{simulated.LikeTinker, "/api/v1/retrieve_future", ""},
}

// later faults are none until it is told to begin; then calls on a path go
// wrong, counted from 1.
type later struct {
	mu            sync.Mutex // guards all below
	begun         bool
	calls         int
	path, refused string // refused is a path that is not there at all
	fault         func(n int) simulated.Fault
}

func (l *later) faults(_ int, path string) simulated.Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	if path == l.refused {
		return simulated.Fault{Status: 404, Body: `{"detail":"Not Found"}`}
	}
	if !l.begun || path != l.path || l.fault == nil {
		return simulated.Fault{}
	}
	l.calls++
	return l.fault(l.calls)
}

func (l *later) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = true
}

// probed is a client of a server whose calls on a path go wrong after the probe.
func probed(t *testing.T, like, path, refused string, opt infer.Options, fault func(n int) simulated.Fault) (*simulated.Server, *infer.Client) {
	t.Helper()
	l := &later{path: path, refused: refused, fault: fault}
	s := start(t, simulated.Options{Like: like, Faults: l.faults})
	opt.BaseURL = s.URL()
	c := client(t, opt)
	caps, err := c.Probe(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if caps.Complete == "" || !caps.Trainable() {
		t.Fatalf("capabilities %+v", caps)
	}
	l.begin()
	return s, c
}

// The same prompt in the same session gives the same ids, logprobs and text by
// every way, streamed or not, turn after turn.
func TestWaysAgree(t *testing.T) {
	chats := start(t, simulated.Options{})
	talk := client(t, infer.Options{BaseURL: chats.URL()})
	var clients []*infer.Client
	servers := []*simulated.Server{chats}
	for _, way := range ways {
		s, c := probed(t, way.like, way.path, way.refused, infer.Options{}, nil)
		servers, clients = append(servers, s), append(clients, c)
	}
	cut, stopped := 0, 0
	for i := range 12 {
		r := question(fmt.Sprint("s", i))
		seed := int64(i)
		if i%2 == 0 {
			r.Sampling.Seed = &seed
		}
		for _, s := range servers {
			s.Register(r.SessionID, fix)
		}
		for turn := range 4 {
			r.MaxTokens = 4000
			if turn == 2 {
				r.MaxTokens = 30
			}
			want, err := talk.Chat(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			if want.FinishReason == "length" {
				cut++
			} else {
				stopped++
			}
			for k, c := range clients {
				for _, streamed := range []bool{false, true} {
					got := continued(t, c, r, want.PromptIDs, streamed)
					if !reflect.DeepEqual(got.OutputIDs, want.OutputIDs) || !reflect.DeepEqual(got.Logprobs, want.Logprobs) ||
						!reflect.DeepEqual(got.PromptIDs, want.PromptIDs) || got.Raw != want.Raw && ways[k].like != simulated.LikeTinker {
						t.Fatalf("%s, session %d, turn %d, streamed %v:\ngot  %+v\nwant %+v", ways[k].path, i, turn, streamed, got, want)
					}
					if (got.FinishReason == "length") != (want.FinishReason == "length") || got.EndsTurn != want.EndsTurn || got.EndsTurn != (got.FinishReason == "stop") || got.Content+got.Reasoning != "" || got.Calls != nil {
						t.Fatalf("%s: %+v", ways[k].path, got)
					}
				}
			}
			r.Messages = append(r.Messages, infer.Message{Role: "assistant", Content: want.Content, Reasoning: want.Reasoning, ToolCalls: want.Calls}, infer.Message{Role: "tool", Content: "ok"})
		}
	}
	if cut < 6 || stopped < 12 {
		t.Errorf("%d replies were cut and %d were not: too few to tell", cut, stopped)
	}
}

// continued is the reply to ids; streamed text adds up to its Raw.
func continued(t *testing.T, c *infer.Client, r infer.Request, prompt []int32, streamed bool) infer.Reply {
	t.Helper()
	tokens := infer.TokenRequest{Prompt: prompt, Sampling: r.Sampling, MaxTokens: r.MaxTokens, SessionID: r.SessionID}
	var text strings.Builder
	if streamed {
		tokens.Stream = func(s string) { text.WriteString(s) }
	}
	reply, err := c.Complete(context.Background(), tokens)
	if err != nil {
		t.Fatal(err)
	}
	if streamed && text.String() != reply.Raw {
		t.Fatalf("streamed %q of %q", text.String(), reply.Raw)
	}
	return reply
}

// Each fault by each way, whole and streamed.
func TestFaultsOfContinuations(t *testing.T) {
	const tinker = simulated.LikeTinker
	cases := []struct {
		name          string
		fault         simulated.Fault
		whole, stream infer.ErrorKind // "" for success
	}{
		{"none", simulated.Fault{}, "", ""},
		{"reset", simulated.Fault{Reset: true}, infer.Unavailable, infer.Unavailable},
		{"slow", simulated.Fault{Delay: time.Minute}, infer.TimedOut, infer.TimedOut},
		{"cut JSON", simulated.Fault{CutAfter: 100}, infer.Unavailable, infer.Unavailable},
		{"wrong counts", simulated.Fault{CountOff: 1}, infer.Mismatch, infer.Mismatch},
		{"400", simulated.Fault{Status: 400, Body: `{"error":{"message":"bad"}}`}, infer.BadRequest, infer.BadRequest},
		{"404", simulated.Fault{Status: 404, Body: `{"detail":"Not Found"}`}, infer.BadRequest, infer.BadRequest},
		{"429", simulated.Fault{Status: 429}, infer.Busy, infer.Busy},
		{"500", simulated.Fault{Status: 500, Body: `{"error":{"message":"engine died"}}`}, infer.Unavailable, infer.Unavailable},
		{"empty reply", simulated.Fault{Empty: true}, "", ""},
		{"no logprobs", simulated.Fault{NoLogprobs: true}, "", ""},
		{"no ids", simulated.Fault{NoTokenIDs: true}, "", ""}, // the logprobs name them
		{"stalled stream", simulated.Fault{Stall: true}, "", infer.TimedOut},
		{"endless stream", simulated.Fault{Endless: true}, "", infer.TimedOut},
	}
	for _, way := range ways {
		for _, c := range cases {
			t.Run(way.path+" "+c.name, func(t *testing.T) {
				t.Parallel()
				// What is wrong with a sample of the Tinker API is so from the
				// asking on; the calls themselves fail when it is fetched.
				path := way.path
				f := c.fault
				if way.like == tinker && (f.CountOff != 0 || f.Empty || f.NoLogprobs || f.NoTokenIDs || f.Stall || f.Endless) {
					path = "/api/v1/asample"
				}
				opt := infer.Options{Retries: -1, RequestLimit: 400 * time.Millisecond, IdleLimit: 200 * time.Millisecond}
				_, cl := probed(t, way.like, path, way.refused, opt, func(int) simulated.Fault { return f })
				for _, streamed := range []bool{false, true} {
					want, r := c.whole, infer.TokenRequest{Prompt: []int32{'h', 'i'}, MaxTokens: 4000, SessionID: "s"}
					if streamed {
						want, r.Stream = c.stream, func(string) {}
					}
					switch {
					case way.like == tinker && f.NoTokenIDs:
						want = infer.Mismatch
					case way.like == tinker && f.Status == 404: // the server has forgotten it
						want = infer.Unavailable
					case way.like == tinker && (f.Stall || f.Endless):
						want = infer.TimedOut
					}
					reply, err := cl.Complete(context.Background(), r)
					var e *infer.Error
					if want == "" && err != nil || want != "" && (!errors.As(err, &e) || e.Kind != want) {
						t.Errorf("streamed %v: got %v, want %q", streamed, err, want)
					}
					if err == nil {
						checkTokens(t, f, reply)
					}
				}
			})
		}
	}
}

// What the endpoint does not report is absent, never made up.
func checkTokens(t *testing.T, f simulated.Fault, r infer.Reply) {
	t.Helper()
	switch {
	case f.Empty:
		if r.OutputIDs == nil || len(r.OutputIDs) != 0 || len(r.Logprobs) != 0 || r.OutputTokens != 0 || r.Raw != "" {
			t.Errorf("an empty reply became %+v", r)
		}
	case f.NoLogprobs:
		if r.Logprobs != nil || len(r.OutputIDs) == 0 {
			t.Errorf("without logprobs: %v", r.Logprobs)
		}
	default:
		if len(r.OutputIDs) == 0 || len(r.OutputIDs) != len(r.Logprobs) || !reflect.DeepEqual(r.PromptIDs, []int32{'h', 'i'}) || r.FinishReason != "stop" {
			t.Errorf("got %+v", r)
		}
	}
}

// One reset, then well: the retry gives one whole reply. By the Tinker API the
// sample that was being made is fetched, not another one.
func TestContinuationRecovers(t *testing.T) {
	for _, way := range ways {
		var asked atomic.Int64
		_, c := probed(t, way.like, way.path, way.refused, infer.Options{Rand: func() float64 { return 1 }}, func(n int) simulated.Fault {
			asked.Store(int64(n))
			return simulated.Fault{Reset: n == 1}
		})
		reply, err := c.Complete(context.Background(), infer.TokenRequest{Prompt: []int32{'h', 'i'}, MaxTokens: 4000, SessionID: "s"})
		if err != nil || len(reply.OutputIDs) == 0 || asked.Load() != 2 {
			t.Errorf("%s: %+v, %v after %d calls", way.path, reply, err, asked.Load())
		}
	}
}

func TestStopIDs(t *testing.T) {
	for _, way := range ways {
		s, c := probed(t, way.like, way.path, way.refused, infer.Options{}, nil)
		s.Register("s", fix)
		r := infer.TokenRequest{Prompt: []int32{'h', 'i'}, MaxTokens: 4000, SessionID: "s", StopIDs: []int32{'e'}}
		reply, err := c.Complete(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		last := len(reply.OutputIDs) - 1
		if reply.OutputIDs[last] != 'e' || slices.Contains(reply.OutputIDs[:last], 'e') || !reply.EndsTurn || reply.FinishReason != "stop" {
			t.Errorf("%s: %+v", way.path, reply)
		}
		if way.like != simulated.LikeTinker && (reply.StopReason != "101" || !strings.HasSuffix(reply.Raw, "e")) {
			t.Errorf("%s: stopped by %q, raw %q", way.path, reply.StopReason, reply.Raw)
		}
	}
}

// A stop text ends a reply, but not the turn.
func TestStopTextOfContinuation(t *testing.T) {
	for _, way := range ways {
		s, c := probed(t, way.like, way.path, way.refused, infer.Options{}, nil)
		s.Register("s", fix)
		r := infer.TokenRequest{Prompt: []int32{'h', 'i'}, MaxTokens: 4000, SessionID: "s", Sampling: infer.Sampling{Stop: []string{"</think>"}}}
		reply, err := c.Complete(context.Background(), r)
		if err != nil || reply.EndsTurn || reply.FinishReason != "stop" || len(reply.OutputIDs) == 0 {
			t.Fatalf("%s: %+v, %v", way.path, reply, err)
		}
		if way.like != simulated.LikeTinker && (reply.StopReason != "</think>" || !strings.HasSuffix(reply.Raw, "</think>")) {
			t.Errorf("%s: stopped by %q, raw %q", way.path, reply.StopReason, reply.Raw)
		}
	}
}

// A prompt beyond the context is an overflow by every way.
func TestContinuationOverflow(t *testing.T) {
	for _, way := range ways {
		_, c := probed(t, way.like, way.path, way.refused, infer.Options{}, nil)
		long := make([]int32, 262144)
		_, err := c.Complete(context.Background(), infer.TokenRequest{Prompt: long, MaxTokens: 1, SessionID: "s"})
		var e *infer.Error
		if !errors.As(err, &e) || e.Kind != infer.Overflow {
			t.Errorf("%s: got %v", way.path, err)
		}
	}
}

// Cancelling ends a call at once by every way, and nothing of it is left: not
// on the server, and no goroutine, for which a bubble would not end.
func TestCancelContinuation(t *testing.T) {
	for _, way := range ways {
		t.Run(way.path, func(t *testing.T) {
			l := &later{path: way.path, refused: way.refused, fault: func(int) simulated.Fault { return simulated.Fault{Stall: true} }}
			if way.like == simulated.LikeTinker {
				l.path = "/api/v1/asample"
			}
			bubble(t, simulated.Options{Like: way.like, Faults: l.faults}, func(t *testing.T, _ *simulated.Server, c *infer.Client) {
				caps, err := c.Probe(t.Context())
				if err != nil || caps.Complete == "" {
					t.Fatal(caps, err)
				}
				l.begin()
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() {
					_, err := c.Complete(ctx, infer.TokenRequest{Prompt: []int32{'h', 'i'}, MaxTokens: 4000, SessionID: "s", Stream: func(string) {}})
					done <- err
				}()
				time.Sleep(5 * time.Second)
				synctest.Wait()
				if caps.Metrics {
					if running, _ := gauges(t, c); running != 1 {
						t.Errorf("%v requests run", running)
					}
				}
				before := time.Now()
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) || time.Since(before) != 0 {
					t.Errorf("got %v after %v", err, time.Since(before))
				}
				synctest.Wait()
				if caps.Metrics {
					if running, _ := gauges(t, c); running != 0 {
						t.Errorf("%v requests still run", running)
					}
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A sample that takes longer than the server lets a call wait is asked for
// again and again, until it is there.
func TestSlowSample(t *testing.T) {
	bubble(t, simulated.Options{Like: simulated.LikeTinker, TokensPerSecond: 0.25}, func(t *testing.T, _ *simulated.Server, c *infer.Client) {
		if _, err := c.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		reply, err := c.Complete(t.Context(), infer.TokenRequest{Prompt: []int32{'h', 'i'}, MaxTokens: 400, SessionID: "s"})
		if err != nil || reply.Wall != time.Since(start) || reply.Wall < 300*time.Second ||
			reply.Wall != 30*time.Millisecond+time.Duration(len(reply.OutputIDs)-1)*4*time.Second {
			t.Errorf("%d tokens in %v, %v", len(reply.OutputIDs), reply.Wall, err)
		}
	})
}
