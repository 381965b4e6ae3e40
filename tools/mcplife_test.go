package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollbench/tools/mcp"
)

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

// What a server prints beside the protocol is named as the cause, not the broken pipe
// that it dies of then.
func TestRemotePrintsWhatIsNoMessage(t *testing.T) {
	for role, want := range map[string]string{
		"chatty":  "what it printed is no message of the protocol: invalid character 'l' looking for beginning of value",
		"endless": "what it printed is no message of the protocol: inbound JSON-RPC frame exceeded the configured maximum line length",
	} {
		if _, err := mcp.List(t.Context(), stdioServer(t, role)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", role, err)
		}
	}
}
