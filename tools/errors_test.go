package tools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
	"rollbench/tools/mcp"
)

// everyTool is a registry with one tool of each kind.
func everyTool(t *testing.T, f *fakeSandbox) *Registry {
	t.Helper()
	away := Server{Listed: mcp.Recorded(mcp.Server{Name: "away", Argv: []string{"/no/such/program"}, Start: time.Minute},
		[]mcp.Tool{{Name: "do", Parameters: json.RawMessage(noParameters)}})}
	r, err := New(Env{Sandbox: f, Bases: bases(t), Repository: "r"}, Enabled{Bash: true, Editor: true, Finish: true, Think: true, Python: true, Search: true, Servers: []Server{away}, Commands: []Command{
		{Name: "inside", Description: "I.", Argv: []string{"x"}, Parameters: json.RawMessage(noParameters)},
		{Name: "outside", Description: "O.", Argv: []string{"true"}, Parameters: json.RawMessage(noParameters), Host: true},
		{Name: "absent", Description: "A.", Argv: []string{"/no/such/program"}, Parameters: json.RawMessage(noParameters), Host: true},
	}, Rules: []Rule{{Deny: true, Tool: "think", Pattern: "forbidden"}}})
	if err == nil {
		err = r.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The table in docs/tools.md: what is recoverable is a result, and what is
// terminal an error, in every tool.
func TestErrorClasses(t *testing.T) {
	exits := func(code int) func(context.Context, sandbox.Command) (sandbox.Result, error) {
		return func(context.Context, sandbox.Command) (sandbox.Result, error) {
			return sandbox.Result{End: sandbox.Exited, ExitCode: code}, nil
		}
	}
	breaks := func(context.Context, sandbox.Command) (sandbox.Result, error) {
		return sandbox.Result{}, errors.New("no room for another process")
	}
	for _, c := range []struct {
		name, tool, args string
		status           Status
		exec             func(context.Context, sandbox.Command) (sandbox.Result, error)
		shell            func(sandbox.Command) (sandbox.Result, error)
	}{
		{name: "no such tool", tool: "browser", args: `{}`, status: Invalid},
		{name: "cut off", tool: "think", args: `{"thought": "`, status: Invalid},
		{name: "denied", tool: "think", args: `{"thought": "forbidden"}`, status: Denied},
		{name: "bash: exit code", tool: "execute_bash", args: `{"command": "false"}`, status: Failed,
			shell: func(sandbox.Command) (sandbox.Result, error) {
				return sandbox.Result{End: sandbox.Exited, ExitCode: 1}, nil
			}},
		{name: "bash: the shell broke", tool: "execute_bash", args: `{"command": "x"}`, status: Failed,
			shell: func(sandbox.Command) (sandbox.Result, error) { return sandbox.Result{}, errors.New("broken pipe") }},
		{name: "bash: a limit", tool: "execute_bash", args: `{"command": "x"}`, status: TimedOut,
			shell: func(sandbox.Command) (sandbox.Result, error) {
				return sandbox.Result{End: sandbox.TimedOut, ExitCode: -1}, nil
			}},
		{name: "editor: no such file", tool: "str_replace_editor", args: `{"command": "view", "path": "/work/x"}`, status: Failed},
		{name: "editor: no match", tool: "str_replace_editor", args: `{"command": "str_replace", "path": "/work/f", "old_str": "zz", "new_str": "y"}`, status: Failed},
		{name: "editor: several matches", tool: "str_replace_editor", args: `{"command": "str_replace", "path": "/work/f", "old_str": "a", "new_str": "y"}`, status: Failed},
		{name: "editor: not text", tool: "str_replace_editor", args: `{"command": "view", "path": "/work/blob"}`, status: Failed},
		{name: "editor: too large", tool: "str_replace_editor", args: `{"command": "view", "path": "/work/large"}`, status: Failed},
		{name: "editor: nothing to undo", tool: "str_replace_editor", args: `{"command": "undo_edit", "path": "/work/f"}`, status: Failed},
		{name: "editor: relative", tool: "str_replace_editor", args: `{"command": "view", "path": "f"}`, status: Invalid},
		{name: "editor: NUL", tool: "str_replace_editor", args: `{"command": "create", "path": "/work/n", "file_text": "a\u0000"}`, status: Invalid},
		{name: "search: nothing asked", tool: "search", args: `{}`, status: Invalid},
		{name: "search: too much", tool: "search", args: `{"search_terms": [` + strings.Repeat(`"x",`, 20) + `"x"]}`, status: Invalid},
		{name: "search: the repository cannot be listed", tool: "search", args: `{"search_terms": ["x"]}`, status: Failed},
		{name: "MCP: no such program", tool: "away__do", args: `{}`, status: Failed},
		{name: "python: none", tool: "python", args: `{"code": "1"}`, status: Failed, exec: exits(127)},
		{name: "python: cannot start", tool: "python", args: `{"code": "1"}`, status: Failed, exec: breaks},
		{name: "python: no code", tool: "python", args: `{"code": " "}`, status: Failed},
		{name: "own: exit code", tool: "inside", args: `{}`, status: Failed, exec: exits(3)},
		{name: "own: cannot run", tool: "inside", args: `{}`, status: Failed, exec: breaks},
		{name: "own: a limit", tool: "inside", args: `{}`, status: TimedOut, exec: func(context.Context, sandbox.Command) (sandbox.Result, error) {
			return sandbox.Result{End: sandbox.TimedOut, ExitCode: -1}, nil
		}},
		{name: "own: no such program", tool: "absent", args: `{}`, status: Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake()
			f.exec, f.shell = c.exec, c.shell
			f.files["/work/f"], f.files["/work/blob"], f.files["/work/large"] = []byte("a a\n"), []byte("a\x00"), make([]byte, maxEdited+1)
			r := everyTool(t, f)
			f.unlisted = true
			got := call(t, r, c.tool, c.args) // no error
			if got.Status != c.status || got.Text == "" {
				t.Errorf("%s %q", got.Status, got.Text)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestALostSandboxIsTerminal(t *testing.T) {
	f := newFake()
	f.files["/work/f"] = []byte("a\n")
	f.exec = func(context.Context, sandbox.Command) (sandbox.Result, error) {
		return sandbox.Result{End: sandbox.Exited}, nil
	}
	r := everyTool(t, f)
	has(t, edits(t, r, "create", "/work/new", "file_text", "x"), OK)
	f.lost = true
	for _, c := range [][2]string{
		{"execute_bash", `{"command": "ls"}`}, {"search", `{"search_terms": ["x"]}`}, {"python", `{"code": "1"}`}, {"inside", `{}`},
		{"str_replace_editor", `{"command": "view", "path": "/work/f"}`},
		{"str_replace_editor", `{"command": "view", "path": "/work/missing"}`},
		{"str_replace_editor", `{"command": "create", "path": "/work/g", "file_text": ""}`},
		{"str_replace_editor", `{"command": "str_replace", "path": "/work/f", "old_str": "a"}`},
		{"str_replace_editor", `{"command": "insert", "path": "/work/f", "insert_line": 0, "new_str": "a"}`},
		{"str_replace_editor", `{"command": "undo_edit", "path": "/work/new"}`},
	} {
		if got, err := r.Run(t.Context(), c[0], c[1]); !errors.Is(err, sandbox.ErrLost) {
			t.Errorf("%s %s: %+v, %v", c[0], c[1], got, err)
		}
	}
	for _, c := range [][2]string{{"think", `{"thought": "x"}`}, {"finish", `{}`}, {"outside", `{}`}} { // they need none
		if got := call(t, r, c[0], c[1]); got.Status != OK {
			t.Errorf("%s: %s %q", c[0], got.Status, got.Text)
		}
	}
}

// A corrective text is bounded, whatever a server's schema and a model's
// arguments are.
func TestCorrectiveTextsAreBounded(t *testing.T) {
	var enum []string
	for range 3000 {
		enum = append(enum, `"`+strings.Repeat("v", 20)+`"`)
	}
	schema := `{"properties": {"short": {"type": "string", "maxLength": 3}, "level": {"enum": [` + strings.Join(enum, ",") + `]}, "deep": {"type": "array", "items": {"type": "integer"}}}}`
	r, err := New(Env{}, Enabled{Servers: []Server{{Listed: mcp.Recorded(mcp.Server{Name: "x"}, []mcp.Tool{{Name: "y", Parameters: json.RawMessage(schema)}})}}})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("z", 1<<20)
	for _, c := range [][2]string{
		{"x__y", `{"short": "` + long + `"}`}, {"x__y", `{"level": "` + long + `"}`}, {"x__y", `{"` + long + `": 1}`}, {"x__y", `{"short": {"a": "` + long + `"}}`},
		{"x__y", `{"deep": ` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`}, {"x__y", strings.Repeat("[", 20000)}, {long, `{}`}, {"x__y", long},
	} {
		got := call(t, r, c[0], c[1])
		if n := len([]rune(got.Text)); n > maxCorrective || n == 0 || got.Status == OK {
			t.Errorf("%.40s %.40s: %s, %d characters: %.200s", c[0], c[1], got.Status, n, got.Text)
		}
	}
}
