package simulated

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// possible are all replies that the policy could give after these messages,
// parsed, with their probabilities.
func possible(t *testing.T, task Task, tools []json.RawMessage, messages ...message) (replies []reply, p []float64) {
	t.Helper()
	prompt, err := render(append([]message{{Role: "user", Content: "Fix `total_sum` in the parser."}}, messages...), tools, true)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, c := range DefaultBehaviour.candidates(readState(readConversation(prompt), &task)) {
		replies = append(replies, parseReply(c.ids[:len(c.ids)-1]))
		p = append(p, c.weight)
		sum += c.weight
	}
	if sum < 1-1e-9 || sum > 1+1e-9 {
		t.Errorf("the policy's weights sum to %v", sum)
	}
	return replies, p
}

// chance that the next reply holds a call with that text.
func chance(replies []reply, p []float64, text string) (sum float64) {
	for i, r := range replies {
		if slices.ContainsFunc(r.calls, func(c call) bool { return strings.Contains(c.name+c.arguments, text) }) {
			sum += p[i]
		}
	}
	return sum
}

func did(name, args, result string) []message {
	return []message{
		{Role: "assistant", Reasoning: "x", ToolCalls: []messageCall{toolCall(name, args)}},
		{Role: "tool", Content: content(result)},
	}
}

func quoteArgs(pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, ", %s: %s", quoteJSON(pairs[i]), quoteJSON(pairs[i+1]))
	}
	return "{" + strings.TrimPrefix(b.String(), ", ") + "}"
}

// Only offered tools and their own parameters are used, but for malformed calls.
func TestOnlyOfferedTools(t *testing.T) {
	_, task := newWorld(2)
	search := json.RawMessage(`{"type":"function","function":{"name":"search","parameters":{"properties":{"search_terms":{"type":"array"}}}}}`)
	risky := json.RawMessage(`{"type":"function","function":{"name":"execute_bash","parameters":{"properties":{"command":{},"security_risk":{"type":"string","enum":["LOW","HIGH"]}},"required":["command","security_risk"]}}}`)
	sets := map[string][]json.RawMessage{
		"all": toolsJSON, "bash": toolsJSON[:1], "editor": toolsJSON[1:2], "finish": toolsJSON[2:], "search": {search, toolsJSON[2]},
		"risk": {risky}, "none": nil,
	}
	for name, tools := range sets {
		c := conversation{}
		text, err := systemText("", tools)
		if err != nil {
			t.Fatal(err)
		}
		c.readTools(text)
		replies, _ := possible(t, task, tools)
		usable := 0
		for _, r := range replies {
			for _, call := range r.calls {
				spec, ok := c.tool(call.name)
				if !ok {
					t.Fatalf("%s: tool %s is not offered", name, call.name)
				}
				var args map[string]any
				if err := json.Unmarshal([]byte(call.arguments), &args); err != nil {
					t.Fatalf("%s: %v", call.arguments, err)
				}
				_, spoiled := args["reason"]
				for key := range args {
					if !spec.has(key) && key != "reason" {
						t.Errorf("%s: %s has no parameter %s", name, call.name, key)
					}
				}
				for _, key := range spec.needed {
					if _, ok := args[key]; !ok {
						t.Errorf("%s: %s lacks %s", name, call.name, key)
					}
				}
				if !spoiled {
					usable++
				}
			}
		}
		if (usable == 0) != (name == "none") {
			t.Errorf("%s: %d usable calls in %d replies", name, usable, len(replies))
		}
	}
}

// A session nobody registered is explored and given up, never edited.
func TestUnknownSession(t *testing.T) {
	s := &Server{opt: Options{}.withDefaults(), known: map[string]Task{}}
	for i := range 50 {
		w, _ := newWorld(1)
		before := w.files["/w/m0.py"]
		n, _ := converse(t, s, fmt.Sprint("u", i), w, 40)
		if n == 40 || w.files["/w/m0.py"] != before {
			t.Errorf("session %d: %d turns, file %q", i, n, w.files["/w/m0.py"])
		}
	}
}

