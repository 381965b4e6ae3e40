package answer

import (
	"encoding/json"
	"testing"
)

// Where each kind of prompt wants its answer: behind ####, in a line "Answer:", in
// tags, in a box; what stands before does not count.
func TestWhereTheAnswerStands(t *testing.T) {
	for _, c := range []struct {
		source, target, reply string
		want                  float64
	}{
		{"openai/gsm8k", "1200", "5 + 5 = 10\n#### 1,200", 1},
		{"openai/gsm8k", "18", "#### 17\nNo:\n#### $18", 1},
		{"openai/gsm8k", "18", "#### 18\nNo:\n#### 17", 0},
		{"openai/gsm8k", "18", "18", 1},
		{"openai/gsm8k", "18", `\boxed{18}`, 1},
		{"openai/gsm8k", "18", `\boxed{18} #### 17`, 0},
		{"openai/gsm8k", "18", "<think>#### 18</think>#### 3", 0},
		{"openai/gsm8k", "18", "It is 18 or 17.", 0},
		{"gsm8k", "She sells 9 * 2 = 18 of them.\n#### 18", "#### 18", 1}, // the set's own answers hold the way to it
		{"math_dapo", "34", "So it is.\nAnswer: 34", 1},
		{"math_dapo", "34", "**Answer:** $34$", 1},
		{"math_dapo", "34", "Answer: 33\nAnswer: 34\nThat was it.", 1},
		{"math_dapo", "34", "Answer: 34\nAnswer: 33", 0},
		{"math_dapo", "34", `Answer: 33. \boxed{34}`, 1},
		{"math_dapo", "34", "<think>Answer: 34</think>35", 0},
		{"aime2024", "204", "204", 1},
		{"searchR1_nq", "Beijing", "I know.\n<answer> Beijing </answer>", 1},
		{"nq", "Beijing", "<answer>Paris</answer> <answer>Beijing</answer>", 1},
		{"nq", "Beijing", "<answer>Beijing</answer> <answer>Paris</answer>", 0},
		{"nq", "Beijing", "beijing.", 1},
	} {
		v, err := ForSource(c.source)
		if err != nil {
			t.Fatal(err)
		}
		s, err := v.Grade(t.Context(), Row{Source: c.source, Targets: []string{c.target}}, c.reply, nil)
		if err != nil || s.Value == nil || *s.Value != c.want {
			t.Errorf("%s, %q: %+v %v, want %v", c.source, c.reply, s, err, c.want)
		}
	}
}

func TestProgram(t *testing.T) {
	for reply, want := range map[string]string{
		"```python\nprint(1)\n```":                       "print(1)",
		"a\n```\nx = 1\n```\nb\n```py\nprint(x)\n```\n":  "x = 1\nprint(x)",
		"<think>\n```\nno\n```\n</think>\n```\nyes\n```": "yes",
		"- so:\n  ```python\n  print(1)\n  ```":          "print(1)",
		"````\n```\ninner\n```\n````":                    "```\ninner\n```",
		"```python\nprint('```')\n```":                   "print('```')",
		"```python\nprint(1)":                            "", // not closed: it was cut
		"print(1)":                                       "",
		"":                                               "",
		"```\r\nprint(1)\r\n```\r\n":                     "print(1)",
	} {
		if got := Program(reply); got != want {
			t.Errorf("%q: %q, want %q", reply, got, want)
		}
	}
}

// The cases of SkyRL's coder1: numbers within 1e-6, yes and no in any case, blanks
// around and between words, and nothing else.
func TestSameOutput(t *testing.T) {
	for _, c := range []struct {
		given, wanted string
		want          bool
	}{
		{"3\n", "3", true}, {"3\r\n4\r\n", "3\n4", true}, {" 1  2 ", "1 2", true},
		{"0.3333333", "0.333333", true}, {"0.33334", "0.33333", false}, {"2.0", "2", true}, {"1e3", "1000", true},
		{"YES", "Yes", true}, {"no", "NO", true}, {"yes", "no", false}, {"Abc", "abc", false},
		{"1\n2", "1 2", false}, {"1 2", "1 2 3", false}, {"", "", true}, {"", "0", false},
		{"9007199254740993", "9007199254740992", false}, {"007", "7", true}, {"+7", "7", true}, {"-0", "0", true}, {"-7", "7", false}, {"+-7", "7", false}, {"9007199254740993.0", "9007199254740992", true},
		{"nan", "nan", true}, {"0x10", "16", false}, {"1_0", "10", false}, {"inf 1", "inf  1", true},
	} {
		if got := SameOutput(c.given, c.wanted); got != c.want {
			t.Errorf("%q, %q: %v", c.given, c.wanted, got)
		}
	}
}

func TestSameValue(t *testing.T) {
	number := func(text string) any { return json.Number(text) }
	for _, c := range []struct {
		given, wanted any
		want          bool
	}{
		{number("1"), number("1"), true}, {number("1.0000001"), number("1.0"), true}, {number("1.1"), number("1"), false}, {number("1.0"), number("1"), true}, {"a", "a", true}, {"1", number("1"), false}, {nil, nil, true}, {true, number("1"), false},
		{number("9007199254740993"), number("9007199254740992"), false}, {number("9007199254740993"), number("9007199254740993"), true},
		{[]any{number("1"), "a"}, []any{number("1"), "a"}, true}, {[]any{number("1")}, []any{number("1"), number("2")}, false},
		{map[string]any{"a": number("1")}, map[string]any{"a": number("1")}, true}, {map[string]any{"b": nil}, map[string]any{"a": nil}, false},
		{[]any{}, map[string]any{}, false},
	} {
		if got := SameValue(c.given, c.wanted); got != c.want {
			t.Errorf("%v, %v: %v", c.given, c.wanted, got)
		}
	}
}
