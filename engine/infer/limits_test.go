package infer

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// transport answers in memory, so that time within a bubble is free to move.
type transport func(n int, r *http.Request) (*http.Response, error)

func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	f.n++
	f.at = append(f.at, time.Since(f.start))
	return f.answer(f.n, r)
}

type fake struct {
	answer transport
	start  time.Time
	n      int
	at     []time.Duration // when each request came
}

func fakeClient(t *testing.T, opt Options, answer transport) (*Client, *fake) {
	t.Helper()
	f := &fake{answer: answer, start: time.Now()}
	opt.BaseURL, opt.HTTP = "http://test", &http.Client{Transport: f}
	if opt.Rand == nil {
		opt.Rand = func() float64 { return 0 }
	}
	c, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return c, f
}

func respond(status int, body io.Reader, header ...string) *http.Response {
	r := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(body)}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

const goodAnswer = `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`

// pieces is a stream that sends a piece each interval, then stays silent, until
// its request ends.
func pieces(r *http.Request, every time.Duration, count int) *http.Response {
	in, out := io.Pipe()
	go func() {
		// Some servers greet with the role while the request is still queued.
		if _, err := io.WriteString(out, "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"); err != nil {
			return
		}
		for range count {
			select {
			case <-time.After(every):
			case <-r.Context().Done():
				out.CloseWithError(r.Context().Err())
				return
			}
			if _, err := io.WriteString(out, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"); err != nil {
				return
			}
		}
		<-r.Context().Done()
		out.CloseWithError(r.Context().Err())
	}()
	return respond(200, in)
}

func streaming() Request {
	r := ask
	r.Stream = func(string) {}
	return r
}

func TestLimits(t *testing.T) {
	const minute = time.Minute
	cases := []struct {
		name  string
		every time.Duration
		count int
		want  string
		after time.Duration
	}{
		// Silence before the first piece is the queue's, not the stream's.
		{"late first piece, then silence", 4 * minute, 1, "idle limit of 1m0s", 5 * minute},
		{"stalled after three", 30 * time.Second, 3, "idle limit of 1m0s", 150 * time.Second},
		{"endless", 30 * time.Second, 1 << 30, "request limit of 10m0s", 10 * minute},
		{"nothing at all", 0, 0, "request limit of 10m0s", 10 * minute},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, f := fakeClient(t, Options{}, func(_ int, r *http.Request) (*http.Response, error) {
					return pieces(r, c.every, c.count), nil
				})
				_, err := client.Chat(t.Context(), streaming())
				var e *Error
				if !errors.As(err, &e) || e.Kind != TimedOut || !strings.Contains(e.Message, c.want) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(f.start); took != c.after || f.n != 1 {
					t.Errorf("took %v and %d requests, want %v and 1", took, f.n, c.after)
				}
			})
		})
	}
}

// The caller's cancellation is not an error of the endpoint, and it ends the
// request at once.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, f := fakeClient(t, Options{}, func(_ int, r *http.Request) (*http.Response, error) {
			return pieces(r, time.Second, 1000), nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5500*time.Millisecond, cancel)
		_, err := client.Chat(ctx, streaming())
		var e *Error
		if !errors.Is(err, context.Canceled) || errors.As(err, &e) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(f.start); took != 5500*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}

func TestRetries(t *testing.T) {
	busy := func(after string) transport {
		return func(n int, r *http.Request) (*http.Response, error) {
			if n < 3 {
				return respond(429, strings.NewReader(`{"error":"busy"}`), "Retry-After", after), nil
			}
			return respond(200, strings.NewReader(goodAnswer)), nil
		}
	}
	failing := func(int, *http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }
	cases := []struct {
		name   string
		opt    Options
		answer transport
		at     []time.Duration // seconds·10
		want   string          // of the error, "" for success
	}{
		// 0.5 s, 1 s, 2 s without jitter.
		{"connection lost", Options{}, failing, []time.Duration{0, 5, 15, 35}, "(after 4 attempts)"},
		// The whole of the jitter halves each wait.
		{"jitter", Options{Rand: func() float64 { return 1 }, Retries: 2}, failing, []time.Duration{0, 2, 7}, "(after 3 attempts)"},
		{"none asked for", Options{Retries: -1}, failing, []time.Duration{0}, "before the answer was whole"},
		{"retry after", Options{}, busy("7"), []time.Duration{0, 70, 140}, ""},
		{"retry after less than the backoff", Options{}, busy("0"), []time.Duration{0, 5, 15}, ""},
		{"retry after as a date of the past", Options{}, busy("Mon, 02 Jan 1995 15:04:05 GMT"), []time.Duration{0, 5, 15}, ""},
		{"longer than the request limit", Options{}, busy("3600"), []time.Duration{0}, "busy"},
		{"not for a bad request", Options{}, func(int, *http.Request) (*http.Response, error) {
			return respond(400, strings.NewReader(`{"error":"no"}`)), nil
		}, []time.Duration{0}, "bad_request"},
		{"not for an overflow", Options{}, func(int, *http.Request) (*http.Response, error) {
			return respond(400, strings.NewReader(`{"error":"maximum context length"}`)), nil
		}, []time.Duration{0}, "overflow"},
		{"server error, then well", Options{}, func(n int, _ *http.Request) (*http.Response, error) {
			if n == 1 {
				return respond(503, strings.NewReader("")), nil
			}
			return respond(200, strings.NewReader(goodAnswer)), nil
		}, []time.Duration{0, 5}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, f := fakeClient(t, c.opt, c.answer)
				reply, err := client.Chat(t.Context(), ask)
				if c.want == "" && (err != nil || reply.Content != "ok") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("got %+v, %v", reply, err)
				}
				if len(f.at) != len(c.at) {
					t.Fatalf("requests at %v, want %v tenths of a second", f.at, c.at)
				}
				for i, at := range c.at {
					if f.at[i].Truncate(100*time.Millisecond) != at*100*time.Millisecond {
						t.Errorf("requests at %v, want %v tenths of a second", f.at, c.at)
					}
				}
				failed := len(c.at)
				switch c.want {
				case "":
					failed--
				case "overflow": // the prompt's fault
					failed = 0
				}
				if n := client.Errors(); n != int64(failed) {
					t.Errorf("%d errors counted, want %d", n, failed)
				}
			})
		})
	}
}

// A stream that broke is asked for again as a whole: nothing of the first part
// is in the reply, and the viewer is told that what it saw is void.
func TestBrokenStreamIsSampledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := fakeClient(t, Options{}, func(n int, _ *http.Request) (*http.Response, error) {
			body := "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"first\"},\"token_ids\":[1]}]}\n\n"
			if n == 2 {
				body = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"second\"},\"token_ids\":[2],\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
			}
			return respond(200, strings.NewReader(body)), nil
		})
		var seen []string
		r := ask
		r.Stream = func(text string) { seen = append(seen, text) }
		r.Restart = func() { seen = append(seen, "|") }
		reply, err := client.Chat(t.Context(), r)
		if err != nil || reply.Content != "second" || len(reply.OutputIDs) != 1 || reply.OutputIDs[0] != 2 {
			t.Errorf("got %+v, %v", reply, err)
		}
		if got := strings.Join(seen, ""); got != "first|second" {
			t.Errorf("streamed %q", got)
		}
	})
}
