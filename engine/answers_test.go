package engine

import (
	"testing"

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
