package infer

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What a server of the Tinker API is asked, in order, when its polls go as told.
func TestFutures(t *testing.T) {
	const done = `200 {"sequences":[{"stop_reason":"length","tokens":[31],"logprobs":[-0.5]}]}`
	setUp := []string{"create_session", "create_sampling_session", "asample"}
	poll := func(n int) []string {
		out := setUp
		for range n {
			out = append(out[:len(out):len(out)], "retrieve_future")
		}
		return out
	}
	cases := []struct {
		name  string
		polls []string // status and body; "" breaks the connection
		asked []string
		after time.Duration
		want  string // of the error
	}{
		{"at once", []string{done}, poll(1), 0, ""},
		// Not yet there is no failed attempt: it is asked for again, once a second.
		{"late", []string{"408 {}", "408 {}", "408 {}", "408 {}", "408 {}", "408 {}", done}, poll(7), 6 * time.Second, ""},
		// The sample is not asked for again when a poll alone fails: 0.5 s, 1 s.
		{"polls fail", []string{"", "503 {}", done}, poll(3), 1500 * time.Millisecond, ""},
		{"server new", []string{"404 {\"detail\":\"Future not found\"}", done}, []string{"create_session", "create_sampling_session", "asample", "retrieve_future", "asample", "retrieve_future"}, 500 * time.Millisecond, ""},
		{"engine fails", []string{"500 {\"detail\":\"Unknown error\"}", done}, []string{"create_session", "create_sampling_session", "asample", "retrieve_future", "asample", "retrieve_future"}, 500 * time.Millisecond, ""},
		{"bad sample", []string{"400 {\"detail\":\"no such thing\"}"}, poll(1), 0, "no such thing"},
		{"cut", []string{"200 {\"sequences\":[{\"tok", done}, []string{"create_session", "create_sampling_session", "asample", "retrieve_future", "asample", "retrieve_future"}, 500 * time.Millisecond, ""},
		{"never", nil, nil, 10 * time.Minute, "request limit of 10m0s"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked []string
				polls := c.polls
				client, f := fakeClient(t, Options{Model: "demo-8b"}, func(_ int, r *http.Request) (*http.Response, error) {
					name := strings.TrimPrefix(r.URL.Path, "/api/v1/")
					if name == "detokenize" || r.URL.Path == "/detokenize" {
						return respond(404, strings.NewReader("")), nil
					}
					asked = append(asked, name)
					next := map[string]string{"create_session": `200 {"session_id":"a"}`, "create_sampling_session": `200 {"sampling_session_id":"b"}`, "asample": `200 {"request_id":"5"}`}[name]
					if name == "retrieve_future" {
						next = "408 {}"
						if c.polls != nil {
							next, polls = polls[0], polls[1:]
						}
					}
					if next == "" {
						return nil, io.ErrUnexpectedEOF
					}
					status := map[string]int{"2": 200, "4": 400, "5": 500}[next[:1]]
					status += int(next[1]-'0')*10 + int(next[2]-'0')
					return respond(status, strings.NewReader(next[4:])), nil
				})
				protocol := byTinker
				client.complete.Store(&protocol)
				reply, err := client.Complete(t.Context(), goOn)
				if took := time.Since(f.start); took != c.after {
					t.Errorf("took %v, want %v", took, c.after)
				}
				if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) || c.want == "" && (err != nil || len(reply.OutputIDs) != 1) {
					t.Errorf("got %+v, %v", reply, err)
				}
				if c.asked != nil && !reflect.DeepEqual(asked, c.asked) {
					t.Errorf("asked %q, want %q", asked, c.asked)
				}
			})
		})
	}
}

// The sampling session is made once for all calls, and anew when the server
// has lost it. A path of weights is no base model.
func TestSamplingSession(t *testing.T) {
	var made []map[string]any
	known := map[string]bool{}
	var seqs []any
	names := []string{"s1", "s2", "s3"}
	client, _ := fakeClient(t, Options{Model: "tinker://run/sampler_weights/7", Rand: func() float64 { return 1 }}, func(_ int, r *http.Request) (*http.Response, error) {
		var body map[string]any
		if r.Body != nil {
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
		}
		answer, status := `{"session_id":"a"}`, 200
		switch strings.TrimPrefix(r.URL.Path, "/api/v1/") {
		case "create_sampling_session":
			made = append(made, body)
			known[names[0]] = true
			answer, names = `{"sampling_session_id":"`+names[0]+`"}`, names[1:]
		case "asample":
			seqs = append(seqs, body["seq_id"])
			answer = `{"request_id":"5"}`
			if !known[body["sampling_session_id"].(string)] {
				answer, status = `{"detail":"Sampling session not found"}`, 404
			}
		case "retrieve_future":
			answer = `{"sequences":[{"stop_reason":"stop","tokens":[31],"logprobs":null}]}`
		case "/detokenize":
			answer, status = "", 404
		}
		return respond(status, strings.NewReader(answer)), nil
	})
	protocol := byTinker
	client.complete.Store(&protocol)
	for i := range 3 {
		if i == 2 {
			known = map[string]bool{}
		}
		if reply, err := client.Complete(t.Context(), goOn); err != nil || reply.Logprobs != nil || reply.FinishReason != "stop" {
			t.Fatalf("%+v, %v", reply, err)
		}
	}
	want := map[string]any{"session_id": "a", "sampling_session_seq_id": 0.0, "type": "create_sampling_session", "model_path": "tinker://run/sampler_weights/7"}
	if len(made) != 2 || !reflect.DeepEqual(made[0], want) {
		t.Errorf("made %v", made)
	}
	if len(seqs) != 4 || seqs[0] != seqs[1] || seqs[0] != seqs[3] {
		t.Errorf("seq ids %v", seqs)
	}
}
