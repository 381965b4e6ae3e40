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
	r, err := New(Env{Sandbox: s, Limits: Limits{Command: 20 * time.Second, Idle: 2 * time.Second}}, Enabled{Bash: true, Editor: true, Finish: true})
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
	has(t, call(t, r, "execute_bash", `{"command": "echo begun; sleep 600"}`), TimedOut, "begun\n[The command had no new output after 2 seconds")
	got := call(t, r, "execute_bash", `{"command": "pwd; pgrep sleep"}`)
	has(t, got, Failed, "/work/pkg\n[The command completed with exit code 1.]")
	if strings.Contains(got.Text, "\x1b") {
		t.Error(got.Text)
	}
}
