package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollbench/engine/agent"
	"rollbench/engine/task"
	"rollbench/sessions"
)

// The answer is what was given to finish last, else what was said last.
func TestFinalAnswer(t *testing.T) {
	finish := func(args string) []sessions.Call { return []sessions.Call{{Name: "finish", Arguments: args}} }
	for name, c := range map[string]struct {
		turns []sessions.Turn
		want  string
	}{
		"nothing":         {nil, ""},
		"text":            {[]sessions.Turn{{Content: "first"}, {Content: "Paris"}}, "Paris"},
		"finish":          {[]sessions.Turn{{Content: "I am done.", Calls: finish(`{"message":" Paris "}`)}}, "Paris"},
		"answer first":    {[]sessions.Turn{{Calls: finish(`{"message":"done","answer":"Rome"}`)}}, "Rome"},
		"empty finish":    {[]sessions.Turn{{Content: "Oslo", Calls: finish(`{}`)}}, "Oslo"},
		"broken finish":   {[]sessions.Turn{{Content: "Oslo", Calls: finish(`{`)}}, "Oslo"},
		"superseded":      {[]sessions.Turn{{Content: "Rome"}, {Content: "Bern", Superseded: true}}, "Rome"},
		"another tool":    {[]sessions.Turn{{Content: "look", Calls: []sessions.Call{{Name: "bash", Arguments: `{"message":"x"}`}}}}, "look"},
		"after the tools": {[]sessions.Turn{{Calls: []sessions.Call{{Name: "bash"}, {Name: "finish", Arguments: `{"message":"Ulm"}`}}}}, "Ulm"},
	} {
		if got := finalAnswer(c.turns); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What a policy is told first: the configuration's words, then the row's; a built-in
// text only where there is neither, and one of its own for questions.
func TestSystemPrompts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	rows := `{"id":"own","prompt":[{"role":"system","content":"Be short."},{"role":"user","content":"q"}],"reward_model":{"ground_truth":"1"},"data_source":"math"}
{"id":"none","prompt":"q","reward_model":{"ground_truth":"1"},"data_source":"math"}`
	if err := os.WriteFile(file, []byte(rows), 0o644); err != nil {
		t.Fatal(err)
	}
	ins, err := task.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		configured string
		in         *task.Instance
		want       string
	}{
		{"", &ins[0], "Be short."},
		{"", &ins[1], agent.AnswerPrompt},
		{"Use the tools.\n", &ins[0], "Use the tools.\n\nBe short."},
		{"Use the tools.", &ins[1], "Use the tools."},
	} {
		if got := systemPrompt(Generator{SystemPrompt: c.configured}, c.in); got != c.want {
			t.Errorf("%q, %s: %q, want %q", c.configured, c.in.ID, got, c.want)
		}
	}
	if !strings.Contains(agent.AnswerPrompt, "finish") {
		t.Error("the prompt of questions does not say how to answer")
	}
}
