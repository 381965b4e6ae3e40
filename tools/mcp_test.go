package tools

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
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

// Secrets that a server prints, in a crash say, are not stored with what it prints.
func TestRemoteSecretsAreHidden(t *testing.T) {
	t.Setenv("TEST_API_TOKEN", "tok-12345678")
	t.Setenv("TEST_FOLDER", "/srv/test-folder")
	s := stdioServer(t, "server")
	s.Env = append(s.Env, "TEST_API_TOKEN", "TEST_FOLDER")
	got := call(t, withServer(t, Server{Listed: listed(t, s)}), "test__environment", "{}")
	if !strings.Contains(got.Text, "TEST_API_TOKEN=[TEST_API_TOKEN]\n") || !strings.Contains(got.Text, "TEST_FOLDER=/srv/test-folder") || got.Output != nil {
		t.Errorf("%q, kept %v", got.Text, got.Output)
	}
	s.Argv = []string{"sh", "-c", "echo no such user: $TEST_API_TOKEN >&2; exit 1"}
	if _, err := mcp.List(t.Context(), s); err == nil || err.Error() != "it ended: exit status 1; it wrote: no such user: [TEST_API_TOKEN]" {
		t.Errorf("%v", err)
	}
	t.Setenv("TEST_HEADER", "Bearer abcdefgh")
	web := mcp.Server{URL: "http://127.0.0.1:1/mcp?session=querysecret", Headers: map[string]string{"Authorization": "TEST_HEADER"}, Start: time.Second}
	if got := web.Hide("Bearer abcdefgh, abcdefgh, http://127.0.0.1:1/mcp?session=querysecret"); got != "[TEST_HEADER], [TEST_HEADER], http://127.0.0.1:1/mcp?[…]" {
		t.Errorf("%q", got)
	}
	if _, err := mcp.List(t.Context(), web); err == nil || strings.Contains(err.Error(), "querysecret") {
		t.Errorf("%v", err)
	}
}
