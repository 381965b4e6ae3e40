package cli

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rollsOut lets a policy write upstream's fix with the editor: it sees nothing of
// the future, earns 1, its patch is upstream's, and all that it sampled trains.
func rollsOut(t *testing.T, all []*real) {
	const id = "pallets__jinja-CVE-2024-56326"
	i := slices.IndexFunc(all, func(r *real) bool { return r.ID == id })
	if i < 0 {
		t.Fatalf("there is no %s", id)
	}
	r := all[i]
	look := scriptedCall{"execute_bash", map[string]any{"command": "git log --format=%s; git tag; git remote; git cat-file -t " + r.fix}}
	test := scriptedCall{"execute_bash", map[string]any{"command": r.command() + " | tail -1"}}
	finish := scriptedCall{"finish", map[string]any{"message": "The sandbox wraps str.format where it is looked up."}}
	script := append(append([]scriptedCall{look}, r.edits(t)...), test, finish)

	s := newShop(t)
	rows := filepath.Join(s.home, "rows.jsonl")
	writeRows(t, rows, rowsOf(t, all, true))
	var o outcome
	out := s.run("run", "--headless", "--json", "--tasks", rows, "--instances", id, "--set", "generator.num_trajectories=1",
		"--set", "endpoint.streaming=false", "--endpoint", scriptedServer(t, script))
	if err := json.Unmarshal([]byte(out), &o); err != nil {
		t.Fatal(err)
	}
	if o.Trajectories != 1 || o.Done != 1 || o.Solved != 1 || o.Masked != 0 || o.Simulated {
		t.Errorf("outcome %+v", o)
	}
	if signs := s.row(0).Tampering; len(signs) != 0 {
		t.Errorf("signs of tampering: %v", signs)
	}
	printed := func(turn int) string { return s.run("output", "latest", id+"#0", strconv.Itoa(turn)) }
	if seen := printed(1); !strings.HasPrefix(seen, "SWE-bench\nThe buggy release\nfatal: ") {
		t.Errorf("of the history the policy sees\n%s", seen)
	}
	if seen := printed(len(script) - 1); !strings.Contains(seen, "15 passed") {
		t.Errorf("the tests that are there: %s", seen)
	}

	file := filepath.Join(s.home, "p.jsonl")
	s.run("predictions", "export", "latest", "-o", file)
	var p prediction
	if err := json.Unmarshal(readFile(t, file), &p); err != nil {
		t.Fatal(err)
	}
	if withoutIDs(p.Patch) != withoutIDs(r.gold) {
		t.Errorf("the patch is\n%s\nwant\n%s", p.Patch, r.gold)
	}

	s.exportsScript(id, script)
	if left := s.containers(); len(left) != 0 {
		t.Errorf("containers left: %v", left)
	}
}

// withoutIDs is a patch without the ids of its blobs, which git cuts as it likes.
func withoutIDs(patch string) string {
	return regexp.MustCompile(`(?m)^index .*\n`).ReplaceAllString(patch, "")
}

// exportsScript checks the exported run of a script that was solved: its tokens
// as they were sampled, each with its logprob, and none masked.
func (s *shop) exportsScript(id string, script []scriptedCall) {
	t := s.t
	file := filepath.Join(s.home, "t.jsonl")
	s.run("export", "latest", "-o", file)
	s.run("export", "--check", file)
	rows, err := readTransitions(file)
	if err != nil || len(rows) != len(script) {
		t.Fatalf("%d transitions of %d turns, %v", len(rows), len(script), err)
	}
	var before []int32
	for i, row := range rows {
		want := script[i].ids(t)
		if !slices.Equal(row.Output, want) || len(row.Logprobs) != len(want) || len(row.Mask) != len(want) || slices.Contains(row.Mask, 0) {
			t.Errorf("turn %d: output %d, logprobs %d, mask %v; want %d tokens, all of them trained", i, len(row.Output), len(row.Logprobs), row.Mask, len(want))
		}
		if row.Instance != id || row.Reward == nil || *row.Reward != 1 || row.Advantage != nil || row.MaskReason != nil || row.Intervened || row.Simulated || row.Finish != "finish_tool" {
			t.Errorf("turn %d: %+v", i, row)
		}
		if len(row.Prompt) <= len(before) || !slices.Equal(row.Prompt[:len(before)], before) {
			t.Errorf("turn %d: the prompt does not extend the turn before", i)
		}
		before = append(slices.Clone(row.Prompt), row.Output...)
	}
}

// edits make the fix with the editor, a call for each hunk.
func (r *real) edits(t *testing.T) (calls []scriptedCall) {
	t.Helper()
	file, old, text := "", "", ""
	flush := func() {
		if old != "" {
			calls = append(calls, scriptedCall{"str_replace_editor", map[string]any{"command": "str_replace", "path": "/testbed/" + file, "old_str": old, "new_str": text}})
		}
		old, text = "", ""
	}
	for line := range strings.Lines(r.gold) {
		switch rest := line[1:]; {
		case strings.HasPrefix(line, "+++ b/"):
			file = strings.TrimSpace(strings.TrimPrefix(line, "+++ b/"))
		case strings.HasPrefix(line, "@@ "), strings.HasPrefix(line, "diff "):
			flush()
		case file == "" || strings.HasPrefix(line, "index ") || strings.HasPrefix(line, "--- "):
		case line[0] == ' ':
			old, text = old+rest, text+rest
		case line[0] == '-':
			old += rest
		case line[0] == '+':
			text += rest
		}
	}
	flush()
	if len(calls) == 0 {
		t.Fatalf("%s: no hunks in gold.patch", r.ID)
	}
	return calls
}
