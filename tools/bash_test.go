package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
)

func TestBashTexts(t *testing.T) {
	tests := []struct {
		name   string
		run    sandbox.Result
		want   string
		status Status
	}{
		{"output", sandbox.Result{Output: []byte("hello\n"), End: sandbox.Exited},
			"hello\n[The command completed with exit code 0.]\n[Current working directory: /work]\n[Command finished with exit code 0]", OK},
		{"no final newline", sandbox.Result{Output: []byte("hello"), End: sandbox.Exited},
			"hello\n[The command completed with exit code 0.]\n[Current working directory: /work]\n[Command finished with exit code 0]", OK},
		{"failure", sandbox.Result{Output: []byte("no\n"), ExitCode: 2, End: sandbox.Exited},
			"no\n[The command completed with exit code 2.]\n[Current working directory: /work]\n[Command finished with exit code 2]", Failed},
		{"nothing printed", sandbox.Result{End: sandbox.Exited},
			"[The command printed nothing.]\n[The command completed with exit code 0.]\n[Current working directory: /work]\n[Command finished with exit code 0]", OK},
		{"hard limit", sandbox.Result{Output: []byte("x\n"), ExitCode: -1, End: sandbox.TimedOut},
			"x\n[The command timed out after 300 seconds and was killed, with every process it had started. If it needs longer, run it in the background with its output in a file: COMMAND > /tmp/out.txt 2>&1 &]\n[Current working directory: /work]", TimedOut},
		{"still running", sandbox.Result{Output: []byte("x"), ExitCode: -1, End: sandbox.Left},
			"x\n[The command has printed nothing new for 30 seconds and is still running, for 0 seconds until now (it is killed at 300 seconds). " + waysOn + "]\n[Current working directory: /work]", OK},
		{"no input", sandbox.Result{End: sandbox.Exited, NoInput: "no\x1b[1m pty"},
			"[The command printed nothing.]\n[The command completed with exit code 0.]\n[No terminal could be opened, so commands get an empty input and nothing can be sent to them: no pty]\n[Current working directory: /work]\n[Command finished with exit code 0]", OK},
		{"shell ended", sandbox.Result{ExitCode: 3, End: sandbox.Exited, Fresh: true},
			"[The command printed nothing.]\n[The command completed with exit code 3.]\n[The shell ended with it. A fresh one goes on in the directory below, with the exported environment of before; other variables, functions and shell options are gone.]\n[Current working directory: /work]\n[Command finished with exit code 3]", Failed},
		{"coloured", sandbox.Result{Output: []byte("\x1b[31mred\x1b[0m\r\n"), End: sandbox.Exited},
			"red\n[The command completed with exit code 0.]\n[Current working directory: /work]\n[Command finished with exit code 0]", OK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake()
			f.shell = func(c sandbox.Command) (sandbox.Result, error) {
				if c.Script != " echo hello \n" || c.Timeout != 300*time.Second || c.Idle != 30*time.Second || !c.Leave {
					t.Errorf("%+v", c)
				}
				return tt.run, nil
			}
			got := call(t, newTools(t, f, Limits{}), "execute_bash", `{"command": " echo hello \n", "is_input": "false"}`)
			if got.Text != tt.want || got.Status != tt.status {
				t.Errorf("%s\n%s", got.Status, got.Text)
			}
			limits := map[sandbox.End]string{sandbox.TimedOut: "tools.command_timeout 5m0s", sandbox.Left: "tools.no_output_timeout 30s"}
			if want, struck := limits[tt.run.End]; struck && fmt.Sprint(got.Limit, " ", got.Bound) != want || !struck && got.Limit != "" {
				t.Errorf("limit %s %v", got.Limit, got.Bound)
			}
			if coloured := tt.name == "coloured"; got.Finish || (got.Full != nil) != coloured || got.Dropped != 0 {
				t.Errorf("%+v", got)
			}
			if exited := tt.run.End == sandbox.Exited; (got.Exit != nil) != exited || exited && *got.Exit != tt.run.ExitCode {
				t.Errorf("exit %v", got.Exit)
			}
		})
	}
}

