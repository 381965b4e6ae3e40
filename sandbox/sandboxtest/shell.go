package sandboxtest

import (
	"context"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
)

func shellOf(t *testing.T, sb sandbox.Sandbox) sandbox.Shell {
	t.Helper()
	sh, err := sb.Shell(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sh.Close(); err != nil {
			t.Errorf("close shell: %v", err)
		}
	})
	return sh
}

func run(t *testing.T, sh sandbox.Shell, c sandbox.Command) sandbox.Result {
	t.Helper()
	if c.Timeout == 0 {
		c.Timeout = limit
	}
	r, err := sh.Run(t.Context(), c)
	if err != nil {
		t.Fatalf("run %q: %v", c.Script[:min(len(c.Script), 200)], err)
	}
	return r
}

func testShell(t *testing.T, sb sandbox.Sandbox) {
	sh := shellOf(t, sb)
	dir := sb.Workdir()
	if sh.Dir() != dir {
		t.Errorf("starts in %s, not %s", sh.Dir(), dir)
	}
	for _, c := range []struct {
		name, script, out string
		code              int
	}{
		{"workdir", "pwd", dir + "\n", 0},
		{"env of spec", `echo "$SPEC_VAR"`, "from spec\n", 0},
		{"change", "mkdir -p 'a b'; cd 'a b'; export X=1", "", 0},
		{"stays", `pwd; echo $X`, dir + "/a b\n1\n", 0},
		{"order", "for i in 1 2; do echo o$i; echo e$i >&2; done", "o1\ne1\no2\ne2\n", 0},
		{"no newline", "printf x", "x", 0},
		{"binary", `printf '\000\377'`, "\x00\xff", 0},
		{"code", "sh -c 'exit 9'", "", 9},
		{"input is a terminal", "test -t 0; a=$?; test -t 1; echo $a $?", "0 1\n", 0},
		{"a job has no input", "cat & wait; echo done", "done\n", 0},
		{"nothing of ours", "ls -l /proc/self/fd | grep -c '[789] ->'", "0\n", 1},
		{"heredoc", "cat <<'EOF'\n'\"$x`\nEOF", "'\"$x`\n", 0},
		{"empty", "", "", 0},
		{"exit", "exit 3", "", 3},
		{"after exit", `pwd; echo $X`, dir + "/a b\n1\n", 0},
		{"killed", "kill -9 $$", "", 137},
		{"after kill", `pwd; echo $X`, dir + "/a b\n1\n", 0},
		{"exec", "exec echo instead", "instead\n", 0},
		{"closes its output", "exec 1>&- 2>&-", "", 0},
		{"still heard", "echo ok", "ok\n", 0},
		{"strict", "set -e", "", 0},
		{"strict fails", "false", "", 1},
		{"after strict", "echo ok", "ok\n", 0},
		{"home again", "cd " + dir, "", 0},
		{"long", "x='" + strings.Repeat("y", 900<<10) + "'; echo ${#x}", "921600\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, sh, sandbox.Command{Script: c.script})
			if string(r.Output) != c.out || r.ExitCode != c.code || r.End != sandbox.Exited {
				t.Errorf("got %q, code %d, %s; want %q, code %d", r.Output, r.ExitCode, r.End, c.out, c.code)
			}
		})
	}
	t.Run("broken scripts", func(t *testing.T) {
		for _, script := range []string{"echo 'open", `echo "`, "if true; then", "cat <<EOF\nx", "((", "}", "`"} {
			r := run(t, sh, sandbox.Command{Script: script, Timeout: 20 * time.Second})
			if r.End != sandbox.Exited {
				t.Errorf("%q: %+v", script, r)
			}
			if r := run(t, sh, sandbox.Command{Script: "echo alive"}); string(r.Output) != "alive\n" {
				t.Errorf("after %q: %q", script, r.Output)
			}
		}
	})
	t.Run("background", func(t *testing.T) {
		r := run(t, sh, sandbox.Command{Script: "sleep 600 & echo $! > job"})
		if r.End != sandbox.Exited || r.Wall > 10*time.Second {
			t.Errorf("%+v", r)
		}
		if r := run(t, sh, sandbox.Command{Script: "kill -0 $(cat job) && echo lives; kill $(cat job)"}); !strings.HasPrefix(string(r.Output), "lives\n") {
			t.Errorf("%q", r.Output)
		}
	})
	t.Run("markers cannot be read", func(t *testing.T) {
		r := run(t, sh, sandbox.Command{Script: `set; export -p; echo end`})
		if r.End != sandbox.Exited || !strings.HasSuffix(string(r.Output), "\nend\n") {
			t.Errorf("%s: … %q", r.End, r.Output[max(0, len(r.Output)-80):])
		}
	})
	t.Run("big output", func(t *testing.T) {
		r := run(t, sh, sandbox.Command{Script: "head -c 8388608 /dev/zero", MaxOutput: 1000})
		if len(r.Output) != 1000 || r.Dropped != 8388608-1000 || r.Head != 500 {
			t.Errorf("kept %d, dropped %d, head %d", len(r.Output), r.Dropped, r.Head)
		}
	})
}

