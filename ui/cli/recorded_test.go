package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"rollbench/engine"
	"rollbench/sessions"
)

// A run of before a tool existed does not get it by going on.
func TestAResumedRunGetsNoNewTool(t *testing.T) {
	for text, want := range map[string]bool{
		`{"tools": {"enable_bash_tool": true}}`:                         false,
		`{"tools": {"enable_bash_tool": true, "enable_search": true}}`:  true,
		`{"tools": {"enable_bash_tool": true, "enable_search": false}}`: false,
	} {
		c := &config{}
		c.Tools.Search = true // the default
		if err := recorded(sessions.Run{ID: "r-1", Config: json.RawMessage(text)}, c); err != nil || c.Tools.Search != want || !c.Tools.Bash {
			t.Errorf("%s: search %t, %v", text, c.Tools.Search, err)
		}
	}
}

// That a run goes on with other texts of its tools is said, once.
func TestAResumedRunWithOtherTexts(t *testing.T) {
	c := &config{}
	c.Tools.Bash = true
	_, specs, err := engine.Scaffold(c.Config, nil)
	if err != nil {
		t.Fatal(err)
	}
	same, err := digest(specs)
	if err != nil {
		t.Fatal(err)
	}
	for texts, want := range map[string]bool{same: false, "": false, "0123456789ab": true} {
		changed, err := sameTools(sessions.Run{Print: json.RawMessage(`{"tool_texts": "` + texts + `"}`)}, c, nil)
		if err != nil || strings.Contains(changed, "described otherwise") != want {
			t.Errorf("%q: %q, %v", texts, changed, err)
		}
	}
}
