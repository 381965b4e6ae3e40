package tools

import (
	"os"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
	"rollbench/sandbox/docker"
)

// TestInAContainer runs the tools on a real sandbox: what one writes the other
// reads, and limits come back as observations.
func TestInAContainer(t *testing.T) {
	image := testImage()
	absent := func(why any) {
		if os.Getenv("ROLLBENCH_REQUIRE_DOCKER") == "1" {
			t.Fatalf("docker is required: %v", why)
		}
		t.Skipf("no docker: %v", why)
	}
	p, err := docker.New(t.Context(), docker.Options{})
	if err != nil {
		absent(err)
	}
	defer p.Close()
	if have, err := p.HasImage(t.Context(), image); err != nil || !have {
		absent(err)
	}
	s, err := p.Open(t.Context(), sandbox.Spec{Image: image, Name: t.Name(), Workdir: "/work", Labels: map[string]string{"run": "tools-test"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := New(Env{Sandbox: s, Limits: Limits{Command: 5 * time.Second, Idle: time.Second}}, Enabled{Bash: true, Editor: true, Finish: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	has(t, edits(t, r, "create", "/work/pkg/run.sh", "file_text", "echo one\r\necho 'two'\r\n"), OK, "Created /work/pkg/run.sh (2 lines).")
	has(t, call(t, r, "execute_bash", `{"command": "cd pkg && chmod 750 run.sh && wc -c < run.sh"}`), OK, "22\n[The command completed with exit code 0.]\n[Current working directory: /work/pkg]")
	has(t, edits(t, r, "str_replace", "/work/pkg/run.sh", "old_str", "one\necho", "new_str", "one\necho 1.5\necho"), OK, "     2\techo 1.5\n")
	has(t, call(t, r, "execute_bash", `{"command": "stat -c %a run.sh; tr -d '\\r' < run.sh | sh; false"}`), Failed, "750\none\n1.5\ntwo\n[The command completed with exit code 1.]")
	has(t, call(t, r, "execute_bash", `{"command": "printf 'a\\n' > theirs && chown 1000:1000 theirs && chmod 640 theirs && ln -s theirs link"}`), OK)
	has(t, edits(t, r, "str_replace", "/work/pkg/link", "old_str", "a", "new_str", "b"), OK)
	has(t, call(t, r, "execute_bash", `{"command": "stat -c '%u %g %a' theirs; readlink link; cat theirs; rm theirs link"}`), OK, "1000 1000 640\ntheirs\nb\n")
	has(t, edits(t, r, "view", "/work"), OK, "/work/pkg/\n/work/pkg/run.sh")
	has(t, edits(t, r, "undo_edit", "/work/pkg/run.sh"), OK)
	has(t, edits(t, r, "undo_edit", "/work/pkg/run.sh"), OK, "the file is removed")
	has(t, edits(t, r, "view", "/work/pkg/run.sh"), Failed, "does not exist")
	has(t, call(t, r, "execute_bash", `{"command": "echo begun; sleep 600"}`), OK, "begun\n[The command has printed nothing new for 1 seconds and is still running")
	has(t, call(t, r, "execute_bash", `{"command": "pwd"}`), Failed, "ERROR: the previous command is still running")
	has(t, call(t, r, "execute_bash", `{"command": "C-c", "is_input": "true"}`), Failed, "[Below is the output of the previous command.]\n[Nothing new was printed.]\n[The command completed with exit code 130.]")
	// Python may take longer to start than nothing may be printed.
	slow, err := New(Env{Sandbox: s, Limits: Limits{Command: time.Minute, Idle: time.Second}}, Enabled{Bash: true})
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	has(t, patiently(t, slow, ">>> ", `{"command": "python3 -q"}`), OK, ">>> \n[The command has printed nothing new")
	has(t, patiently(t, slow, "42", `{"command": "print(6 * 7)", "is_input": "true"}`), OK, "command.]\n42\n>>> \n[The command has")
	has(t, patiently(t, slow, "exit code 0.", `{"command": "C-d"}`), OK, "[The command completed with exit code 0.]")
	has(t, call(t, r, "execute_bash", `{"command": "sleep 600", "is_input": "false"}`), OK, "still running")
	has(t, call(t, r, "execute_bash", `{"command": "C-z"}`), OK, "[The command was stopped. Its processes still exist: pid ", "functions and shell options are gone.]\n[Current working directory: /work/pkg]")
	has(t, call(t, r, "execute_bash", `{"command": "pkill -9 sleep"}`), OK)
	has(t, call(t, r, "execute_bash", `{"command": "while :; do echo on; sleep 0.2; done"}`), TimedOut, "on\n[The command timed out after 5 seconds and was killed")
	got := call(t, r, "execute_bash", `{"command": "pwd; pgrep sleep"}`)
	has(t, got, Failed, "/work/pkg\n[The command completed with exit code 1.]")
	if strings.Contains(got.Text, "\x1b") {
		t.Error(got.Text)
	}
}

// patiently makes the call, and waits on while what it prints does not have the text.
func patiently(t *testing.T, r *Registry, text, arguments string) Result {
	t.Helper()
	got := call(t, r, "execute_bash", arguments)
	for range 20 {
		if strings.Contains(got.Text, text) || got.Status != OK {
			break
		}
		got = call(t, r, "execute_bash", `{"command": ""}`)
	}
	return got
}
