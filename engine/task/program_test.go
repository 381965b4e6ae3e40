package task

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollbench/engine/task/rows"
)

// loadRows of texts, a row each.
func loadRows(t testing.TB, opt Options, rows ...string) ([]Instance, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(file, []byte(strings.Join(rows, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	return Load(file, opt)
}

// codeRow with tests, as SkyRL-Agent has them: JSON in a string.
func codeRow(tests, extra string) string {
	truth, _ := json.Marshal(tests)
	if extra == "" {
		extra = "{}"
	}
	return fmt.Sprintf(`{"id":"p","data_source":"codegen-taco","prompt":[{"role":"user","content":"Add."}],"reward_model":{"style":"rule","ground_truth":%s},"extra_info":%s}`, truth, extra)
}

func fencedCode(code string) string { return "So:\n```python\n" + code + "\n```\n" }

// Programs against each kind of tests, those that would fool them included.
func TestPrograms(t *testing.T) {
	t.Parallel()
	const (
		sums      = `{"inputs":["1 2\n","3 4\n"],"outputs":["3\n","7\n"]}`
		add       = "a, b = map(int, input().split())\nprint(a + b)"
		asserts   = `{"functional":"def check(f):\n    assert f(1, 2) == 3\ncheck(Solution().add)"}`
		method    = "class Solution:\n    def add(self, a: int, b: int) -> int:\n        return a + b"
		file      = `{"solution_file":"from solution import add\nassert add(1, 2) == 3\nprint('fine')\n"}`
		calls     = `{"fn_name":"add","inputs":[[1,2],[0.1,0.2]],"outputs":[3,[0.3]]}`
		livecode  = `[{"input":"[1, 2]\n3","output":"[1, 2, 3]","testtype":"functional","metadata":{"func_name":"put"}}]`
		livestdin = `[{"input":"1 2\n","output":"3","testtype":"stdin"}]`
		cases     = `{"assert_case":["assert add(1, 2) == 3","assert add(0, 0) == 0"]}`
		plainAdd  = "def add(a, b):\n    return a + b"
	)
	for name, c := range map[string]struct {
		tests, extra, reply string
		want                float64
		note                string
	}{
		"prints":             {sums, "", fencedCode(add), 1, "all 2 cases pass"},
		"prints another":     {sums, "", fencedCode("input()\nprint(3)"), 0, `case 2 of 2: it printed "3" and not "7"`},
		"warns":              {sums, "", fencedCode("import sys\nprint('x', file=sys.stderr)\n" + add), 1, "all 2 cases pass"},
		"raises":             {sums, "", fencedCode("print(3)\nraise ValueError('no')"), 0, "case 1 of 2: it ended with exit code 1: ValueError: no"},
		"right and raises":   {sums, "", fencedCode(add + "\nexit(3)"), 0, "case 1 of 2: it ended with exit code 3: 3"},
		"no code":            {sums, "", "It is a + b.", 0, "the reply has no code block"},
		"empty":              {sums, "", "", 0, "the reply has no code block"},
		"floats":             {`{"inputs":["x"],"outputs":["0.333333 YES"]}`, "", fencedCode("print(1/3, 'yes')"), 1, "all 1 cases pass"},
		"lists of lines":     {`{"inputs":[["1 2"]],"outputs":[["3"]]}`, "", fencedCode(add), 1, "all 1 cases pass"},
		"asserts":            {asserts, "", fencedCode(method), 1, "all tests pass"},
		"asserts fail":       {asserts, "", fencedCode(strings.ReplaceAll(method, "a + b", "a - b")), 0, "it ended with exit code 1: AssertionError"},
		"ends before":        {asserts, "", fencedCode("import sys\nsys.exit(0)"), 0, "the program ends itself before its tests have run"},
		"ends hard before":   {asserts, "", fencedCode(method + "\nimport os\nos._exit(0)"), 0, "the program ends itself before its tests have run"},
		"prefix":             {asserts, `{"prefix":"from typing import List\nlimit = 3"}`, fencedCode("class Solution:\n    def add(self, a, b) -> List:\n        return limit"), 1, "all tests pass"},
		"a file":             {file, "", fencedCode(plainAdd), 1, "all tests pass"},
		"a file fails":       {file, "", fencedCode("def add(a, b):\n    return 0"), 0, "it ended with exit code 1: AssertionError"},
		"a file, ends":       {file, "", fencedCode("import os\nos._exit(0)"), 0, "the program ends itself before its tests have run"},
		"calls":              {calls, "", fencedCode(plainAdd), 1, "all 2 cases pass"},
		"calls a method":     {calls, "", fencedCode(method), 1, "all 2 cases pass"},
		"calls what is none": {calls, "", fencedCode("def sub(a, b): pass"), 0, "case 1 of 2: it ended with exit code 1: KeyError: 'add'"},
		"returns another":    {calls, "", fencedCode("def add(a, b):\n    return 3"), 0, "case 2 of 2: it returned 3 and not [0.3]"},
		"call ends":          {calls, "", fencedCode("import os\nos._exit(0)"), 0, "case 1 of 2: the program ends itself before the call returned"},
		"LiveCodeBench":      {livecode, "", fencedCode("class Solution:\n    def put(self, l: List[int], x: int):\n        return l + [x]"), 1, "all 1 cases pass"},
		"its stdin":          {livestdin, "", fencedCode(add), 1, "all 1 cases pass"},
		"assert cases":       {cases, "", fencedCode(plainAdd), 1, "all tests pass"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, err := loadRows(t, Options{}, codeRow(c.tests, c.extra))
			if err != nil {
				t.Fatal(err)
			}
			in := &all[0]
			if !in.RunsAnswer() || in.NeedsPatch() || in.HasReference() {
				t.Fatalf("%+v", in)
			}
			got, err := in.VerifyAnswer(t.Context(), openHost(t, in), c.reply)
			if err != nil || got.Reward == nil || *got.Reward != c.want || got.Note != c.note || got.Wall <= 0 {
				t.Errorf("%+v, %v\n%s", got, err, got.Log)
			}
		})
	}
}

// Tests that are an object of the row, and none in a text, are graded alike; numbers
// have all their digits, in arguments and results.
func TestProgramNumbers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		truth, code string
		want        float64
	}{
		"an object":       {`{"fn_name":"add","inputs":[[1,2],[0.5,0.25]],"outputs":[3,[0.75]]}`, "def add(a, b):\n    return a + b", 1},
		"an object, not":  {`{"fn_name":"add","inputs":[[1,2]],"outputs":[4]}`, "def add(a, b):\n    return a + b", 0},
		"a large result":  {`{"fn_name":"f","inputs":[[1]],"outputs":[9007199254740993]}`, "def f(x):\n    return 9007199254740993", 1},
		"one beside it":   {`{"fn_name":"f","inputs":[[1]],"outputs":[9007199254740993]}`, "def f(x):\n    return 9007199254740992", 0},
		"a large input":   {`{"fn_name":"f","inputs":[[9007199254740993]],"outputs":[true]}`, "def f(x):\n    return x == 9007199254740993", 1},
		"a large output":  {`{"inputs":["x"],"outputs":["9007199254740993"]}`, "print(9007199254740992)", 0},
		"digits as text":  {`{"fn_name":"f","inputs":[[5]],"outputs":["101"]}`, "def f(x):\n    return f'{x:b}'", 1},
		"digits as value": {`{"fn_name":"f","inputs":[[5]],"outputs":["101"]}`, "def f(x):\n    return 101", 1},
		"a list's text":   {`{"fn_name":"f","inputs":[[5]],"outputs":["[1]"]}`, "def f(x):\n    return '[1]'", 0},
	} {
		all, err := loadRows(t, Options{}, fmt.Sprintf(`{"id":"p","data_source":"codegen-taco","prompt":"Do it.","reward_model":{"ground_truth":%s}}`, c.truth))
		if err != nil {
			t.Fatal(err)
		}
		got, err := all[0].VerifyAnswer(t.Context(), openHost(t, &all[0]), fencedCode(c.code))
		if err != nil || got.Reward == nil || *got.Reward != c.want {
			t.Errorf("%s: %+v, %v\n%s", name, got, err, got.Log)
		}
	}
	// Parquet has numbers of its own.
	p, err := programRow(rows.New("", map[string]any{"reward_model": map[string]any{"ground_truth": map[string]any{
		"fn_name": "f", "inputs": []any{[]any{int64(1 << 60), 0.5}}, "outputs": []any{int64(3)}}}}))
	if err != nil || fmt.Sprint(p.cases[0].args) != "[1152921504606846976 0.5]" || !p.cases[0].returned(json.Number("3")) {
		t.Errorf("%+v, %v", p, err)
	}
}

