package tools

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
	"rollbench/sandbox/local"
	"rollbench/search"
	"rollbench/tools/follow"
)

// searched is a registry with all tools on a small repository.
func searched(t *testing.T, test func(t *testing.T, sb sandbox.Sandbox, r *Registry)) {
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("bubblewrap is not installed")
	}
	p, err := local.New(local.Options{Home: t.TempDir(), Level: local.Bubblewrap})
	if err != nil {
		t.Fatal(err)
	}
	openIn(t, p, sandbox.Spec{}, func(t *testing.T, sb sandbox.Sandbox) {
		for file, text := range map[string]string{
			"src/shapes.py":        "class Shape:\n    def area(self):\n        raise NotImplementedError\n\n\nclass Square(Shape):\n    def area(self):\n        return self.side ** 2\n",
			"src/report.py":        "from shapes import Square\n\n\ndef summarise(shapes):\n    \"\"\"Add up what all shapes cover.\"\"\"\n    return sum(s.area() for s in shapes)\n",
			"tests/test_report.py": "from report import summarise\n\n\ndef test_summarise():\n    assert summarise([]) == 0\n",
		} {
			if err := sb.WriteFile(t.Context(), file, []byte(text), 0); err != nil {
				t.Fatal(err)
			}
		}
		env := Env{Sandbox: sb, Bases: bases(t), Repository: t.Name(), Limits: Limits{Command: 20 * time.Second, Idle: 5 * time.Second, Observation: 1200}}
		r, err := New(env, Enabled{Bash: true, Editor: true, Search: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		test(t, sb, r)
	})
}

func bases(t *testing.T) *follow.Bases {
	t.Helper()
	b, err := follow.NewBases(t.TempDir(), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSearch(t *testing.T) {
	searched(t, func(t *testing.T, sb sandbox.Sandbox, r *Registry) {
		has(t, call(t, r, "search", `{"search_terms": ["summarise"]}`), OK, "src/report.py", "4", "def summarise(shapes):", "next: ", "tests/test_report.py")
		has(t, call(t, r, "search", `{"search_terms": ["Square.aera"]}`), OK, "src/shapes.py", "Square.area")
		has(t, call(t, r, "search", `{"search_terms": "[\"callers:summarise\"]"}`), OK, "test_summarise")
		has(t, call(t, r, "search", `{"line_nums": [8], "file_path_or_pattern": "src/shapes.py"}`), OK, "Square.area", "return self.side ** 2")
		has(t, call(t, r, "search", `{"pattern": "raise $E"}`), OK, "src/shapes.py", "raise NotImplementedError")
		has(t, call(t, r, "search", `{"search_terms": ["summarise"], "file_path_or_pattern": "src/shapes.py"}`), OK, "shapes.py")
		if got := call(t, r, "search", `{"search_terms": ["test_summarise"], "file_path_or_pattern": "src"}`); strings.Contains(strings.Split(got.Text, "next: ")[0], "tests/test_report.py") {
			t.Errorf("found outside of the path: %s", got.Text)
		}
		// An edit by each way shows in the next answer.
		has(t, edits(t, r, "str_replace", sb.Workdir()+"/src/report.py", "old_str", "def summarise(shapes)", "new_str", "def total_area(shapes)"), OK)
		has(t, call(t, r, "search", `{"search_terms": ["total_area"]}`), OK, "def total_area(shapes):")
		has(t, call(t, r, "execute_bash", `{"command": "sed -i s/total_area/covered/ src/report.py"}`), OK)
		has(t, call(t, r, "search", `{"search_terms": ["covered"]}`), OK, "def covered(shapes):")
		for args, want := range map[string]string{
			`{}`:                      "nothing to search for",
			`{"search_terms": [" "]}`: "nothing to search for",
			`{"line_nums": [3]}`:      "file_path_or_pattern",
			`{"line_nums": [0], "file_path_or_pattern": "a.py"}`:                                                 "counted from 1",
			`{"search_terms": ["x"], "kind": "struct"}`:                                                          "kind",
			`{"search_terms": [` + strings.Repeat(`"x",`, mostTerms) + `"x"]}`:                                   "21 terms, 20 are the most",
			`{"search_terms": ["` + strings.Repeat("x", longestTerm+1) + `"]}`:                                   "32769 bytes",
			`{"search_terms": ["x"], "file_path_or_pattern": "` + strings.Repeat("{a,b}", 300) + `"}`:            "1500 bytes",
			`{"pattern": "` + strings.Repeat("$$$ ", 300) + `x"}`:                                                "1201 bytes",
			`{"line_nums": [` + strings.Repeat("1,", mostLines) + `1], "file_path_or_pattern": "src/report.py"}`: "201 lines",
		} {
			has(t, call(t, r, "search", args), Invalid, want)
		}
	})
}

// A long answer loses its middle, never its hints.
func TestSearchKeepsHints(t *testing.T) {
	searched(t, func(t *testing.T, sb sandbox.Sandbox, r *Registry) {
		long := strings.Repeat("    x = 'padding padding padding padding padding'\n", 200)
		if err := sb.WriteFile(t.Context(), "src/long.py", []byte("def lengthy():\n"+long+"\n\ndef uses():\n    lengthy()\n"), 0); err != nil {
			t.Fatal(err)
		}
		got := call(t, r, "search", `{"search_terms": ["lengthy"]}`)
		lines := strings.Split(got.Text, "\n")
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "next: ") || !strings.Contains(last, "long.py:uses") || len([]rune(got.Text)) > 1200 {
			t.Errorf("%d characters: %s", len(got.Text), got.Text)
		}
	})
}

// What the limit cuts off is kept, and names of files bring no escape sequences along.
func TestSearchAnswersAreKeptAndClean(t *testing.T) {
	got := answered(search.Answer{Text: strings.Repeat("line\n", 100), Hints: []search.Hint{{Text: "next: one"}, {Text: ""}, {Text: "next: two"}}}, 200)
	if n := len([]rune(got.Text)); n > 200 || !strings.HasSuffix(got.Text, "\nnext: one\nnext: two") || got.Dropped == 0 {
		t.Errorf("%d characters: %s", n, got.Text)
	}
	if string(got.Full) != strings.Repeat("line\n", 100)+"\nnext: one\nnext: two" {
		t.Errorf("kept: %q", got.Full)
	}
	if got := answered(search.Answer{Text: "a.py"}, 200); got.Full != nil || got.Text != "a.py" {
		t.Errorf("%+v", got)
	}
}

// A repository that cannot be read in time costs a call, not the trajectory.
func TestSearchHasALimit(t *testing.T) {
	f := newFake()
	r, err := New(Env{Sandbox: f, Bases: bases(t), Repository: "r", Limits: Limits{Command: time.Millisecond}}, Enabled{Search: true})
	if err == nil {
		err = r.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	f.stuck = true
	got := call(t, r, "search", `{"search_terms": ["x"]}`)
	if got.Status != TimedOut || got.Limit != "tools.command_timeout" || got.Bound != time.Millisecond || !strings.Contains(got.Text, "could not be read within") {
		t.Errorf("%+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Run(ctx, "search", `{"search_terms": ["x"]}`); err == nil {
		t.Error("a cancelled call has a result")
	}
}

func TestSearchInALostSandbox(t *testing.T) {
	f := newFake()
	tool := &finder{env: Env{Sandbox: f, Bases: bases(t), Repository: "r"}}
	if err := tool.start(context.Background()); err != nil {
		t.Fatal(err)
	}
	f.lost = true
	if r, err := tool.Run(context.Background(), map[string]any{"search_terms": []any{"x"}}); err == nil {
		t.Errorf("%+v", r)
	}
}
