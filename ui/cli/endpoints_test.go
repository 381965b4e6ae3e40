package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollbench/engine/infer/simulated"
	"rollbench/sessions"
)

// twoEndpoints writes a configuration of two simulated endpoints that serve the
// models, and returns its path and their addresses.
func (s *shop) twoEndpoints(models ...string) (config string, urls []string) {
	s.t.Helper()
	text := "[sandbox]\nallow_uncontained = true\n"
	for i, m := range models {
		sim, err := simulated.Start(simulated.Options{Model: m, Seed: 4, Latency: 100 * time.Millisecond})
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { _ = sim.Close() })
		urls = append(urls, sim.URL())
		text += fmt.Sprintf("[[endpoint]]\nurl = %q\nweight = %d\n", sim.URL(), 1+2*i)
	}
	config = filepath.Join(s.home, "two.toml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return config, urls
}

// A run on two endpoints is killed, and its resume works on both again without
// being told of them.
func TestResumeOnSeveralEndpoints(t *testing.T) {
	s := newShop(t)
	config, urls := s.twoEndpoints("policy", "policy")
	s.killAfter(1, "] done", "run", "--headless", "--config", config, "--limit", "2", "--sandbox", "local")
	killed := time.Now()
	var o outcome
	if err := json.Unmarshal([]byte(s.run("resume", "--headless", "--json")), &o); err != nil {
		t.Fatal(err)
	}
	if o.Done != 8 || !o.Simulated {
		t.Errorf("after the resume: %+v", o)
	}
	s.read(func(r sessions.Reader) {
		if got := r.Run().Endpoint; got != strings.Join(urls, ", ") {
			t.Errorf("the run's endpoint is %q", got)
		}
		var before, after []string
		for key := range s.rows() {
			turns, err := r.Turns(context.Background(), key, 0, 0, 0, false)
			if err != nil {
				t.Fatal(err)
			}
			for _, turn := range turns {
				if turn.LogprobsMode != "processed" || !slices.Contains(urls, turn.Endpoint) {
					t.Errorf("%s turn %d: endpoint %q, logprobs %q", key, turn.Index, turn.Endpoint, turn.LogprobsMode)
				}
				if turn.Started.Before(killed) {
					before = append(before, turn.Endpoint)
				} else {
					after = append(after, turn.Endpoint)
				}
			}
		}
		for _, at := range [][]string{before, after} {
			if slices.Sort(at); len(slices.Compact(at)) != 2 {
				t.Errorf("the endpoints of a part of the run: %v", slices.Compact(at))
			}
		}
	})
}

// Endpoints that serve different models are refused before a run is made; the
// doctor shows each, and what is wrong with them together.
func TestEndpointsThatDiffer(t *testing.T) {
	s := newShop(t)
	config, urls := s.twoEndpoints("policy", "another")
	cmd := s.command("run", "--headless", "--config", config, "--limit", "1", "--sandbox", "local")
	out, err := cmd.CombinedOutput()
	want := fmt.Sprintf("rollbench: endpoint %s serves policy and endpoint %s another: all endpoints of a run serve one model\n", urls[0], urls[1])
	if code := cmd.ProcessState.ExitCode(); err == nil || code != 2 || string(out) != want {
		t.Errorf("exit code %d, said %s", code, out)
	}
	out, err = s.command("doctor", "--config", config).CombinedOutput()
	var e *exec.ExitError
	if !errors.As(err, &e) || e.ExitCode() != 1 {
		t.Errorf("the doctor ended with %v", err)
	}
	for _, line := range []string{"ok       endpoint    " + urls[0] + ", model policy: simulated with", "ok       endpoint    " + urls[1] + ", model another: ", "; weight 3\n", "BROKEN   endpoints   endpoint " + urls[0]} {
		if !strings.Contains(string(out), line) {
			t.Errorf("the doctor does not say %q:\n%s", line, out)
		}
	}
}