func TestBashLongOutput(t *testing.T) {
	f := newFake()
	output := bytes.Repeat([]byte("é12345678\n"), 5000) // 50,000 characters
	f.shell = func(sandbox.Command) (sandbox.Result, error) {
		return sandbox.Result{Output: output, End: sandbox.Exited}, nil
	}
	got := call(t, newTools(t, f, Limits{}), "execute_bash", `{"command": "x"}`)
	if n := len([]rune(got.Text)); n > 30000 || n < 29900 {
		t.Errorf("%d characters", n)
	}
	if !strings.HasPrefix(got.Text, "é12345678\n") || !strings.Contains(got.Text, "characters are cut here") || !strings.Contains(got.Text, "8\n[The command completed") {
		t.Error(got.Text[:100])
	}
	if !bytes.Equal(got.Full, output) || got.Dropped < 20000 || got.Dropped > 20500 {
		t.Errorf("full %d, dropped %d", len(got.Full), got.Dropped)
	}
}

func TestBashDroppedBySandbox(t *testing.T) {
	f := newFake()
	f.shell = func(sandbox.Command) (sandbox.Result, error) {
		return sandbox.Result{Output: []byte("headtail"), Head: 4, Dropped: 99, End: sandbox.Exited}, nil
	}
	got := call(t, newTools(t, f, Limits{}), "execute_bash", `{"command": "x"}`)
	if !strings.HasPrefix(got.Text, "head"+fmt.Sprintf(cutNote, 99)+"tail\n") || got.Dropped != 99 || got.Full == nil {
		t.Errorf("%+v", got)
	}
}

// One shell serves all calls; one that breaks is replaced by the next call.
func TestBashShellLife(t *testing.T) {
	f := newFake()
	breaks := false
	f.shell = func(sandbox.Command) (sandbox.Result, error) {
		if breaks {
			return sandbox.Result{}, errors.New("stream closed")
		}
		return sandbox.Result{End: sandbox.Exited}, nil
	}
	r := newTools(t, f, Limits{})
	call(t, r, "execute_bash", `{"command": "a"}`)
	call(t, r, "execute_bash", `{"command": "b"}`)
	if f.shells != 1 {
		t.Errorf("%d shells", f.shells)
	}
	breaks = true
	if got := call(t, r, "execute_bash", `{"command": "c"}`); got.Status != Failed || !strings.Contains(got.Text, "stream closed") || !strings.Contains(got.Text, "fresh shell") {
		t.Errorf("%+v", got)
	}
	breaks = false
	if got := call(t, r, "execute_bash", `{"command": "d"}`); got.Status != OK || f.shells != 2 {
		t.Errorf("%+v, %d shells", got, f.shells)
	}
}

func TestBashWithoutAnythingToRun(t *testing.T) {
	r := newTools(t, newFake(), Limits{})
	for _, arguments := range []string{`{"command": ""}`, `{"command": " \n"}`, `{"command": "y", "is_input": "true"}`, `{"command": "", "is_input": "true"}`,
		`{"command": "C-c"}`, `{"command": "C-d", "is_input": "true"}`, `{"command": " C-z "}`} {
		if got := call(t, r, "execute_bash", arguments); got.Status != Failed || !strings.Contains(got.Text, "no command is running") {
			t.Errorf("%s: %+v", arguments, got)
		}
	}
	if got := call(t, r, "execute_bash", `{"command": "a\u0000b"}`); got.Status != Invalid {
		t.Errorf("%+v", got)
	}
}

