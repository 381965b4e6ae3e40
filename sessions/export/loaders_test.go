package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// python runs an expression with the module of docs/exports of the same name
// as the program would, and returns what it prints as JSON. Machines without
// python3 skip, those that must have everything fail.
func python(t *testing.T, module, expression, file string) any {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("ROLLBENCH_REQUIRE_DOCKER") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	program := "import sys, json\nsys.path.insert(0, '../../docs/exports')\nimport " + module + " as m\nFILE = sys.argv[1]\nprint(json.dumps(" + expression + "))"
	cmd := exec.Command("python3", "-B", "-c", program, file)
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, problem.String())
	}
	var value any
	if err := json.Unmarshal(out, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func expected(t *testing.T, name string) any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "worked", name))
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// write exports the run to a file of a temporary folder.
func (r *recorder) write(name, format string, opt Options) string {
	r.T.Helper()
	path := filepath.Join(r.T.TempDir(), name)
	if _, err := File(r.T.Context(), path, format, r.Store, opt); err != nil {
		r.T.Fatal(err)
	}
	return path
}

// What the loaders make of the worked example is what was written down by hand
// from the trainers' sources.
func TestLoaders(t *testing.T) {
	r := workedExample(t)
	centred := Options{Advantage: "mean"}
	for name, c := range map[string]struct {
		format string
		opt    Options
		load   string
		want   string
	}{
		"skyrl":              {"skyrl", Options{}, "m.load(FILE)", "skyrl.json"},
		"skyrl tensors":      {"skyrl", Options{}, "m.tensors(m.load(FILE, advantages=True))", "skyrl-tensors.json"},
		"skyrl token reward": {"skyrl", Options{}, "m.tensors(m.load(FILE, token_rewards=True, advantages=True))", "skyrl-tensors.json"},
		"skyrl steps":        {"skyrl", Options{Rows: "step"}, "{k: v for k, v in m.load(FILE).items() if k != 'rollout_metrics'}", "skyrl-step.json"},
		"skyrl merged":       {"skyrl", Options{Rows: "step"}, "m.merge_stepwise(m.load(FILE))", "skyrl-merged.json"},
		"skyrl agent":        {"skyrl", Options{}, "m.skyrl_agent(FILE)", "skyrl-agent.json"},
		"skyrl agent steps":  {"skyrl", Options{Rows: "step"}, "m.skyrl_agent(FILE)", "skyrl-agent.json"},
		"verl":               {"verl", Options{}, "m.load(FILE, 4, 8, uids={'r-1/demo-1': 'u-1'})", "verl.json"},
		"verl skyrl agent":   {"verl", Options{}, "m.load_skyrl_agent(FILE, 4, 8, uids={'r-1/demo-1': 'u-1'})", "verl-skyrl-agent.json"},
		"verl agent loop":    {"verl", Options{}, "m.agent_loop_outputs(FILE)", "verl-agent-loop.json"},
		"tinker":             {"tinker", centred, "m.load(FILE)", "tinker.json"},
		"tinker mask":        {"tinker", centred, "[d['loss_fn_inputs']['mask']['data'] for d in m.load(FILE, mask=True)]", "tinker-mask.json"},
		"tinker weights":     {"tinker", centred, "[d['loss_fn_inputs']['weights']['data'] for d in m.load(FILE, loss='cross_entropy')]", "tinker-mask.json"},
		"tinker normalised":  {"tinker", centred, "[[round(a, 9) for a in d['loss_fn_inputs']['advantages']['data']] for d in m.load(FILE, normalise=True)]", "tinker-normalised.json"},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := python(t, c.format, c.load, r.write("f.jsonl", c.format, c.opt)), expected(t, c.want)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
		})
	}
}

// The Parquet file holds the same rows. Its 32-bit logprobs are those of the
// JSON lines, rounded.
func TestParquetLoader(t *testing.T) {
	r := workedExample(t)
	want := python(t, "verl", "list(m.rows(FILE))", r.write("f.jsonl", "verl", Options{}))
	round := "[{**r, 'rollout_log_probs': [round(p, 7) for p in r['rollout_log_probs']]} for r in m.rows(FILE)]"
	if got := python(t, "verl", round, r.write("f.parquet", "verl-parquet", Options{})); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	var out bytes.Buffer
	sum, err := Write(t.Context(), &out, "verl-parquet", longRun{n: 40, tokens: 32_000}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "long.parquet")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	counts := "[sum(map(sum, c)) for c in zip(*[([1], r['response_mask'], [len(r['responses'])], r['rm_scores']) for r in m.rows(FILE)])]"
	if got := fmt.Sprint(python(t, "verl", counts, path)); got != fmt.Sprint([]any{40.0, float64(sum.TrainTokens), float64(sum.OutputTokens), 20.0}) {
		t.Errorf("rows, trained, tokens, rewards: %v, want %+v", got, sum)
	}
}

// Prompts of --prompt delta come back whole.
func TestTransitionsLoader(t *testing.T) {
	r := workedExample(t)
	want := python(t, "transitions", "list(m.load(FILE))", r.write("f.jsonl", "transitions", Options{}))
	got := python(t, "transitions", "list(m.load(FILE))", r.write("d.jsonl", "transitions", Options{Prompt: "delta"}))
	if !reflect.DeepEqual(got, want) || !strings.Contains(fmt.Sprint(got), "prompt_token_ids:[11 12 13 25 26 27 32 33]") {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