// What a program must print is nowhere in the sandbox while it runs.
func TestProgramsCannotReadWhatIsExpected(t *testing.T) {
	t.Parallel()
	all, err := loadRows(t, Options{}, codeRow(`{"inputs":["a\n"],"outputs":["secret-4711\n"]}`, ""))
	if err != nil {
		t.Fatal(err)
	}
	h := openHost(t, &all[0])
	look := "import subprocess\nprint(subprocess.run(['grep', '-rl', 'secret-' + '4711', '" + h.root + "'], capture_output=True).stdout.decode() or 'nothing')"
	got, err := all[0].VerifyAnswer(t.Context(), h, fencedCode(look))
	if want := `case 1 of 1: it printed "nothing" and not "secret-4711"`; err != nil || got.Note != want {
		t.Errorf("%+v, %v", got, err)
	}
}

// A reference that the row brings must pass, and validate asks for it.
func TestProgramReference(t *testing.T) {
	t.Parallel()
	all, err := loadRows(t, Options{}, codeRow(`{"inputs":["2\n"],"outputs":["4\n"]}`, `{"reference":"print(2 * int(input()))\n","index":7,"split":"train"}`))
	if err != nil || !all[0].HasReference() {
		t.Fatal(all, err)
	}
	got, err := all[0].VerifyAnswer(t.Context(), openHost(t, &all[0]), all[0].ReferenceAnswer())
	if err != nil || got.Reward == nil || *got.Reward != 1 {
		t.Errorf("%q: %+v, %v", all[0].ReferenceAnswer(), got, err)
	}
}

