package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"rollbench": func() { os.Exit(Main(os.Args[1:], embedded())) }, "mcpserver": mcpServer})
}

// embedded is config.toml as main.go embeds it.
func embedded() string {
	_, file, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "..", "..", "config.toml"))
	if err != nil {
		panic(err)
	}
	return string(text)
}

// The command line as a person types it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("ROLLBENCH_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			// The bundled tasks are honest: they may run where nothing contains them.
			file := filepath.Join(env.WorkDir, "config", "rollbench", "config.toml")
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				return err
			}
			if err := os.WriteFile(file, []byte("[sandbox]\nallow_uncontained = true\n"), 0o600); err != nil {
				return err
			}
			for _, name := range []string{"ROLLBENCH_TEST_IMAGE", "DOCKER_HOST"} {
				env.Setenv(name, os.Getenv(name))
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "checkexport": checkExport, "oneline": oneLineOf, "checkrun": checkRun, "samesamples": sameSamples,
		},
	})
}

// exits CODE PROGRAM ARGS…: the program ends with the code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			ts.Fatalf("%v", err)
		}
		got = e.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v exited with %d, want %d\n%s", args[1:], got, want, ts.ReadFile("stderr"))
	}
}

// oneline FILE: it has one line, and no trace of a panic.
func oneLineOf(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	if strings.Count(text, "\n") != 1 || strings.Contains(text, "goroutine") {
		ts.Fatalf("%s is not one line: %q", args[0], text)
	}
}

// checkrun FILE N: the JSON line of a headless run accounts for N trajectories.
func checkRun(ts *testscript.TestScript, _ bool, args []string) {
	var o outcome
	text := ts.ReadFile(args[0])
	if strings.Count(text, "\n") != 1 {
		ts.Fatalf("want one JSON line, got %q", text)
	}
	ts.Check(json.Unmarshal([]byte(text), &o))
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	if o.Trajectories != n || o.Done+o.Failed+o.Cancelled != n || o.Failed != 0 || o.WallS <= 0 || o.MeanReward == nil || !o.Simulated {
		ts.Fatalf("outcome %+v, want %d trajectories done", o, n)
	}
	if o.Solved == 0 || o.Solved == n {
		ts.Fatalf("%d of %d solved: outcomes are not mixed", o.Solved, n)
	}
}

// transition is a row of the export, as docs/exports.md has it.
type transition struct {
	Run        string           `json:"run"`
	Instance   string           `json:"instance_id"`
	Trajectory int              `json:"trajectory_id"`
	Turn       int              `json:"turn"`
	Prompt     []int32          `json:"prompt_token_ids"`
	Output     []int32          `json:"output_token_ids"`
	Logprobs   []float64        `json:"logprobs"`
	Finish     string           `json:"finish_reason"`
	Reward     *float64         `json:"reward"`
	Advantage  *float64         `json:"advantage"`
	Mask       []int            `json:"loss_mask"`
	MaskReason *string          `json:"mask_reason"`
	Intervened bool             `json:"intervened"`
	Source     string           `json:"source"`
	Simulated  bool             `json:"simulated"`
	Model      string           `json:"model"`
	Sampling   map[string]any   `json:"sampling"`
	Verbs      []map[string]any `json:"interventions"`
}

func readTransitions(path string) ([]transition, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var rows []transition
	s := bufio.NewScanner(f)
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		var r transition
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(rows)+1, err)
		}
		rows = append(rows, r)
	}
	return rows, s.Err()
}

// checkexport FILE N: N trajectories; prompts extend what was sampled, every
// output id has a logprob and a mask, and advantages are leave-one-out,
// derived here once more from the rewards.
func checkExport(ts *testscript.TestScript, _ bool, args []string) {
	rows, err := readTransitions(ts.MkAbs(args[0]))
	ts.Check(err)
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	rewards := map[string]map[int]float64{}
	for _, r := range rows {
		if r.Reward == nil {
			ts.Fatalf("%s#%d turn %d has no reward", r.Instance, r.Trajectory, r.Turn)
		}
		if rewards[r.Instance] == nil {
			rewards[r.Instance] = map[int]float64{}
		}
		rewards[r.Instance][r.Trajectory] = *r.Reward
	}
	members := 0
	for _, group := range rewards {
		members += len(group)
	}
	if members != n {
		ts.Fatalf("%d trajectories exported, want %d", members, n)
	}
	var before transition
	for _, r := range rows {
		if problem := r.problem(before, rewards[r.Instance]); problem != "" {
			ts.Fatalf("%s#%d turn %d: %s", r.Instance, r.Trajectory, r.Turn, problem)
		}
		before = r
	}
}

func (r transition) problem(before transition, group map[int]float64) string {
	if len(r.Output) == 0 || len(r.Logprobs) != len(r.Output) || len(r.Mask) != len(r.Output) {
		return fmt.Sprintf("%d ids, %d logprobs, %d mask", len(r.Output), len(r.Logprobs), len(r.Mask))
	}
	masked := r.Finish != "finish_tool" && r.Finish != "no_patch"
	for i, m := range r.Mask {
		if (m == 0) != masked || r.Logprobs[i] > 0 {
			return fmt.Sprintf("mask %d, logprob %v at %d of a trajectory that ended by %s", m, r.Logprobs[i], i, r.Finish)
		}
	}
	if (r.MaskReason != nil) != masked || !r.Simulated || r.Model == "" || r.Sampling["temperature"] == nil {
		return fmt.Sprintf("mask reason %v, simulated %v, model %q, sampling %v", r.MaskReason, r.Simulated, r.Model, r.Sampling)
	}
	if before.Instance == r.Instance && before.Trajectory == r.Trajectory {
		prefix := append(append([]int32{}, before.Prompt...), before.Output...)
		if len(r.Prompt) <= len(prefix) || fmt.Sprint(r.Prompt[:len(prefix)]) != fmt.Sprint(prefix) {
			return "the prompt does not extend the turn before"
		}
	}
	others, sum := 0, 0.0
	for id, reward := range group {
		if id != r.Trajectory {
			others, sum = others+1, sum+reward
		}
	}
	if others == 0 {
		if r.Advantage != nil {
			return "a group of one has an advantage"
		}
		return ""
	}
	want := *r.Reward - sum/float64(others)
	if r.Advantage == nil || math.Abs(*r.Advantage-want) > 1e-12 {
		return fmt.Sprintf("advantage %v, want %v", r.Advantage, want)
	}
	return ""
}

// samesamples A B: two exports hold the same ids and logprobs.
func sameSamples(ts *testscript.TestScript, _ bool, args []string) {
	a, err := readTransitions(ts.MkAbs(args[0]))
	ts.Check(err)
	b, err := readTransitions(ts.MkAbs(args[1]))
	ts.Check(err)
	if len(a) == 0 || len(a) != len(b) {
		ts.Fatalf("%d and %d transitions", len(a), len(b))
	}
	for i := range a {
		if fmt.Sprint(a[i].Output, a[i].Logprobs) != fmt.Sprint(b[i].Output, b[i].Logprobs) {
			ts.Fatalf("transition %d differs: %s#%d turn %d", i, a[i].Instance, a[i].Trajectory, a[i].Turn)
		}
	}
}
