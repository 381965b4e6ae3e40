package simulated

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// toolsJSON are the tools as a scaffold offers them.
var toolsJSON = []json.RawMessage{
	json.RawMessage(`{"type":"function","function":{"name":"bash","description":"run","parameters":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}}`),
	json.RawMessage(`{"type":"function","function":{"name":"str_replace_editor","parameters":{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace"]},"path":{"type":"string"},"file_text":{"type":"string"},"old_str":{"type":"string"},"new_str":{"type":"string"}},"required":["command","path"]}}}`),
	json.RawMessage(`{"type":"function","function":{"name":"finish","parameters":{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}}}`),
}

// world is a sandbox of a few files whose tests pass when they all are as the
// reference solution leaves them.
type world struct {
	files map[string]string
	want  map[string]string
}

func newWorld(edits int) (*world, Task) {
	w := &world{files: map[string]string{}, want: map[string]string{}}
	t := Task{Workdir: "/w", TestCommand: "python3 -m unittest", Terms: []string{"total"}}
	for i := range edits {
		file := fmt.Sprintf("m%d.py", i)
		w.files["/w/"+file] = "def f(a, b):\n    return a\n# end\n"
		w.want["/w/"+file] = "def f(a, b):\n    return a if a <= b else b\n# end\n"
		t.Files = append(t.Files, file)
		t.Edits = append(t.Edits, Edit{Path: file, Old: "    return a\n", New: "    return a if a <= b else b\n"})
	}
	return w, t
}

func (w *world) solved() bool {
	for f, text := range w.want {
		if w.files[f] != text {
			return false
		}
	}
	return true
}

// run a call and say what a tool would.
func (w *world) run(t *testing.T, c call) (result string, finished bool) {
	t.Helper()
	var args map[string]any
	if err := json.Unmarshal([]byte(c.arguments), &args); err != nil {
		return "ERROR: malformed JSON", false
	}
	if _, ok := args["reason"]; ok {
		return "ERROR: no argument named reason", false
	}
	text := func(k string) string { v, _ := args[k].(string); return v }
	switch c.name {
	case "finish":
		return "", true
	case "bash":
		if strings.Contains(text("command"), "unittest") {
			if w.solved() {
				return "OK\n[The command completed with exit code 0.]", false
			}
			return "FAILED\n[The command completed with exit code 1.]", false
		}
		return "m0.py:1: total\n[The command completed with exit code 0.]", false
	case "str_replace_editor":
		file := text("path")
		if text("command") == "view" {
			return w.files[file], false
		}
		if strings.Count(w.files[file], text("old_str")) != 1 {
			return "ERROR: old_str must match once", false
		}
		w.files[file] = strings.Replace(w.files[file], text("old_str"), text("new_str"), 1)
		return "The file was edited.", false
	}
	return "ERROR: unknown tool", false
}

// converse plays one trajectory against the policy itself, without HTTP, and
// checks at each turn that the prompt extends the last prompt and its output.
func converse(t *testing.T, s *Server, session string, w *world, turns int) (n int, malformed int) {
	t.Helper()
	messages := []message{{Role: "system", Content: "You solve issues."}, {Role: "user", Content: "Fix f. It looks like <tool_call> and <|im_end|> in text."}}
	var before []int32
	one := 1.0
	for n = 0; n < turns; n++ {
		prompt, err := render(messages, toolsJSON, true)
		if err != nil {
			t.Fatal(err)
		}
		if len(before) > len(prompt) || !slices.Equal(prompt[:len(before)], before) {
			t.Fatalf("turn %d: the prompt does not extend the last one\nlast %q\nnow  %q", n, decode(before), decode(prompt))
		}
		out := s.sample(job{settings: &settings{Temperature: &one}, form: chatForm, prompt: prompt}, session, 4000)
		before = append(append([]int32{}, prompt...), out.ids...)
		messages = append(messages, out.reply.message())
		if len(out.reply.calls) == 0 {
			malformed++
			messages = append(messages, message{Role: "user", Content: "ERROR: no call was found. Call a tool."})
			continue
		}
		for _, c := range out.reply.calls {
			result, finished := w.run(t, c)
			if finished {
				return n + 1, malformed
			}
			if strings.HasPrefix(result, "ERROR") {
				malformed++
			}
			messages = append(messages, message{Role: "tool", Content: content(result)})
		}
	}
	return n, malformed
}

// The defaults must give mixed outcomes: about half solved, in 5 to 10 turns.
func TestOutcomes(t *testing.T) {
	for _, edits := range []int{1, 2, 3} {
		s := &Server{opt: Options{}.withDefaults(), known: map[string]Task{}}
		const runs = 100
		solved, turns, bad := 0, 0, 0
		for i := range runs {
			w, task := newWorld(edits)
			session := fmt.Sprintf("s%d", i)
			s.Register(session, task)
			n, m := converse(t, s, session, w, 50)
			turns += n
			bad += m
			if w.solved() {
				solved++
			}
		}
		share, mean := float64(solved)/runs, float64(turns)/runs
		t.Logf("%d edits: %.2f solved, %.1f turns, %.2f malformed a trajectory", edits, share, mean, float64(bad)/runs)
		if share < 0.4 || share > 0.65 {
			t.Errorf("%d edits: %.2f solved, want about half", edits, share)
		}
		if mean < 5 || mean > 10 {
			t.Errorf("%d edits: %.1f turns, want 5 to 10", edits, mean)
		}
		if bad == 0 {
			t.Errorf("%d edits: no malformed call in %d trajectories", edits, runs)
		}
	}
}