// The next steps follow from what the conversation shows.
func TestNextSteps(t *testing.T) {
	right := Task{Workdir: "/w", Edits: []Edit{{Path: "a.py", Old: "x = 1\n", New: "x = 2\n"}}, TestCommand: "make test"}
	edit := func(text, result string) []message {
		return did("str_replace_editor", quoteArgs("command", "str_replace", "path", "/w/a.py", "old_str", "x = 1\n", "new_str", text), result)
	}
	tests := func(result string) []message { return did("bash", quoteArgs("command", "make test"), result) }
	view := did("str_replace_editor", quoteArgs("command", "view", "path", "/w/a.py"), "     1\tx = 1")
	const ok, bad = "The file /w/a.py was edited.", "ERROR: old_str was not found in /w/a.py"
	const red = "FAILED\n[The command completed with exit code 1.]\n[Current working directory: /w]\n[Command finished with exit code 1]"
	const green = "OK\n[The command completed with exit code 0.]"
	fixed := `"old_str": "x = 1\n", "new_str": "x = 2\n"`
	cases := []struct {
		name     string
		messages [][]message
		text     string
		min, max float64
	}{
		{"at first it looks: at a file in one of two cases", nil, "view", 0.4, 0.5},
		{"or for a term", nil, "grep", 0.4, 0.5},
		{"at first it does not finish", nil, "finish", 0, 0.05},
		{"after a few looks it edits", [][]message{view, view, view}, "str_replace\"", 0.6, 0.95},
		{"and then rightly with the chance set", [][]message{view, view, view}, fixed, 0.15, 0.3},
		{"after an edit it tests", [][]message{view, edit("x = 2\n", ok)}, "make test", 0.7, 0.85},
		{"after passing tests it finishes", [][]message{view, edit("x = 2\n", ok), tests(green)}, "finish", 0.8, 0.95},
		{"after a wrong edit and failing tests it may fix it", [][]message{edit("x = 3\n", ok), tests(red)}, `"old_str": "x = 3\n", "new_str": "x = 2\n"`, 0.3, 0.4},
		{"tests before an edit say nothing of it", [][]message{tests(red), edit("x = 3\n", ok)}, "make test", 0.7, 0.85},
		{"an edit that failed is tried again", [][]message{view, view, view, edit("x = 2\n", bad)}, fixed, 0.15, 0.3},
		{"twice failed it is not", [][]message{edit("x = 2\n", bad), edit("x = 2\n", bad)}, "str_replace\"", 0, 0},
		{"the last step is for finishing", [][]message{append(slices.Clone(view), message{Role: "user", Content: "Steps remaining: 1."})}, "finish", 0.8, 0.95},
		{"a low budget too", [][]message{append(slices.Clone(view), message{Role: "user", Content: "Note: the token budget is running low."})}, "finish", 0.8, 0.95},
		{"many steps are no hint", [][]message{append(slices.Clone(view), message{Role: "user", Content: "Steps remaining: 11."})}, "finish", 0, 0.05},
	}
	for _, c := range cases {
		var all []message
		for _, m := range c.messages {
			all = append(all, m...)
		}
		replies, p := possible(t, right, toolsJSON, all...)
		if got := chance(replies, p, c.text); got < c.min || got > c.max {
			t.Errorf("%s: chance %.3f, want %.2f to %.2f", c.name, got, c.min, c.max)
		}
	}
}

// Whole files and scripts; each way is known again in the next turn.
func TestOtherEdits(t *testing.T) {
	bash := toolsJSON[:1]
	cases := []struct {
		name    string
		task    Task
		tools   []json.RawMessage
		tool    string
		args    string // of the right move
		command string // a part of it
	}{
		{"create", Task{Workdir: "/w", Edits: []Edit{{Path: "n.py", New: "y = 1\n", Create: true}}}, toolsJSON,
			"str_replace_editor", quoteArgs("command", "create", "path", "/w/n.py", "file_text", "y = 1\n"), `"file_text": "y = 1\n"`},
		{"delete", Task{Workdir: "/w", Edits: []Edit{{Path: "old file.py", Delete: true}}}, toolsJSON,
			"bash", quoteArgs("command", "rm '/w/old file.py'"), `rm '/w/old file.py'`},
		{"script", Task{Script: "#!/bin/bash\nset -e\necho hi\n"}, toolsJSON,
			"bash", quoteArgs("command", "bash <<'SOLUTION'\n#!/bin/bash\nset -e\necho hi\nSOLUTION"), `set -e\necho hi`},
		{"bash alone", Task{Workdir: "/w", Edits: []Edit{{Path: "a.py", Old: "x = 1\n", New: "x = \"é\"\n"}}}, bash,
			"bash", quoteArgs("command", "python3 - <<'EOF'\nimport pathlib\np = pathlib.Path(\"/w/a.py\")\ntext = p.read_text()\nold = \"x = 1\\n\"\nassert text.count(old) == 1\np.write_text(text.replace(old, \"x = \\\"\\U000000e9\\\"\\n\"))\nEOF"), `x = \\\"\\U000000e9\\\"\\n`},
		{"create by bash alone", Task{Workdir: "/w", Edits: []Edit{{Path: "n.py", New: "y = 1\n", Create: true}}}, bash,
			"bash", quoteArgs("command", "python3 - <<'EOF'\nimport pathlib\np = pathlib.Path(\"/w/n.py\")\np.parent.mkdir(parents=True, exist_ok=True)\np.write_text(\"y = 1\\n\")\nEOF"), `write_text(\"y = 1\\n\")`},
	}
	for _, c := range cases {
		look := did("bash", quoteArgs("command", "ls"), "a.py\n[The command completed with exit code 0.]")
		looks := slices.Concat(look, look, look)
		replies, p := possible(t, c.task, c.tools, looks...)
		if got := chance(replies, p, c.command); got < 0.1 || got > 0.5 {
			t.Errorf("%s: the right move has chance %.3f", c.name, got)
		}
		prompt, err := render(append(append([]message{{Role: "user", Content: "x"}}, looks...), did(c.tool, c.args, "[The command completed with exit code 0.]")...), c.tools, true)
		if err != nil {
			t.Fatal(err)
		}
		if s := readState(readConversation(prompt), &c.task); !s.done() {
			t.Errorf("%s: the edit is not seen as made: %+v", c.name, s.edits)
		}
	}
}

