package ui

import (
	"regexp"
	"strings"

	"rollbench/sessions"
)

// words splits a text as a small vocabulary would: markers, words with the space
// before them, single other characters.
var words = regexp.MustCompile(`<\|[a-z_]+\|>|</?[a-z_]+>| ?[A-Za-z]+|\n+| +|(?s:.)`)

// tokenized gives the turns of a trajectory ids, logprobs and raw text. Prompts
// are rendered by a template; what tools returned has no known text.
func (f *fakeRun) tokenized(keys ...sessions.Key) *fakeRun {
	ids := map[string]int32{}
	f.vocabulary = map[int32]string{}
	encode := func(text string, spell bool) []int32 {
		list := []int32{}
		for _, piece := range words.FindAllString(text, -1) {
			id, there := ids[piece]
			if !there {
				id = int32(1000 + 37*len(ids))
				ids[piece] = id
			}
			if spell {
				f.vocabulary[id] = piece
			}
			list = append(list, id)
		}
		return list
	}
	for _, k := range keys {
		prompt := []int32{}
		for i := range f.turns[k] {
			t := &f.turns[k][i]
			var said strings.Builder
			for _, m := range t.New {
				said.WriteString("<|im_start|>" + m.Role + "\n" + m.Content + "<|im_end|>\n")
			}
			prompt = append(prompt, encode(said.String(), i == 0)...)
			prompt = append(prompt, encode("<|im_start|>assistant\n", true)...)
			t.PromptIDs = prompt[:len(prompt):len(prompt)]
			var raw strings.Builder
			if t.Reasoning != "" {
				raw.WriteString("<think>\n" + t.Reasoning + "\n</think>\n")
			}
			raw.WriteString(t.Content)
			for _, c := range t.Calls {
				raw.WriteString("<tool_call>\n{\"name\": \"" + c.Name + "\", \"arguments\": " + c.Arguments + "}\n</tool_call>")
			}
			raw.WriteString("<|im_end|>")
			t.Raw = raw.String()
			t.OutputIDs = encode(t.Raw, true)
			if t.Source == sessions.FromModel {
				t.Logprobs = fakeLogprobs(t.OutputIDs)
			}
			t.PromptTokens, t.OutputTokens = len(t.PromptIDs), len(t.OutputIDs)
			if t.Superseded {
				continue
			}
			prompt = append(prompt, t.OutputIDs...)
			for _, o := range t.Observations {
				prompt = append(prompt, encode("\n<|im_start|>tool\n"+o.Text+"<|im_end|>\n", false)...)
			}
		}
	}
	return f
}

// fakeLogprobs are mostly sure, sometimes not.
func fakeLogprobs(ids []int32) []float64 {
	list := make([]float64, len(ids))
	for i, id := range ids {
		list[i] = []float64{-0.01, -0.02, -0.3, -0.004, -0.05, -1.7, -0.02, -0.09, -0.0007, -0.6, -4.2}[(int(id)/37+i)%11]
	}
	return list
}