func testShellLimits(t *testing.T, sb sandbox.Sandbox) {
	sh := shellOf(t, sb)
	run(t, sh, sandbox.Command{Script: "mkdir -p here; cd here; export K=kept; sleep 5156 & echo $! > job"})
	usable := func(t *testing.T) {
		t.Helper()
		if n := count(t, sb); n != "0" {
			t.Errorf("%s processes are left: %s", n, says(t, sb, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"))
		}
		r := run(t, sh, sandbox.Command{Script: `echo "$K"; pwd`})
		if want := "kept\n" + sb.Workdir() + "/here\n"; string(r.Output) != want {
			t.Errorf("got %q, want %q", r.Output, want)
		}
	}
	t.Run("hard", func(t *testing.T) {
		r := run(t, sh, sandbox.Command{Script: stubborn(), Timeout: 2 * time.Second})
		if r.End != sandbox.TimedOut || r.ExitCode != -1 || string(r.Output) != "up\n" {
			t.Errorf("%+v", r)
		}
		usable(t)
	})
	t.Run("idle", func(t *testing.T) {
		if r := run(t, sh, sandbox.Command{Script: stubborn(), Idle: time.Second}); r.End != sandbox.IdledOut {
			t.Errorf("%+v", r)
		}
		usable(t)
	})
	t.Run("busy shell", func(t *testing.T) {
		if r := run(t, sh, sandbox.Command{Script: "trap '' TERM INT; while :; do :; done", Timeout: time.Second}); r.End != sandbox.TimedOut {
			t.Errorf("%+v", r)
		}
		usable(t)
	})
	t.Run("cancel", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := sh.Run(ctx, sandbox.Command{Script: stubborn(), Timeout: limit, OnOutput: func([]byte) { cancel() }})
		if err != nil || r.End != sandbox.Cancelled {
			t.Errorf("%+v, %v", r, err)
		}
		usable(t)
	})
	t.Run("earlier job lives on", func(t *testing.T) {
		if r := run(t, sh, sandbox.Command{Script: "kill -0 $(cat job) && echo lives; kill $(cat job)"}); !strings.HasPrefix(string(r.Output), "lives\n") {
			t.Errorf("%q", r.Output)
		}
	})
}

func testContainment(t *testing.T, sb sandbox.Sandbox) {
	t.Run("no secret of ours", func(t *testing.T) {
		t.Setenv("SUITE_SECRET_KEY", "s3cr3t")
		for _, out := range []string{says(t, sb, "env; cat /proc/self/environ"), string(run(t, shellOf(t, sb), sandbox.Command{Script: "env; set"}).Output)} {
			if strings.Contains(out, "SUITE_SECRET") || strings.Contains(out, "s3cr3t") {
				t.Errorf("environment: %s", out)
			}
		}
	})
	if !contained(sb) {
		return
	}
	t.Run("no network", func(t *testing.T) {
		out := says(t, sb, "cat /proc/net/dev | tail -n +3 | cut -d: -f1")
		if strings.TrimSpace(out) != "lo" {
			t.Errorf("interfaces: %q", out)
		}
	})
	t.Run("files of this machine", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(path.Join(dir, "f"), []byte("here"), 0o644); err != nil {
			t.Fatal(err)
		}
		r := exec(t, sb, sandbox.Command{Script: "cat " + dir + "/f; echo over > " + dir + "/f; rm -rf " + dir})
		if strings.Contains(string(r.Output), "here") {
			t.Errorf("read: %s", r.Output)
		}
		if got, err := os.ReadFile(path.Join(dir, "f")); err != nil || string(got) != "here" {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("processes of this machine", func(t *testing.T) {
		if out := says(t, sb, "ls -d /proc/[0-9]* | wc -l"); len(strings.TrimSpace(out)) > 2 {
			t.Errorf("%s processes are seen", out)
		}
	})
}
