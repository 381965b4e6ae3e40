package tools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"rollbench/sandbox"
)

func TestSpecsAreSchemas(t *testing.T) {
	r := newTools(t, newFake(), Limits{})
	want := map[string]string{
		"execute_bash":       "command,is_input",
		"str_replace_editor": "command,file_text,insert_line,new_str,old_str,path,view_range",
		"finish":             "message",
	}
	if len(r.Specs()) != len(want) {
		t.Fatalf("%d tools", len(r.Specs()))
	}
	for _, s := range r.Specs() {
		var schema struct {
			Type       string
			Properties map[string]any
		}
		if err := json.Unmarshal(s.Parameters, &schema); err != nil {
			t.Fatal(err)
		}
		names := strings.Join(sortedNames(schema.Properties), ",")
		if schema.Type != "object" || names != want[s.Name] || s.Description == "" {
			t.Errorf("%s: type %s, arguments %s", s.Name, schema.Type, names)
		}
	}
}

func TestNames(t *testing.T) {
	r, err := New(Env{Sandbox: newFake()}, Enabled{Bash: true, BashName: "bash"})
	if err != nil || r.Specs()[0].Name != "bash" {
		t.Fatal(err)
	}
	for _, bad := range []string{"my tool", "str_replace_editor"} {
		if _, err := New(Env{Sandbox: newFake()}, Enabled{Bash: true, BashName: bad, Editor: true}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	none, err := New(Env{Sandbox: newFake()}, Enabled{})
	if err != nil {
		t.Fatal(err)
	}
	if got := call(t, none, "execute_bash", `{}`); got.Status != Invalid || !strings.Contains(got.Text, "No tools") {
		t.Error(got.Text)
	}
}

// Each mistake is named, and the text says what was expected.
func TestInvalidCalls(t *testing.T) {
	r := newTools(t, newFake(), Limits{})
	tests := []struct{ name, tool, arguments, want string }{
		{"unknown tool", "exec", `{}`, `no tool named "exec". The available tools are: execute_bash, str_replace_editor, finish.`},
		{"cut off in a string", "execute_bash", `{"command": "ls -`, "cut off"},
		{"cut off after a name", "execute_bash", `{"command":`, "cut off"},
		{"cut off brace", "execute_bash", `{`, "cut off"},
		{"malformed", "execute_bash", `{"command": ls}`, "malformed"},
		{"raw newline in a string", "execute_bash", "{\"command\": \"a\nb\"}", "malformed"},
		{"more after it", "execute_bash", `{"command": "ls"} {"command": "id"}`, "more text after"},
		{"not an object", "execute_bash", `["ls"]`, "must be a JSON object"},
		{"missing", "execute_bash", `{}`, `needs the argument "command"`},
		{"no text at all", "execute_bash", ``, `needs the argument "command"`},
		{"null is missing", "execute_bash", `{"command": null}`, `needs the argument "command"`},
		{"unexpected", "execute_bash", `{"command": "ls", "shell": "zsh"}`, `no argument named "shell". The arguments of execute_bash are: command (a string, required)`},
		{"number for string", "execute_bash", `{"command": 5}`, `must be a string, not the number 5`},
		{"enum", "execute_bash", `{"command": "ls", "is_input": "maybe"}`, `must be one of "true", "false", not "maybe"`},
		{"enum of the editor", "str_replace_editor", `{"command": "edit", "path": "/a"}`, `"view", "create"`},
		{"not an integer", "str_replace_editor", `{"command": "insert", "path": "/a", "insert_line": "five", "new_str": "x"}`, `must be an integer, not the string "five"`},
		{"fraction", "str_replace_editor", `{"command": "insert", "path": "/a", "insert_line": 1.5, "new_str": "x"}`, `must be an integer, not the number 1.5`},
		{"not an array", "str_replace_editor", `{"command": "view", "path": "/a", "view_range": "1-5"}`, `must be an array of integers`},
		{"array of one", "str_replace_editor", `{"command": "view", "path": "/a", "view_range": [1]}`, "do not fit"},
		{"array of words", "str_replace_editor", `{"command": "view", "path": "/a", "view_range": ["a", "b"]}`, `must be an array of integers`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := call(t, r, tt.tool, tt.arguments)
			if got.Status != Invalid || !strings.Contains(got.Text, tt.want) {
				t.Errorf("%s: %s", got.Status, got.Text)
			}
			if err := r.Check(tt.tool, tt.arguments); err == nil || err.Error() != got.Text {
				t.Errorf("Check says %v", err)
			}
		})
	}
}

func TestCoercion(t *testing.T) {
	f := newFake()
	f.files["/work/a"] = []byte("1\n2\n3\n")
	r := newTools(t, f, Limits{})
	for _, arguments := range []string{
		`{"command": "view", "path": "/work/a", "view_range": [2, 3]}`,
		`{"command": "view", "path": "/work/a", "view_range": "[2, 3]"}`,
		`{"command": "view", "path": "/work/a", "view_range": ["2", "3"]}`,
		`{"command": "view", "path": "/work/a", "view_range": [2.0, 3], "old_str": null}`,
	} {
		if got := call(t, r, "str_replace_editor", arguments); !strings.HasSuffix(got.Text, ":\n     2\t2\n     3\t3") {
			t.Errorf("%s: %s", arguments, got.Text)
		}
	}
	call(t, r, "str_replace_editor", `{"command": "insert", "path": "/work/a", "insert_line": " 1 ", "new_str": "x"}`)
	if got := string(f.files["/work/a"]); got != "1\nx\n2\n3\n" {
		t.Errorf("%q", got)
	}
	if got := call(t, r, "execute_bash", `{"command": "y", "is_input": true}`); got.Status != Failed {
		t.Errorf("%+v", got)
	}
}

func TestTerminalErrorsGoUp(t *testing.T) {
	f := newFake()
	f.lost = true
	r := newTools(t, f, Limits{})
	for tool, arguments := range map[string]string{
		"execute_bash":       `{"command": "ls"}`,
		"str_replace_editor": `{"command": "create", "path": "/work/a", "file_text": ""}`,
	} {
		if _, err := r.Run(t.Context(), tool, arguments); !errors.Is(err, sandbox.ErrLost) {
			t.Errorf("%s: %v", tool, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Run(ended, "finish", `{}`); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzArguments(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"command":"ls"}`, `{"command":"ls"`, `{"view_range":"[1,2]","path":"/a","command":"view"}`, "[1]", `{"a":1e999}`, "\x00", `{"command":"view","path":"/","view_range":[1e400,2]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		fake := newFake()
		fake.shell = func(sandbox.Command) (sandbox.Result, error) { return sandbox.Result{End: sandbox.Exited}, nil }
		r := newTools(t, fake, Limits{})
		for _, s := range r.Specs() {
			got := call(t, r, s.Name, arguments)
			if got.Text != Clean([]byte(got.Text)) && got.Status == Invalid {
				t.Errorf("unclean text %q", got.Text)
			}
			if !json.Valid([]byte(arguments)) && strings.TrimSpace(arguments) != "" && got.Status != Invalid {
				t.Errorf("%s ran on %q", s.Name, arguments)
			}
		}
	})
}
