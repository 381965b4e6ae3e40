package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"rollbench/sessions"
)

func TestParsePredictions(t *testing.T) {
	want := []prediction{{"b", "m", "x"}, {"a", "m", ""}}
	for _, text := range []string{
		`{"instance_id":"b","model_name_or_path":"m","model_patch":"x"}` + "\n\n" + `{"instance_id":"a","model_name_or_path":"m","model_patch":null}`,
		`[{"instance_id":"b","model_name_or_path":"m","model_patch":"x"},{"instance_id":"a","model_name_or_path":"m","model_patch":""}]`,
		`{"b":{"model_name_or_path":"m","model_patch":"x"},"a":{"instance_id":"a","model_name_or_path":"m","model_patch":null}}`,
	} {
		got, err := parsePredictions([]byte(text))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		`{"instance_id":"a","model_patch":"x"}` + "\n" + `{"instance_id":"a","model_patch":"y"}`: `line 2: "a" was predicted before, in line 1`,
		`{"a":{"model_patch":"x"},"a":{"model_patch":"y"}}`:                                      `key "a": "a" was predicted before`,
		`[{"model_patch":"x"}]`:                            `item 1: "instance_id" is missing`,
		`{"instance_id":"a"}`:                              `line 1: "a" has no "model_patch"`,
		`{"instance_id":"a","model_patch":7}`:              `"model_patch" of "a" must be a text or null`,
		`{"a":{"instance_id":"b","model_patch":""}}`:       `key "a": "instance_id" is "b"`,
		"{\"instance_id\":\"a\",\"model_patch\":\"\xff\"}": "not UTF-8",
		`{"instance_id":"a","model_patch":"\udce9"}`:       `\udce9, half of a character`,
		`nonsense`: "line 1: it is no prediction",
		`[1`:       "no JSON list",
	} {
		if _, err := parsePredictions([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParsePredictions(f *testing.F) {
	for _, text := range []string{`{"instance_id":"a","model_patch":"x"}`, `[{}]`, `{"a":{"model_patch":null}}`, "{\"a\":1}{\"b\":2}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := parsePredictions(data)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := writePredictions(&b, all); err != nil {
			t.Fatal(err)
		}
		again, err := parsePredictions(b.Bytes())
		if err != nil || !slices.Equal(all, again) {
			t.Errorf("%+v became %+v, %v", all, again, err)
		}
	})
}

func TestPatchInAPrediction(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "",
		" \n\t ":                              "",
		"Here it is:\ndiff --git a/f b/f\n-a": "diff --git a/f b/f\n-a\n",
		"diff --git a/f b/f\r\n-a\r\n+b\r\n":  "diff --git a/f b/f\n-a\n+b\n",
		"diff --git a/f b/f\n-a\r\n+b\r\n":    "diff --git a/f b/f\n-a\r\n+b\r\n", // the file's own line ends
		"--- a/f\n+++ b/f":                    "--- a/f\n+++ b/f\n",
		"diff --git a/f b/f\n+diff --git x\n": "diff --git a/f b/f\n+diff --git x\n",
	} {
		if got := string(patchIn(prediction{Patch: text})); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// Of a: #0 fails, #1 was changed by a person, #2 and #3 solve it. Of b: #0 has no
// reward, #1 has 0.
func TestPickTrajectories(t *testing.T) {
	one, zero := 1.0, 0.0
	row := func(instance string, id int, reward *float64) sessions.Trajectory {
		return sessions.Trajectory{Key: sessions.Key{Instance: instance, ID: id}, State: sessions.Done, Reward: reward}
	}
	rows := []sessions.Trajectory{row("a", 0, &zero), row("a", 1, &one), row("a", 2, &one), row("a", 3, &one), row("b", 0, nil), row("b", 1, &zero), row("c", 0, nil), row("d", 0, &one)}
	rows[1].Intervened = true
	rows[6].State = sessions.Running
	rows[7].Fork = &sessions.Fork{}
	for pick, want := range map[string]string{"first": "a#0 b#0", "best": "a#2 b#1", "3": "a#3", "9": ""} {
		left := map[string]int{}
		p := picking{pick: pick}
		var got []string
		for _, x := range p.choose(p.eligible(rows, left)) {
			got = append(got, x.Key.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", pick, got, want)
		}
		if left["changed by a person"] != 1 || left["not ended"] != 1 || left["forks"] != 1 {
			t.Errorf("left out %v", left)
		}
	}
	p := picking{pick: "best", intervened: true}
	if got := p.choose(p.eligible(rows, map[string]int{})); got[0].ID != 1 {
		t.Errorf("with intervened ones the best of a is #%d, want 1", got[0].ID)
	}
}