// A sandbox without the means leaves the reward absent.
func TestProgramsWithoutTheMeans(t *testing.T) {
	t.Parallel()
	all, err := loadRows(t, Options{}, codeRow(`{"pytest":"from solution import add\n"}`, ""))
	if err != nil {
		t.Fatal(err)
	}
	in := &all[0]
	h := openHost(t, in)
	stub := filepath.Join(h.root, "bin")
	writeFiles(t, stub, map[string]string{"python3": "#!/bin/sh\nexit 1\n"})
	if err := os.Chmod(filepath.Join(stub, "python3"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.env["PATH"] = stub + ":" + os.Getenv("PATH")
	got, err := in.VerifyAnswer(t.Context(), h, fencedCode("x = 1"))
	if err != nil || got.Reward != nil || !got.Broken || got.Note != "verifier could not run: pytest is not in the sandbox, and the tests need it" {
		t.Errorf("%+v, %v", got, err)
	}
	h.lost = true
	if _, err := in.VerifyAnswer(t.Context(), h, fencedCode("x = 1")); err == nil || !strings.Contains(err.Error(), "verify p: ") {
		t.Errorf("a lost sandbox: %v", err)
	}
}

// Tests that cannot be read are refused when the row is.
func TestBrokenProgramRows(t *testing.T) {
	for tests, want := range map[string]string{
		`no json`:                          `field "reward_model.ground_truth" must be tests as JSON: `,
		`{}`:                               `field "reward_model.ground_truth" has none of "functional", "solution_file", "pytest", "assert_case", or "inputs" and "outputs"`,
		`"text"`:                           `holds no tests`,
		`[]`:                               `holds no tests`,
		`{"inputs":["a"],"outputs":[]}`:    `has 1 inputs and 0 outputs; each case needs both`,
		`{"inputs":[],"outputs":[]}`:       `has 0 inputs and 0 outputs`,
		`{"inputs":[[1,2]],"outputs":[3]}`: `case 1: must be texts of stdin and stdout; calls of a function need "fn_name"`,
		`{"fn_name":"f","inputs":["x"],"outputs":[1]}`:         `case 1: the argument "x" is no JSON`,
		`{"fn_name":"f","inputs":[1],"outputs":[1]}`:           `case 1: must have its arguments as a list`,
		`[{"input":"1","output":"1","testtype":"functional"}]`: `case 1 is functional and has no metadata.func_name`,
		`[1]`: `case 1 is no object of input and output`,
	} {
		_, err := loadRows(t, Options{}, codeRow(tests, ""))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\ngot  %v\nwant %s", tests, err, want)
		}
	}
}

func FuzzProgramTests(f *testing.F) {
	f.Add(`{"inputs":["1"],"outputs":["1"]}`)
	f.Add(`[{"input":"[1]","output":"1","testtype":"functional","metadata":{"func_name":"f"}}]`)
	f.Add(`{"fn_name":"f","inputs":[[1]],"outputs":[[1]]}`)
	f.Fuzz(func(t *testing.T, tests string) {
		began := time.Now()
		all, err := loadRows(t, Options{}, codeRow(tests, ""))
		if (err == nil) != (len(all) == 1) || time.Since(began) > 5*time.Second {
			t.Errorf("%d, %v", len(all), err)
		}
	})
}
