package docker

import (
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
)

func TestSSHArgs(t *testing.T) {
	const head = "-T -o BatchMode=yes -o ConnectTimeout=30 "
	for address, want := range map[string]string{
		"ssh://far":                      head + "-- far docker system dial-stdio",
		"ssh://me@far:2222":              head + "-l me -p 2222 -- far docker system dial-stdio",
		"ssh://me@[::1]:22/":             head + "-l me -p 22 -- ::1 docker system dial-stdio",
		"ssh://far/run/user/7/docker.s":  head + "-- far docker --host unix:///run/user/7/docker.s system dial-stdio",
		"ssh://":                         "names no machine",
		"ssh://me@":                      "names no machine",
		"ssh://-oProxyCommand=x":         "names no machine",
		"ssh://me:secret@far":            "holds a password: use a key",
		"ssh://far?x=1":                  "more than ssh://",
		"ssh://far#x":                    "more than ssh://",
		"ssh://far/run/a%20b;rm%20-rf~x": "letters, digits and ._-/ only",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		args, err := sshArgs(u)
		if got := strings.Join(args, " "); err == nil && got != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %q", address, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the password is told: %v", err)
		}
	}
}

// putSSH makes a script the ssh of this test, and an address of it the engine's.
func putSSH(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("DOCKER_HOST", "ssh://me@far")
}

// TestDialStdio is no test of its own: it is what the fake ssh runs.
func TestDialStdio(t *testing.T) {
	socket := os.Getenv("ROLLBENCH_TEST_STDIO")
	if socket == "" {
		return
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, conn)
	os.Exit(0)
}

// An engine behind ssh is another machine's, and is asked through it.
func TestSSHEngine(t *testing.T) {
	f := &fake{}
	serve(t, f)
	dir := serveSocket(t, f)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	putSSH(t, `echo "$*" >>`+dir+`/asked; ROLLBENCH_TEST_STDIO=`+dir+`/e.sock exec `+self+" -test.run '^TestDialStdio$'\n")
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	p := provider(t, Options{})
	if r := p.Check(t.Context()); !r.OK || !strings.HasPrefix(r.Detail, "docker 20.10.24, API 1.41, ") {
		t.Errorf("%+v", r)
	}
	if !p.remote() {
		t.Error("its paths are taken for this machine's")
	}
	asked, err := os.ReadFile(dir + "/asked")
	if want := "-T -o BatchMode=yes -o ConnectTimeout=30 -l me -- far docker system dial-stdio\n"; err != nil || string(asked) != want { // one connection for all
		t.Errorf("ssh was asked %q, %v; want %q", asked, err, want)
	}
}

// Where ssh fails, its own words are what a person reads.
func TestSSHFails(t *testing.T) {
	serve(t, &fake{})
	putSSH(t, "cat >/dev/null & echo 'me@far: Permission denied (publickey).' >&2; exit 255\n")
	p := provider(t, Options{})
	r := p.Check(t.Context())
	if r.OK || !strings.Contains(r.Detail, "docker system dial-stdio: exit status 255: me@far: Permission denied (publickey).") {
		t.Errorf("%+v", r)
	}
	t.Setenv("PATH", t.TempDir())
	if r := provider(t, Options{}).Check(t.Context()); r.OK || !strings.Contains(r.Detail, "start ssh: ") {
		t.Errorf("%+v", r)
	}
}

// A container of an engine behind ssh works as any other: streams of both
// directions, files, a shell, and a command that has to be killed.
func TestSSHContainer(t *testing.T) {
	engine(t, Options{}) // is there one at all?
	if _, err := exec.LookPath("docker"); err != nil {
		if os.Getenv("ROLLBENCH_REQUIRE_DOCKER") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	host := os.Getenv("DOCKER_HOST")
	putSSH(t, `while [ "$1" != -- ]; do shift; done; shift 2; DOCKER_HOST='`+host+`' exec "$@"`+"\n")
	c := open(t, engine(t, Options{}), sandbox.Spec{})
	if got := run(t, c, sandbox.Command{Script: "cat; echo end", Stdin: []byte("in\n")}); got != "in\nend\n" {
		t.Errorf("%q", got)
	}
	if err := c.WriteFile(t.Context(), "f", []byte("written"), 0o644); err != nil {
		t.Fatal(err)
	}
	sh, err := c.Shell(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := sh.Run(t.Context(), sandbox.Command{Script: "cat f; mkdir d; cd d"})
	if err != nil || string(r.Output) != "written" || !strings.HasSuffix(sh.Dir(), "/d") {
		t.Errorf("%q in %s, %v", r.Output, sh.Dir(), err)
	}
	r, err = sh.Run(t.Context(), sandbox.Command{Script: "sleep 1000", Timeout: 200 * time.Millisecond})
	if err != nil || r.End != sandbox.TimedOut {
		t.Errorf("%+v %v", r, err)
	}
	if err := sh.Close(); err != nil {
		t.Error(err)
	}
}
