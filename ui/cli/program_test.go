package cli

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"rollbench/sessions"
)

var built struct {
	sync.Once
	path string
	err  error
	out  []byte
}

// binary builds rollbench once, as the README says.
func binary(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		dir, err := os.MkdirTemp("", "rollbench-test-")
		if err != nil {
			built.err = err
			return
		}
		built.path = filepath.Join(dir, "rollbench")
		cmd := exec.Command("go", "build", "-o", built.path, "rollbench")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=") // not those of these tests
		built.out, built.err = cmd.CombinedOutput()
	})
	if built.err != nil {
		t.Fatalf("build: %v\n%s", built.err, built.out)
	}
	return built.path
}

// required reports whether what is missing is a failure instead of a skip.
func required() bool { return os.Getenv("ROLLBENCH_REQUIRE_DOCKER") == "1" }

// shop is a home of its own for one test.
type shop struct {
	t    *testing.T
	home string
	env  []string
	pids []string // of the programs it ran
}

func newShop(t *testing.T) *shop {
	home := t.TempDir()
	file := filepath.Join(home, "config", "rollbench", "config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	// The bundled tasks are honest: they may run where nothing contains them.
	if err := os.WriteFile(file, []byte("[sandbox]\nallow_uncontained = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &shop{t: t, home: home, env: append(os.Environ(), "ROLLBENCH_HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"))}
}

func (s *shop) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary(s.t), args...)
	cmd.Env, cmd.Dir = s.env, s.home
	return cmd
}

// run to the end and return standard output.
func (s *shop) run(args ...string) string {
	s.t.Helper()
	cmd := s.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.Process != nil {
		s.pids = append(s.pids, strconv.Itoa(cmd.Process.Pid))
	}
	if err != nil {
		s.t.Fatalf("rollbench %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String()
}

// killAfter starts the program and kills it when a line of its output has
// been seen n times.
func (s *shop) killAfter(n int, line string, args ...string) {
	s.t.Helper()
	cmd := s.command(args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.pids = append(s.pids, strconv.Itoa(cmd.Process.Pid))
	var seen bytes.Buffer
	lines := bufio.NewScanner(io.TeeReader(out, &seen))
	for n > 0 && lines.Scan() {
		if strings.Contains(lines.Text(), line) {
			n--
		}
	}
	if n > 0 {
		s.t.Errorf("the program ended before it was to be killed:\n%s", seen.String())
	}
	if err := cmd.Process.Kill(); err != nil {
		s.t.Error(err)
	}
	_, _ = io.Copy(io.Discard, out) // until the pipe is closed by its death
	if err := cmd.Wait(); err == nil {
		s.t.Error("it was not killed")
	}
}

// rows of the newest run, by trajectory.
func (s *shop) rows() map[sessions.Key]sessions.Trajectory {
	s.t.Helper()
	out := map[sessions.Key]sessions.Trajectory{}
	s.read(func(r sessions.Reader) {
		rows, _, err := r.Trajectories(context.Background())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, row := range rows {
			out[row.Key] = row
		}
	})
	return out
}

func (s *shop) read(do func(sessions.Reader)) {
	s.t.Helper()
	r, err := sessions.OpenReader(context.Background(), s.home, "latest")
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Close()
	do(r)
}

// events of the newest run.
func (s *shop) events() []sessions.Event {
	s.t.Helper()
	var all []sessions.Event
	s.read(func(r sessions.Reader) {
		for seq := int64(0); ; {
			events, err := r.Since(context.Background(), seq, 1000)
			if err != nil {
				s.t.Fatal(err)
			}
			if len(events) == 0 {
				return
			}
			all = append(all, events...)
			seq = events[len(events)-1].Seq
		}
	})
	return all
}

// within polls a condition of another process until it holds.
func within(t *testing.T, limit time.Duration, what string, ok func() bool) bool {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Errorf("not within %v: %s", limit, what)
			return false
		case <-tick.C:
		}
	}
	return true
}