// A wrong edit differs from both the old and the right text.
func TestWrongTexts(t *testing.T) {
	cases := []struct {
		name string
		edit Edit
		want []string
	}{
		// "<=" slips back to the old text, which is no edit.
		{"operator", Edit{Path: "a.py", Old: "    if a < b:\n", New: "    if a <= b:\n"}, []string{"    if a < b:\n    # checked by the caller\n"}},
		{"word", Edit{Path: "a.py", Old: "x = 1\n", New: "x = a and b\n"}, []string{"x = a or b\n", "x = 1\n# checked by the caller\n"}},
		{"nothing to slip on", Edit{Path: "m.go", Old: "\tx := 1", New: "\tx := 2"}, []string{"\tx := 1\n\t// checked by the caller"}},
		{"new file", Edit{Path: "n.py", New: "y = 1\n", Create: true}, []string{"# checked by the caller\n"}},
	}
	for _, c := range cases {
		p := progress{Edit: c.edit, now: c.edit.Old}
		got := p.wrongTexts()
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		for _, text := range got {
			if text == c.edit.New || text == c.edit.Old {
				t.Errorf("%s: %q is not wrong", c.name, text)
			}
		}
	}
}

func TestQuotes(t *testing.T) {
	for in, want := range map[string][3]string{
		"plain":         {`"plain"`, `"plain"`, `plain`},
		"a\"b\\c\n\t":   {`"a\"b\\c\n\t"`, `"a\"b\\c\n\t"`, "'a\"b\\c\n\t'"},
		"é\U0001F600":   {`"\u00e9\ud83d\ude00"`, `"\U000000e9\U0001f600"`, "'é\U0001F600'"},
		"it's\x00\x7f":  {`"it's\u0000\u007f"`, `"it's\U00000000\U0000007f"`, "'it'\\''s\x00\x7f'"},
		"":              {`""`, `""`, `''`},
		"/a/b-c.d_e,f=": {`"/a/b-c.d_e,f="`, `"/a/b-c.d_e,f="`, `/a/b-c.d_e,f=`},
	} {
		if got := [3]string{quoteJSON(in), quotePython(in), quoteShell(in)}; got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		var back string
		if err := json.Unmarshal([]byte(quoteJSON(in)), &back); err != nil || back != in {
			t.Errorf("%q comes back as %q, %v", in, back, err)
		}
	}
}

// A search is made with what the one before named as next, the likelier the earlier
// it was named, and never a second time.
func TestSearchFollowsHints(t *testing.T) {
	search := json.RawMessage(`{"type":"function","function":{"name":"search","parameters":{"properties":{"search_terms":{"type":"array","items":{"type":"string"}}}}}}`)
	task := Task{Terms: []string{"find", "limit"}}
	first := did("search", `{"search_terms": ["find"]}`, "find: 1 found\ngeo.py:find (function, lines 1-2)\n"+
		`next: search_terms ["callers:geo.py:find"] shows 2 callers of find`+"\n"+`next: search_terms ["test_geo.py:test_find"] shows the test of find`)
	replies, p := possible(t, task, []json.RawMessage{search, toolsJSON[2]}, first...)
	callers, tests, other := chance(replies, p, `["callers:geo.py:find"]`), chance(replies, p, `["test_geo.py:test_find"]`), chance(replies, p, `["limit"]`)
	if callers <= tests || tests <= 0 || other <= 0 || chance(replies, p, `["find"]`) > 0 {
		t.Errorf("callers %v, the test %v, another term %v, the same again %v", callers, tests, other, chance(replies, p, `["find"]`))
	}
	second := did("search", `{"search_terms": ["callers:geo.py:find"]}`, `next: search_terms ["find"] shows its code`)
	replies, p = possible(t, task, []json.RawMessage{search, toolsJSON[2]}, append(first, second...)...)
	if again := chance(replies, p, `find"]`); again > 0 || chance(replies, p, `["limit"]`) <= 0 {
		t.Errorf("asked again: %v", again)
	}
}