// TestBashContinues goes on with a command that was left running.
func TestBashContinues(t *testing.T) {
	exited := sandbox.Result{Output: []byte("end\n"), End: sandbox.Exited, ExitCode: 2}
	left := sandbox.Result{ExitCode: -1, End: sandbox.Left}
	tests := []struct {
		name, arguments string
		ended           bool
		gives           sandbox.Result
		err             error
		want            sandbox.Step // its Key and Input
		text            string
		status          Status
	}{
		{"more output", `{"command": ""}`, false, exited, nil, sandbox.Step{},
			"[Below is the output of the previous command.]\nend\n[The command completed with exit code 2.]\n[Current working directory: /work]\n[Command finished with exit code 2]", Failed},
		{"nothing new", `{"command": "\n"}`, false, left, nil, sandbox.Step{},
			"[Below is the output of the previous command.]\n[Nothing new was printed.]\n[The command has printed nothing new for 30 seconds and is still running, for ", OK},
		{"input", `{"command": " 1 + 1 ", "is_input": "true"}`, false, left, nil, sandbox.Step{Key: sandbox.Enter, Input: []byte(" 1 + 1 ")}, "[Below is", OK},
		{"enter", `{"command": "", "is_input": "true"}`, false, left, nil, sandbox.Step{Key: sandbox.Enter}, "[Below is", OK},
		{"key", `{"command": "C-c"}`, false, left, nil, sandbox.Step{Key: sandbox.Interrupt},
			"[Below is the output of the previous command.]\n[Nothing new was printed.]\n[The command did not end by C-c. It has printed nothing new for 30 seconds", OK},
		{"key as input", `{"command": "C-d", "is_input": "true"}`, false, left, nil, sandbox.Step{Key: sandbox.EndInput}, "[Below is", OK},
		{"stopped", `{"command": "C-z"}`, false, sandbox.Result{ExitCode: -1, End: sandbox.Stopped, Fresh: true, Stopped: []int{7, 12}}, nil, sandbox.Step{Key: sandbox.Suspend},
			"[Below is the output of the previous command.]\n[Nothing new was printed.]\n[The command was stopped. Its processes still exist: pid 7, pid 12. kill -CONT", OK},
		{"too long", `{"command": "x", "is_input": "true"}`, false, left, fmt.Errorf("%w: too long", sandbox.ErrInput), sandbox.Step{Key: sandbox.Enter, Input: []byte("x")},
			"ERROR: the input cannot be sent: too long. The command is still running.", Failed},
		{"ended before", `{"command": "x", "is_input": "true"}`, true, exited, nil, sandbox.Step{},
			"[The command had ended before anything could be sent to it.]\n[Below is the output of the previous command.]\nend\n[The command completed", Failed},
		{"another command", `{"command": "ls"}`, false, left, nil, sandbox.Step{Key: "not asked"},
			"ERROR: the previous command is still running, so the new one was not run. To go on with it", Failed},
		{"another command, ended before", `{"command": "ls"}`, true, exited, nil, sandbox.Step{},
			"[Below is the output of the previous command.]\nend\n[The command completed with exit code 2.]\n[Below is the output of the new command.]\nfirst\n[The command completed with exit code 0.]", OK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake()
			result := sandbox.Result{Output: []byte("first\n"), ExitCode: -1, End: sandbox.Left}
			f.shell = func(sandbox.Command) (sandbox.Result, error) { return result, nil }
			f.step = func(s sandbox.Step) (sandbox.Result, error) {
				if s.Key != tt.want.Key || string(s.Input) != string(tt.want.Input) {
					t.Errorf("step %q %q", s.Key, s.Input)
				}
				return tt.gives, tt.err
			}
			r := newTools(t, f, Limits{})
			if got := call(t, r, "execute_bash", `{"command": "python3"}`); got.Status != OK || got.Exit != nil {
				t.Fatalf("%+v", got)
			}
			f.ended, result.End, result.ExitCode = tt.ended, sandbox.Exited, 0
			got := call(t, r, "execute_bash", tt.arguments)
			if !strings.HasPrefix(got.Text, tt.text) || got.Status != tt.status || tt.status == Failed && got.Text[:5] != "ERROR" && got.Exit == nil {
				t.Errorf("%s\n%s", got.Status, got.Text)
			}
			if tt.gives.End == sandbox.Exited { // then there is none to go on with
				if got := call(t, r, "execute_bash", `{"command": ""}`); !strings.HasPrefix(got.Text, "ERROR: the command is empty") {
					t.Errorf("%s", got.Text)
				}
			}
		})
	}
}

// A cancelled call is an error, and still says what was printed until then.
func TestBashCancelled(t *testing.T) {
	f := newFake()
	ctx, cancel := context.WithCancel(t.Context())
	f.shell = func(sandbox.Command) (sandbox.Result, error) {
		cancel()
		return sandbox.Result{Output: []byte("half\n"), ExitCode: -1, End: sandbox.Cancelled}, nil
	}
	got, err := newTools(t, f, Limits{}).Run(ctx, "execute_bash", `{"command": "x"}`)
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(got.Text, "half\n[The command was cancelled") {
		t.Errorf("%v %+v", err, got)
	}
}
