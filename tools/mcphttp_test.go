package tools

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"rollbench/tools/mcp"
)

// A session that an HTTP server has forgotten is made anew, and the call runs once.
func TestRemoteHTTPForgets(t *testing.T) {
	var forget, calls atomic.Int64
	s := httpServer(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			if strings.Contains(string(body), `"tools/call"`) {
				calls.Add(1)
				if r.Header.Get("Mcp-Session-Id") != "" && forget.CompareAndSwap(1, 2) {
					http.Error(w, "no such session", http.StatusNotFound)
					return
				}
			}
			if strings.Contains(string(body), `"server/discover"`) { // an older server, which keeps sessions
				http.Error(w, "unknown method", http.StatusBadRequest)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	r := withServer(t, Server{Listed: listed(t, s)})
	call(t, r, "test__count", "{}")
	forget.Store(1)
	got := call(t, r, "test__count", "{}")
	if got.Status != OK || got.Text != "[The server test was started anew since the last call: what it kept from earlier calls is gone.]\n2" || calls.Load() != 3 {
		t.Errorf("%s %q, %d calls", got.Status, got.Text, calls.Load())
	}
}

// Headers go to the server they are for and nowhere else, and no error shows them.
func TestRemoteHeaders(t *testing.T) {
	t.Setenv("TEST_TOKEN", "Bearer s3cret")
	var leaked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leaked.Store(true) }))
	t.Cleanup(other.Close)
	var open, away atomic.Bool
	s := httpServer(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case away.Load():
				http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			case r.Header.Get("Authorization") != "Bearer s3cret":
				http.Error(w, "who are you", http.StatusUnauthorized)
			case !open.Load():
				w.WriteHeader(http.StatusServiceUnavailable)
			default:
				h.ServeHTTP(w, r)
			}
		})
	})
	_, err := mcp.List(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		t.Error(err)
	}
	s.Headers = map[string]string{"authorization": "TEST_TOKEN"}
	if _, err = mcp.List(t.Context(), s); err == nil || !strings.Contains(err.Error(), "Service Unavailable") || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
	open.Store(true)
	r := withServer(t, Server{Listed: listed(t, s)})
	if got := call(t, r, "test__count", "{}"); got.Status != OK {
		t.Errorf("%s %q", got.Status, got.Text)
	}
	open.Store(false)
	if got := call(t, r, "test__count", "{}"); got.Status != Failed || !strings.Contains(got.Text, "Service Unavailable") {
		t.Errorf("%s %q", got.Status, got.Text)
	}
	away.Store(true)
	if got := call(t, r, "test__count", "{}"); got.Status != Failed || !strings.Contains(got.Text, "redirects to another one") || leaked.Load() {
		t.Errorf("%s %q, leaked %v", got.Status, got.Text, leaked.Load())
	}
	s.Headers["x"] = "TEST_UNSET_TOKEN"
	if _, err = mcp.List(t.Context(), s); err == nil || err.Error() != "the environment variable TEST_UNSET_TOKEN, the value of header x, is not set" {
		t.Error(err)
	}
}

// A reply without end, as one body or as an event of a stream, is given up.
func TestRemoteHTTPWithoutEnd(t *testing.T) {
	const piece = 1 << 20
	for _, kind := range []string{"application/json", "text/event-stream"} {
		var sent atomic.Int64
		s := httpServer(t, func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				if !strings.Contains(string(body), `"tools/call"`) {
					h.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Type", kind)
				_, err := io.WriteString(w, `data: {"jsonrpc": "2.0", "id": 1, "result": "`)
				for more := strings.Repeat("x", piece); err == nil && sent.Load() < 1<<30; {
					_, err = io.WriteString(w, more)
					sent.Add(piece)
				}
			})
		})
		got := call(t, withServer(t, Server{Listed: listed(t, s)}), "test__count", "{}")
		if n := sent.Load(); got.Status != Failed || n > 128<<20 {
			t.Errorf("%s: %s %q after %d MiB", kind, got.Status, got.Text, n>>20)
		}
	}
}
