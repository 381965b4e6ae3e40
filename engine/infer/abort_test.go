package infer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Cancelling comes back at once; the server is told by its own call, which has
// its own limit, and Close waits for it.
func TestCancelTellsTheServer(t *testing.T) {
	cases := []struct{ protocol, path, want string }{
		{byCompletions, "", ""}, // vLLM notices that the connection has gone
		{byGenerate, "/abort_requests", `{"request_ids":["generate-tokens-%s"]}`},
		{bySGLang, "/abort_request", `{"rid":"%s"}`},
	}
	for _, c := range cases {
		t.Run(c.protocol, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var id, told string
				client, f := fakeClient(t, Options{}, func(n int, r *http.Request) (*http.Response, error) {
					body, err := io.ReadAll(r.Body)
					if err != nil {
						t.Error(err)
					}
					if n == 1 {
						var sent map[string]any
						if err := json.Unmarshal(body, &sent); err != nil {
							t.Error(err)
						}
						for _, key := range []string{"request_id", "rid"} {
							if v, ok := sent[key].(string); ok {
								id = v
							}
						}
						return pieces(r, time.Second, 0), nil
					}
					told = r.URL.Path + " " + string(body)
					<-r.Context().Done() // it never answers
					return nil, r.Context().Err()
				})
				client.complete.Store(&c.protocol)
				client.stops.Store(true)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(5*time.Second, cancel)
				r := goOn
				r.Stream = func(string) {}
				_, err := client.Complete(ctx, r)
				if took := time.Since(f.start); !errors.Is(err, context.Canceled) || took != 5*time.Second {
					t.Errorf("got %v after %v", err, took)
				}
				if err := client.Close(); err != nil {
					t.Error(err)
				}
				want, wait := "", time.Duration(0)
				if c.path != "" {
					want, wait = c.path+" "+fmt.Sprintf(c.want, id), asideLimit
				}
				if told != want || time.Since(f.start) != 5*time.Second+wait {
					t.Errorf("told %q, want %q; closed after %v", told, want, time.Since(f.start))
				}
			})
		})
	}
}

// A limit of our own stops the server's sampling too; an answer that is whole,
// or an error of the server, needs no call.
func TestWhenTheServerIsTold(t *testing.T) {
	cases := []struct {
		name   string
		answer func(r *http.Request) *http.Response
		told   bool
	}{
		{"idle", func(r *http.Request) *http.Response {
			in, out := io.Pipe()
			go func() {
				if _, err := io.WriteString(out, `data: {"text":"a","output_ids":[1],"meta_info":{"finish_reason":null,"completion_tokens":1}}`+"\n\n"); err != nil {
					return
				}
				<-r.Context().Done()
				out.CloseWithError(r.Context().Err())
			}()
			return respond(200, in)
		}, true},
		{"whole", func(*http.Request) *http.Response {
			return respond(200, strings.NewReader(`data: {"text":"a","output_ids":[1],"meta_info":{"finish_reason":{"type":"stop"},"completion_tokens":1}}`+"\n\ndata: [DONE]\n\n"))
		}, false},
		{"refused", func(*http.Request) *http.Response {
			return respond(400, strings.NewReader(`{"error":{"message":"no"}}`))
		}, false},
		{"broken", func(*http.Request) *http.Response { return respond(200, strings.NewReader("data: {")) }, false},
	}
	for _, c := range cases {
		synctest.Test(t, func(t *testing.T) {
			told := false
			client, _ := fakeClient(t, Options{Retries: -1}, func(n int, r *http.Request) (*http.Response, error) {
				if r.URL.Path == "/abort_request" {
					told = true
					return respond(200, strings.NewReader("")), nil
				}
				return c.answer(r), nil
			})
			protocol := bySGLang
			client.complete.Store(&protocol)
			r := goOn
			r.Stream = func(string) {}
			if _, err := client.Complete(t.Context(), r); (err == nil) != (c.name == "whole") {
				t.Errorf("%s: %v", c.name, err)
			}
			if err := client.Close(); err != nil || told != c.told {
				t.Errorf("%s: told %v, %v", c.name, told, err)
			}
		})
	}
}

// A stream that broke is sampled again as a whole, under another id.
func TestBrokenContinuation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ids []string
		client, _ := fakeClient(t, Options{}, func(n int, r *http.Request) (*http.Response, error) {
			var sent struct{ Rid string }
			if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
				t.Error(err)
			}
			ids = append(ids, sent.Rid)
			if n == 1 {
				return respond(200, strings.NewReader(`data: {"text":"first","output_ids":[1],"meta_info":{"finish_reason":null,"completion_tokens":1}}`+"\n\n")), nil
			}
			return respond(200, strings.NewReader(`data: {"text":"second","output_ids":[2],"meta_info":{"finish_reason":{"type":"length"},"completion_tokens":1}}`+"\n\ndata: [DONE]\n\n")), nil
		})
		protocol := bySGLang
		client.complete.Store(&protocol)
		seen := ""
		r := goOn
		r.Stream = func(text string) { seen += text }
		r.Restart = func() { seen += "|" }
		reply, err := client.Complete(t.Context(), r)
		if err != nil || reply.Raw != "second" || len(reply.OutputIDs) != 1 || reply.OutputIDs[0] != 2 || seen != "first|second" {
			t.Errorf("got %+v, %v, streamed %q", reply, err, seen)
		}
		if len(ids) != 2 || ids[0] == ids[1] {
			t.Errorf("ids %q", ids)
		}
	})
}
