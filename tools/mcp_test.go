package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"rollbench/tools/mcp"
)

// stdioServer is the test binary as a server.
func stdioServer(t *testing.T, role string) mcp.Server {
	t.Helper()
	t.Setenv("ROLLBENCH_TEST_ROLE", role)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Server{Name: "test", Argv: []string{program}, Env: []string{"ROLLBENCH_TEST_ROLE"}, Start: time.Minute, Client: "1"}
}

// httpServer serves the same over HTTP.
func httpServer(t *testing.T, wrap func(http.Handler) http.Handler) mcp.Server {
	t.Helper()
	life, end := context.WithCancel(context.Background())
	one := testServer(life)
	h := http.Handler(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return one }, nil))
	if wrap != nil {
		h = wrap(h)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() { end(); s.Close() })
	return mcp.Server{Name: "test", URL: s.URL, Start: time.Minute, Client: "1"}
}

func listed(t *testing.T, s mcp.Server) *mcp.Listed {
	t.Helper()
	l, err := mcp.List(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// withServer makes a trajectory's tools: those of the server, and finish.
func withServer(t *testing.T, s Server, rules ...Rule) *Registry {
	t.Helper()
	r, err := New(Env{Sandbox: newFake(), Limits: Limits{Command: time.Minute}}, Enabled{Finish: true, Servers: []Server{s}, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

var bothKinds = map[string]func(*testing.T) mcp.Server{
	"stdio": func(t *testing.T) mcp.Server { return stdioServer(t, "server") },
	"http":  func(t *testing.T) mcp.Server { return httpServer(t, nil) },
}

func TestRemoteTools(t *testing.T) {
	for kind, open := range bothKinds {
		t.Run(kind, func(t *testing.T) {
			r := withServer(t, Server{Listed: listed(t, open(t)), Max: 1000}, Rule{Deny: true, Tool: "test__echo", Argument: "text", Pattern: "secret"})
			for _, spec := range r.Specs() {
				if outside := spec.Name != "finish"; spec.Outside != outside { // a resumed trajectory must not call again
					t.Errorf("%s: outside is %v", spec.Name, spec.Outside)
				}
			}
			for _, c := range []struct {
				tool, args string
				status     Status
				want       string
			}{
				{"echo", `{"text": "a", "cursor": null}`, OK, `{"cursor":null,"text":"a"}`},
				{"echo", `{"text": "a", "n": "5", "cursor": "5", "level": "low", "points": "[{\"x\": \"1\"}]"}`, OK, `{"cursor":"5","level":"low","n":5,"points":[{"x":1}],"text":"a"}`},
				{"echo", `{"text": "a", "cursor": "b", "x": 1}`, Invalid, `ERROR: test__echo has no argument named "x". The arguments of test__echo are: text (a string, required), cursor (a string or null, required), level (one of "low", "high", optional), n (an integer or null, optional), points (an array, optional).`},
				{"echo", `{"text": "a", "cursor": "b", "level": "mid"}`, Invalid, `ERROR: argument "level" of test__echo must be one of "low", "high", not "mid".`},
				{"echo", `{"text": "", "cursor": "b"}`, Invalid, "do not fit"},
				{"echo", `{"cursor": "b"}`, Invalid, `needs the argument "text"`},
				{"echo", `{"text": "a secret", "cursor": "b"}`, Denied, "rule 1, deny test__echo"},
				{"count", ``, OK, "1"},
				{"count", `{}`, OK, "2"},
				{"colours", `{}`, OK, "red end"},
				{"nothing", `{}`, OK, "[test__nothing returned nothing.]"},
				{"fail", `{}`, Failed, "no such issue\n[test__fail says that it failed.]"},
				{"refuse", `{}`, Failed, "out of order"},
				{"structured", `{}`, OK, `{ "n": 1 }`},
				{"rich", `{}`, OK, "one\n[an image, image/png, 3 bytes: not shown]\n[audio, audio/wav, 4 bytes: not played]\n[a resource, text/plain: file:///a (a.txt)]\n" +
					"[the resource file:///b]\nbee\n[the resource file:///c, x/y, 2 bytes: not shown]\n" + `{"n":1,"s":"\u003c\u0026"}`},
			} {
				got := call(t, r, "test__"+c.tool, c.args)
				if got.Status != c.status || got.Text != c.want && (c.status == OK || !strings.Contains(got.Text, c.want)) {
					t.Errorf("%s %s: %s %q, want %s %q", c.tool, c.args, got.Status, got.Text, c.status, c.want)
				}
			}
			long := call(t, r, "test__long", "{}")
			if n := len([]rune(long.Text)); n > 1000 || !strings.HasPrefix(long.Text, "headxxx") || !strings.HasSuffix(long.Text, "xxxtail") || len(long.Full) != 100008 {
				t.Errorf("%d characters, %d kept, %q", n, len(long.Full), long.Text)
			}
		})
	}
}

// A server that ends in a call is an observation; the next call has a new one.
func TestRemoteCrash(t *testing.T) {
	r := withServer(t, Server{Listed: listed(t, stdioServer(t, "server"))})
	call(t, r, "test__count", "{}")
	got := call(t, r, "test__crash", "{}")
	if want := "ERROR: test__crash failed, and it is not known what it did: it ended: exit status 3; it wrote: no more disk."; got.Status != Failed || got.Text != want {
		t.Errorf("%s %q", got.Status, got.Text)
	}
	got = call(t, r, "test__count", "{}")
	if want := "[The server test was started anew since the last call: what it kept from earlier calls is gone.]\n1"; got.Status != OK || got.Text != want {
		t.Errorf("%s %q", got.Status, got.Text)
	}
	if got = call(t, r, "test__count", "{}"); got.Text != "2" {
		t.Errorf("%q", got.Text)
	}
}

// One that cannot be started again is tried by each call, and comes back when it
// can be.
func TestRemoteComesBack(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken")
	s := stdioServer(t, "server")
	s.Argv = []string{"sh", "-c", `[ ! -e "$1" ] || { echo out of disk >&2; exit 9; }; exec "$0"`, s.Argv[0], broken}
	r := withServer(t, Server{Listed: listed(t, s)})
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got := call(t, r, "test__count", "{}")
		if want := "ERROR: the server test could not be reached: it ended: exit status 9; it wrote: out of disk. The next call tries again."; got.Status != Failed || got.Text != want {
			t.Errorf("%s %q", got.Status, got.Text)
		}
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	if got := call(t, r, "test__count", "{}"); got.Text != "1" { // it lost nothing: it had not run
		t.Errorf("%s %q", got.Status, got.Text)
	}
}

// A call that takes too long is given up, and the server goes on where it can.
func TestRemoteTimeout(t *testing.T) {
	for kind, open := range bothKinds {
		t.Run(kind, func(t *testing.T) {
			r := withServer(t, Server{Listed: listed(t, open(t)), Timeout: 200 * time.Millisecond})
			got := call(t, r, "test__slow", "{}")
			if got.Status != TimedOut || got.Limit != "tools.mcp (test) timeout" || got.Bound != 200*time.Millisecond ||
				got.Text != "[test__slow timed out after 0.2 seconds and was given up. It may still be at work.]" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// One that stands still is killed at the end, and its process with it.
func TestRemoteStandsStill(t *testing.T) {
	s := stdioServer(t, "server")
	s.Shared = true
	l := listed(t, s)
	r, other := withServer(t, Server{Listed: l, Timeout: 200 * time.Millisecond}), withServer(t, Server{Listed: l})
	if got := call(t, r, "test__stop", "{}"); got.Status != TimedOut {
		t.Errorf("%s %q", got.Status, got.Text)
	}
	// It does not read its input either, which a call of this length fills up.
	if got := call(t, r, "test__echo", `{"cursor": null, "text": "`+strings.Repeat("x", 1<<20)+`"}`); got.Status != TimedOut {
		t.Errorf("%s, %d characters", got.Status, len(got.Text))
	}
	if got := call(t, other, "test__count", "{}"); got.Status != OK || !strings.HasPrefix(got.Text, "[The server test was started anew") {
		t.Errorf("%s %q", got.Status, got.Text)
	}
}

func TestRemoteCancelled(t *testing.T) {
	r := withServer(t, Server{Listed: listed(t, stdioServer(t, "server"))})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("by a person")
	time.AfterFunc(200*time.Millisecond, func() { cancel(why) })
	got, err := r.Run(ctx, "test__slow", "{}")
	if !errors.Is(err, why) || got.Status != Failed {
		t.Errorf("%+v, %v", got, err)
	}
	if got := call(t, r, "test__count", "{}"); got.Text != "1" {
		t.Errorf("%q", got.Text)
	}
}

func TestRemoteScope(t *testing.T) {
	for _, shared := range []bool{false, true} {
		s := stdioServer(t, "server")
		s.Shared = shared
		l := listed(t, s)
		a, b := withServer(t, Server{Listed: l}), withServer(t, Server{Listed: l})
		call(t, a, "test__count", "{}")
		want := map[bool]string{false: "1", true: "2"}[shared]
		if got := call(t, b, "test__count", "{}"); got.Text != want {
			t.Errorf("shared %v: %q", shared, got.Text)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if got := call(t, b, "test__nothing", "{}"); got.Status != OK {
			t.Errorf("shared %v: %q", shared, got.Text)
		}
	}
}

// The list is that of the start, whatever the server says later.
func TestRemoteListChanges(t *testing.T) {
	l := listed(t, stdioServer(t, "server"))
	told := make(chan bool, 1)
	l.OnChange(func() { told <- true })
	r := withServer(t, Server{Listed: l})
	call(t, r, "test__grow", "{}")
	<-told
	if got := call(t, r, "test__grown", "{}"); got.Status != Invalid {
		t.Errorf("%s %q", got.Status, got.Text)
	}
}

// No variable reaches a server but the basic ones and those that are named.
func TestRemoteEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	r := withServer(t, Server{Listed: listed(t, stdioServer(t, "server"))})
	text := call(t, r, "test__environment", "{}").Text
	if strings.Contains(text, "sk-secret") || !strings.Contains(text, "PATH=") || !strings.Contains(text, "ROLLBENCH_TEST_ROLE=server") {
		t.Error(text)
	}
}

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

// What keeps a server from being used is known before the run starts.
func TestRemoteCannotStart(t *testing.T) {
	mute := stdioServer(t, "mute")
	mute.Start = 300 * time.Millisecond
	for _, c := range []struct {
		server mcp.Server
		want   string
	}{
		{mcp.Server{Name: "x", Argv: []string{"/no/such/program"}, Start: time.Minute}, "no such file or directory"},
		{mcp.Server{Name: "x", Argv: []string{"sh", "-c", "echo no licence >&2; exit 7"}, Start: time.Minute}, "it ended: exit status 7; it wrote: no licence"},
		{mcp.Server{Name: "x", Argv: []string{"sh", "-c", "echo hello; exec sleep 100"}, Start: time.Minute}, "invalid character"},
		{mute, "its tools were not listed within 300ms (start_timeout)"},
		{mcp.Server{Name: "x", URL: "http://127.0.0.1:1/mcp", Start: time.Minute}, "connection refused"},
	} {
		if _, err := mcp.List(t.Context(), c.server); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.server.Argv, err, c.want)
		}
	}
	s := stdioServer(t, "server")
	s.Include, s.Exclude = []string{"c*"}, []string{"crash", "ch*"}
	l := listed(t, s)
	var names []string
	for _, one := range l.Tools {
		names = append(names, one.Name)
	}
	if got := strings.Join(names, " "); got != "colours count" {
		t.Error(got)
	}
	s.Include = []string{"z*"}
	if _, err := mcp.List(t.Context(), s); err == nil || !strings.Contains(err.Error(), "is left by include and exclude") {
		t.Error(err)
	}
}

// hold is a rollbench with a server that has a child, to be killed.
func hold() {
	program, err := os.Executable()
	if err == nil {
		err = os.Setenv("ROLLBENCH_TEST_ROLE", "server")
	}
	var l *mcp.Listed
	if err == nil {
		l, err = mcp.List(context.Background(), mcp.Server{Name: "test", Argv: []string{program}, Env: []string{"ROLLBENCH_TEST_ROLE", "ROLLBENCH_TEST_FIFO"}, Start: time.Minute})
	}
	var a mcp.Answer
	if err == nil {
		a, err = l.Link().Call(context.Background(), "child", json.RawMessage("{}"), time.Minute)
	}
	fmt.Println(a.Text, err)
	select {}
}

// However rollbench ends, neither the server nor what it started stays.
func TestRemoteDiesWithUs(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ROLLBENCH_TEST_FIFO", fifo)
	t.Setenv("ROLLBENCH_TEST_ROLE", "holder")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(fifo) // until the server has it open, too
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "<nil> <nil>\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it was not killed")
	}
	// The end of the file comes when the last process that holds it is gone.
	if rest, err := io.ReadAll(f); err != nil || len(rest) != 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestRemoteNames(t *testing.T) {
	long := strings.Repeat("a", 70)
	for _, c := range []struct{ tool, want string }{
		{"get_issue", "gh__get_issue"},
		{"repo.list/all ü", "gh__repo_list_all__"},
		{long, "gh__" + strings.Repeat("a", 51) + "_" + "6bd5e503"},
	} {
		got, err := remoteName("gh", c.tool)
		if c.tool == long { // the hash is that of sha256sum
			if len(got) != 64 || got[:55] != c.want[:55] {
				t.Error(got)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v", c.tool, got, err)
		}
	}
	for _, c := range []struct {
		tools []mcp.Tool
		want  string
	}{
		{[]mcp.Tool{{Name: "a.b", Parameters: json.RawMessage(noParameters)}, {Name: "a/b", Parameters: json.RawMessage(noParameters)}},
			`the tools "a.b" and "a/b" of MCP server gh would both be called gh__a_b: leave one out with exclude`},
		{[]mcp.Tool{{Name: "", Parameters: json.RawMessage(noParameters)}}, "MCP server gh lists a tool without a name"},
		{[]mcp.Tool{{Name: "a", Parameters: json.RawMessage(`{"type": "array"}`)}}, `parameters of tool "a" of MCP server gh: a schema of type "object" is needed`},
		{[]mcp.Tool{{Name: "a", Parameters: json.RawMessage(`{"properties": {"p": {"type": "string", "pattern": "^(?!x)"}}}`)}}, `leave it out with exclude = ["a"]`},
		{[]mcp.Tool{{Name: "a", Parameters: json.RawMessage(`{"$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}]}}, "properties": {"p": {"$ref": "#/$defs/A"}}}`)}}, "it refers to itself in a circle"},
		{[]mcp.Tool{{Name: "a", Parameters: json.RawMessage(`{"properties": {"p": {"$ref": "https://example.com/s.json"}}}`)}}, "only references to a part of itself"},
		{[]mcp.Tool{{Name: "a", Parameters: json.RawMessage(`null`)}}, ""},
		{[]mcp.Tool{{Name: "a", Parameters: json.RawMessage(`{"properties": {"tree": {"$ref": "#"}}}`)}}, ""},
	} {
		_, err := New(Env{}, Enabled{Servers: []Server{{Listed: mcp.Recorded(mcp.Server{Name: "gh"}, c.tools)}}})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
