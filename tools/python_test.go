package tools

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rollbench/sandbox"
	"rollbench/sandbox/docker"
	"rollbench/sandbox/local"
)

// inSandboxes runs a test in a local sandbox of every level there is, and in a container.
func inSandboxes(t *testing.T, test func(*testing.T, sandbox.Sandbox)) {
	t.Helper()
	inLevels(t, []local.Level{local.Bubblewrap, local.Namespaces, local.None}, test)
}

func inLevels(t *testing.T, levels []local.Level, test func(*testing.T, sandbox.Sandbox)) {
	t.Helper()
	for _, level := range levels {
		t.Run(string(level), func(t *testing.T) {
			if _, err := exec.LookPath("bwrap"); err != nil && level == local.Bubblewrap {
				t.Skip("bubblewrap is not installed")
			}
			p, err := local.New(local.Options{Home: t.TempDir(), Level: level, AllowUncontained: level == local.None})
			if err != nil {
				t.Fatal(err)
			}
			openIn(t, p, sandbox.Spec{}, test)
		})
	}
	t.Run("docker", func(t *testing.T) {
		if os.Getenv("ROLLBENCH_REQUIRE_DOCKER") != "1" {
			t.Skip("ROLLBENCH_REQUIRE_DOCKER is not set")
		}
		p, err := docker.New(t.Context(), docker.Options{})
		if err != nil {
			t.Fatal(err)
		}
		openIn(t, p, sandbox.Spec{Image: testImage(), Labels: map[string]string{"run": "tools-test"}}, test)
	})
}

func testImage() string {
	if image := os.Getenv("ROLLBENCH_TEST_IMAGE"); image != "" {
		return image
	}
	return "rollbench-test/base:1"
}

func openIn(t *testing.T, p sandbox.Provider, spec sandbox.Spec, test func(*testing.T, sandbox.Sandbox)) {
	t.Helper()
	spec.Name, spec.Workdir = t.Name(), "/work"
	sb, err := p.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(sb.Close(), p.Close()); err != nil {
			t.Error(err)
		}
	})
	test(t, sb)
}

func pythonIn(t *testing.T, sb sandbox.Sandbox, l Limits) *Registry {
	t.Helper()
	r, err := New(Env{Sandbox: sb, Limits: l}, Enabled{Python: true, Bash: true})
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

func code(t *testing.T, r *Registry, code string) Result {
	t.Helper()
	args, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		t.Fatal(err)
	}
	return call(t, r, "python", string(args))
}

const gone = "The next call starts a fresh interpreter: variables, imports and functions are gone.]"

var carets = regexp.MustCompile(`(?m)^ *[~^]+\n`)

