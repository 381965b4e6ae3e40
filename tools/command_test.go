package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
)

const wordParameters = `{"type": "object", "properties": {"word": {"type": "string"}, "n": {"type": "integer"}}, "required": ["word"]}`

// programs are the same on this machine and in a sandbox.
func programs(host bool) []Command {
	program := func(name, script string) Command {
		return Command{Name: name, Description: name, Parameters: json.RawMessage(wordParameters), Argv: []string{"sh", "-c", script, "sh", "x y"}, Host: host, Timeout: 30 * time.Second}
	}
	slow := program("slow", "echo begun; sleep 7272 & wait")
	slow.Timeout = 2 * time.Second
	absent := program("absent", "")
	absent.Argv = []string{"no-such-program"}
	return []Command{
		program("echo", `cat; echo "<$1>"; echo noise >&2`),
		program("fails", "echo out; echo why >&2; exit 3"),
		program("silent", "cat >/dev/null"),
		program("deaf", "exec <&-; echo done"),
		program("killed", "kill -9 $$"),
		program("daemon", "sleep 7373 & echo started"),
		program("long", "i=0; while [ $i -lt 3000 ]; do echo 'a line of twenty ch'; i=$((i+1)); done"),
		slow, absent,
	}
}

func testPrograms(t *testing.T, sb sandbox.Sandbox, host bool) {
	var seen strings.Builder
	r, err := New(Env{Sandbox: sb, OnOutput: func(p []byte) { seen.Write(p) }}, Enabled{Commands: programs(host)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, s := range r.Specs() {
		if s.Outside != host {
			t.Errorf("%s: outside %v", s.Name, s.Outside)
		}
	}
	for _, tt := range []struct {
		name, want string
		status     Status
		exit       int
	}{
		{"echo", `{"n":2,"word":"<é&"}` + "\n<x y>\n", OK, 0},
		{"fails", "out\nwhy\n[fails failed with exit code 3.]", Failed, 3},
		{"silent", "[silent printed nothing.]", OK, 0},
		{"deaf", "done\n", OK, 0},
		{"killed", "[killed failed with exit code 137.]", Failed, 137},
		{"daemon", "started\n", OK, 0},
		{"slow", "begun\n[slow timed out after 2 seconds and was killed.]", TimedOut, -1},
	} {
		got := call(t, r, tt.name, `{"word": "<é&", "n": "2"}`)
		if tt.name == "killed" { // some shells say so
			got.Text = strings.TrimPrefix(strings.TrimPrefix(got.Text, "[killed printed nothing.]\n"), "Killed\n")
		}
		if got.Text != tt.want || got.Status != tt.status || (got.Exit == nil) != (tt.exit < 0) || got.Exit != nil && *got.Exit != tt.exit {
			t.Errorf("%s: %s %v\n%s", tt.name, got.Status, got.Exit, got.Text)
		}
		if tt.status == TimedOut && (got.Limit != "tools.command (slow) timeout" || got.Bound != 2*time.Second) {
			t.Errorf("%s %s", got.Limit, got.Bound)
		}
	}
	if !strings.HasPrefix(seen.String(), `{"n":2,`) {
		t.Errorf("live: %q", seen.String())
	}
	got := call(t, r, "long", `{"word": ""}`)
	if n := len([]rune(got.Text)); n > 30000 || n < 29900 || len(got.Full) != 60000 || got.Dropped < 30000 {
		t.Errorf("%d characters, full %d, dropped %d", n, len(got.Full), got.Dropped)
	}
	switch got := call(t, r, "absent", `{"word": ""}`); {
	case host:
		has(t, got, Failed, "ERROR: absent could not be run: the program could not be started: exec: \"no-such-program\": executable file not found")
	case got.Status != Failed || *got.Exit != 127 || !strings.Contains(got.Text, "no-such-program"):
		t.Errorf("%+v", got)
	}
	has(t, call(t, r, "echo", `{}`), Invalid, `echo needs the argument "word"`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if got, err := r.Run(ctx, "slow", `{"word": ""}`); !errors.Is(err, context.DeadlineExceeded) || got.Status != Failed {
		t.Errorf("%v %+v", err, got)
	}
}

func TestCommandInSandbox(t *testing.T) {
	inSandboxes(t, func(t *testing.T, sb sandbox.Sandbox) {
		testPrograms(t, sb, false)
		if err := sb.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := New(Env{Sandbox: sb}, Enabled{Commands: programs(false)})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Run(t.Context(), "echo", `{"word": ""}`); !errors.Is(err, sandbox.ErrLost) {
			t.Errorf("%v %+v", err, got)
		}
	})
}

func TestCommandOnHost(t *testing.T) { testPrograms(t, newFake(), true) }

// Only where = "host" leaves the sandbox.
func TestCommandStaysInside(t *testing.T) {
	file := filepath.Join(t.TempDir(), "made")
	c := Command{Name: "make", Description: "x", Parameters: json.RawMessage(`{"type": "object"}`), Argv: []string{"touch", file}}
	f := newFake()
	f.exec = func(context.Context, sandbox.Command) (sandbox.Result, error) {
		return sandbox.Result{End: sandbox.Exited}, nil
	}
	for _, host := range []bool{false, true} {
		c.Host = host
		r, err := New(Env{Sandbox: f}, Enabled{Commands: []Command{c}})
		if err != nil {
			t.Fatal(err)
		}
		call(t, r, "make", `{}`)
		if _, err := os.Stat(file); (err == nil) != host {
			t.Errorf("host %v: %v", host, err)
		}
	}
}

func TestRules(t *testing.T) {
	deny := func(tool, argument, pattern string) Rule {
		return Rule{Deny: true, Tool: tool, Argument: argument, Pattern: pattern}
	}
	allow := Rule{Tool: "execute_bash", Argument: "command", Pattern: "^git push --dry-run$"}
	push := deny("execute_bash", "command", `git\s+push`)
	for _, tt := range []struct {
		name            string
		rules           []Rule
		tool, arguments string
		denied          string
	}{
		{"no rules", nil, "execute_bash", `{"command": "git push"}`, ""},
		{"denied", []Rule{allow, push}, "execute_bash", `{"command": "cd x && git  push origin"}`, `rule 2, deny execute_bash: argument command matches "git\\s+push"`},
		{"other text", []Rule{allow, push}, "execute_bash", `{"command": "git pull"}`, ""},
		{"allowed first", []Rule{allow, push}, "execute_bash", `{"command": "git push --dry-run"}`, ""},
		{"denied first", []Rule{push, allow}, "execute_bash", `{"command": "git push --dry-run"}`, "rule 1, deny"},
		{"escaped", []Rule{push}, "execute_bash", `{"command": "\u0067it pus\u0068"}`, "rule 1, deny"},
		{"absent argument", []Rule{deny("", "view_range", "")}, "str_replace_editor", `{"command": "view", "path": "/work"}`, ""},
		{"number", []Rule{deny("str_*", "insert_line", "^5$")}, "str_replace_editor", `{"command": "insert", "path": "/a", "insert_line": "5", "new_str": "x"}`, "rule 1, deny str_*: argument insert_line"},
		{"array", []Rule{deny("", "view_range", `^\[2,-1\]$`)}, "str_replace_editor", `{"command": "view", "path": "/a", "view_range": [2, -1.0]}`, "rule 1, deny *:"},
		{"all arguments", []Rule{deny("*", "", `"command":"view".*"/etc/<&`)}, "str_replace_editor", `{"path": "/etc/<&", "command": "view"}`, `rule 1, deny *: the arguments match`},
		{"whole tool", []Rule{deny("finish", "", "")}, "finish", `{}`, "ERROR: this call is not allowed and was not run (rule 1, deny finish: any call)."},
		{"everything but", []Rule{{Tool: "finish"}, deny("", "", "")}, "finish", `{}`, ""},
		{"everything", []Rule{{Tool: "finish"}, deny("", "", "")}, "execute_bash", `{"command": "ls"}`, "rule 2, deny *: any call"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, ran := newFake(), 0
			f.files["/a"] = []byte("1\n2\n3\n4\n5\n6\n")
			f.shell = func(sandbox.Command) (sandbox.Result, error) {
				ran++
				return sandbox.Result{End: sandbox.Exited}, nil
			}
			r, err := New(Env{Sandbox: f}, Enabled{Bash: true, Editor: true, Finish: true, Rules: tt.rules})
			if err != nil {
				t.Fatal(err)
			}
			got := call(t, r, tt.tool, tt.arguments)
			checked := r.Check(tt.tool, tt.arguments)
			if tt.denied == "" {
				if got.Status == Denied || checked != nil {
					t.Errorf("%+v, %v", got, checked)
				}
				return
			}
			if got.Status != Denied || !strings.Contains(got.Text, tt.denied) || checked == nil || got.Finish || ran > 0 || string(f.files["/a"]) != "1\n2\n3\n4\n5\n6\n" {
				t.Errorf("%+v, %v", got, checked)
			}
		})
	}
}

// The texts of specs are part of a run's fingerprint: those of built-in tools
// stay as they are.
func TestOutsideIsOnlySaidOfHostTools(t *testing.T) {
	for host, want := range map[bool]string{false: `{"Name":"x","Description":"X.","Parameters":{}}`, true: `{"Name":"x","Description":"X.","Parameters":{},"Outside":true}`} {
		if got := asJSON((&command{Command: Command{Name: "x", Description: "X.", Parameters: json.RawMessage("{}"), Host: host}}).Spec()); got != want {
			t.Error(got)
		}
	}
	for _, err := range []error{Command{Name: "a"}.check(), Command{Name: "a b", Description: "A.", Argv: []string{"a"}}.check(), Command{Name: "a", Description: "A.", Argv: []string{""}}.check()} {
		if err == nil {
			t.Error(fmt.Errorf("a bad declaration was taken"))
		}
	}
}