func TestPython(t *testing.T) {
	inSandboxes(t, func(t *testing.T, sb sandbox.Sandbox) {
		r := pythonIn(t, sb, Limits{})
		for _, tt := range []struct {
			name, code, want string
			status           Status
		}{
			{"value", "x = 20\nx + 1", "21\n", OK},
			{"state", "import math\ndef f(): return math.floor(x / 3)\nf()", "6\n", OK},
			{"nothing", "y = x", "[The code printed nothing.]", OK},
			{"none is not shown", "print('é', end='')\nNone", "é", OK},
			{"last value", "_", "6\n", OK},
			{"order", "import sys\nfor i in range(2):\n    print('out', i)\n    print('err', i, file=sys.stderr)", "out 0\nerr 0\nout 1\nerr 1\n", OK},
			{"exception", "def g():\n    return 1/0\ng()", "Traceback (most recent call last):\n  File \"<call 7>\", line 3, in <module>\n    g()\n  File \"<call 7>\", line 2, in g\n    return 1/0\nZeroDivisionError: division by zero\n", Failed},
			{"syntax", "x = = 1", "  File \"<call 8>\", line 1\n    x = = 1\nSyntaxError: invalid syntax\n", Failed},
			{"no input", "input('name? ')", "name? Traceback (most recent call last):\n  File \"<call 9>\", line 1, in <module>\n    input('name? ')\nEOFError: EOF when reading a line\n", Failed},
			{"exit", "sys.exit(3)", "[The code ended with sys.exit(3). The interpreter goes on, with its variables.]\n", Failed},
			{"exit 0", "raise SystemExit", "[The code ended with sys.exit(None). The interpreter goes on, with its variables.]\n", OK},
			{"own main", "__name__, x", "('__main__', 20)\n", OK},
			{"buffered stream", "sys.stdout.reconfigure(write_through=False, line_buffering=False); print('kept')", "kept\n", OK},
			{"closed streams", "sys.stdout.close(); sys.stderr = None; sys.stdin.close()\nimport os\nos.close(0); os.close(1); os.close(2)", "[The code printed nothing.]", OK},
			{"after that", "print('here'); raise KeyError(x)", "here\nTraceback (most recent call last):\n  File \"<call 15>\", line 1, in <module>\n    print('here'); raise KeyError(x)\nKeyError: 20\n", Failed},
			{"not blocking", "os.set_blocking(1, False)", "[The code printed nothing.]", OK},
			{"fork", "pid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('child' if pid == 0 else 'parent')", "child\nparent\n", OK},
			{"child process", "import subprocess\nsubprocess.run('echo sub; cat', shell=True).returncode", "sub\n0\n", OK},
			{"recursion", "def h(): h()\ntry: h()\nexcept RecursionError: print('deep')", "deep\n", OK},
			{"surrogate", "print('\\ud800')", "\\ud800\n", OK},
			{"odd repr", "class O:\n    def __repr__(self): raise BaseException('no')\nO()", "", Failed},
			{"long", "s = '" + strings.Repeat("é", 300<<10) + "'\nlen(s)", "307200\n", OK},
			{"thread", "def spin():\n    while True: print('', end='')\nimport threading\nthreading.Thread(target=spin, daemon=True).start()", "[The code printed nothing.]", OK},
			{"stream of its own", "import io\nsys.stdout = io.StringIO(); print('lost')\nsys.stderr.write('seen\\n')", "seen\n", OK},
			{"displayed by name", "del __builtins__\nx", "20\n", OK},
		} {
			got := code(t, r, tt.code)
			got.Text = carets.ReplaceAllString(got.Text, "") // by version
			if got.Status != tt.status || got.Text != tt.want && (tt.want != "" || !strings.HasSuffix(got.Text, "BaseException: no\n")) {
				t.Errorf("%s: %s\n%s", tt.name, got.Status, got.Text)
			}
		}
		got := code(t, r, "print('last words', end=''); os._exit(4)")
		if got.Text != "last words\n[The interpreter ended with exit code 4. "+gone || got.Status != Failed || *got.Exit != 4 {
			t.Errorf("%+v", got)
		}
		if got := code(t, r, "x"); !strings.HasSuffix(got.Text, "NameError: name 'x' is not defined\n") {
			t.Errorf("%+v", got)
		}
	})
}

func TestPythonLimits(t *testing.T) {
	inLevels(t, []local.Level{local.Namespaces}, func(t *testing.T, sb sandbox.Sandbox) {
		r := pythonIn(t, sb, Limits{Idle: 2 * time.Second, Observation: 1000})
		has(t, code(t, r, "import subprocess, time\nkid = subprocess.Popen(['sleep', '7171'], start_new_session=True)\nprint('begun')\ntime.sleep(600)"), TimedOut,
			"begun\n[The code had no new output after 2 seconds and was killed, with every process it had started. "+gone)
		has(t, call(t, r, "execute_bash", `{"command": "pgrep -f 'sleep 717[1]'"}`), Failed, "[The command printed nothing.]")
		got := code(t, pythonIn(t, sb, Limits{Command: 8 * time.Second, Observation: 1000}), "i = 0\nwhile True:\n    print('line', i)\n    i += 1")
		has(t, got, TimedOut, "line 0\nline 1\n", "characters are cut here", "[The code timed out after 8 seconds and was killed")
		if n := len([]rune(got.Text)); n > 1000 || n < 950 || got.Limit != "tools.command_timeout" || got.Bound != 8*time.Second || len(got.Full) < 2000 {
			t.Errorf("%d characters, full %d, %s %s", n, len(got.Full), got.Limit, got.Bound)
		}
		has(t, code(t, r, "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"), TimedOut, "[The code had no new output after 2 seconds")
		has(t, code(t, r, "import os\nx = 1\nos.getpid() > 0"), OK, "True\n")
		has(t, call(t, r, "execute_bash", `{"command": "pkill -9 -f '[/]proc/' ; pkill -9 python3; sleep 0.2"}`), OK)
		has(t, code(t, r, "'x' in dir()"), OK, "[The interpreter had ended with exit code 137 since the last call. This call ran in a fresh one: earlier variables, imports and functions are gone.]\nFalse\n")
		has(t, code(t, r, "import os\nos.closerange(0, 256)"), Failed, "[The interpreter ended with exit code")
		has(t, code(t, r, "def thread():\n    import time\n    time.sleep(0.1); print('later')\nimport threading\nt = threading.Thread(target=thread); t.start()"), OK, "[The code printed nothing.]")
		has(t, code(t, r, "t.join()"), OK, "later\n")
	})
}

func TestPythonCancelled(t *testing.T) {
	inSandboxes(t, func(t *testing.T, sb sandbox.Sandbox) {
		ctx, cancel := context.WithCancel(t.Context())
		var seen strings.Builder
		r, err := New(Env{Sandbox: sb, OnOutput: func(p []byte) {
			if seen.Write(p); strings.Contains(seen.String(), "half") {
				cancel()
			}
		}}, Enabled{Python: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		got, err := r.Run(ctx, "python", `{"code": "import time; print('half'); time.sleep(600)"}`)
		if !errors.Is(err, context.Canceled) || !strings.HasPrefix(got.Text, "half\n[The code was cancelled") || !strings.HasPrefix(seen.String(), "half") || strings.Contains(seen.String(), "ok") {
			t.Errorf("%v %+v %q", err, got, seen.String())
		}
		has(t, code(t, r, "1"), OK, "1\n")
		if err := sb.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := r.Run(t.Context(), "python", `{"code": "1"}`); !errors.Is(err, sandbox.ErrLost) {
			t.Errorf("%v %+v", err, got)
		}
	})
}

// An interpreter that never answers is given up at the limits, and a sandbox lost
// in the middle of a call ends it.
func TestPythonThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, lost := newFake(), make(chan struct{})
		f.exec = func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
			if c.Argv[0] == "sh" { // takes the code
				return sandbox.Result{End: sandbox.Exited}, nil
			}
			c.OnOutput([]byte(c.Argv[4] + " 7 "))
			c.OnOutput([]byte("5\n"))
			select {
			case <-ctx.Done():
				return sandbox.Result{End: sandbox.Cancelled, ExitCode: -1}, nil
			case <-lost:
				return sandbox.Result{}, sandbox.ErrLost
			}
		}
		began := time.Now()
		r := pythonIn(t, f, Limits{Command: 50 * time.Second})
		has(t, code(t, r, "1"), TimedOut, "[The code had no new output after 30 seconds and was killed")
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("took %v", took)
		}
		time.AfterFunc(20*time.Second, func() { close(lost) })
		if _, err := r.Run(t.Context(), "python", `{"code": "1"}`); !errors.Is(err, sandbox.ErrLost) || time.Since(began) != 50*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// A sandbox without python3 says so; the call is not an error of the sandbox.
func TestPythonMissing(t *testing.T) {
	f := newFake()
	f.exec = func(context.Context, sandbox.Command) (sandbox.Result, error) {
		return sandbox.Result{ExitCode: 127, End: sandbox.Exited, Output: []byte("python3: not found\n")}, nil
	}
	r := pythonIn(t, f, Limits{})
	if got := code(t, r, "1"); got.Status != Failed || got.Text != "ERROR: there is no python3 in this sandbox, so this tool cannot run. Use the other tools." {
		t.Errorf("%+v", got)
	}
	if got := code(t, r, " \n"); got.Status != Failed || got.Text != "ERROR: the code is empty. Give Python code to run." {
		t.Errorf("%+v", got)
	}
	f.lost = true
	if _, err := r.Run(t.Context(), "python", `{"code": "1"}`); !errors.Is(err, sandbox.ErrLost) {
		t.Error(err)
	}
}

func TestStream(t *testing.T) {
	text := "between\x00MAMARK no\nMARK ok\nafter"
	for cut := range len(text) {
		s, out := newStream(), sandbox.NewCollector(0, nil)
		s.write([]byte("before "))
		said := s.begin("MARK", out)
		for _, piece := range []string{text[:cut], text[cut:]} {
			s.write([]byte(piece))
		}
		var got sandbox.Result
		out.Fill(&got)
		if end := <-said; string(got.Output) != "before between\x00MA"+"MARK ok\nafter" || end != "no" {
			t.Errorf("cut at %d: %q, %q", cut, got.Output, end)
		}
		s.end()
	}
}
