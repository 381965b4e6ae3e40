package ui

import (
	"fmt"
	"strings"
	"time"

	"rollbench/sessions"
)

// fakeTurns is a conversation of t.Turn turns that shows each kind of thing a
// transcript can hold.
func fakeTurns(t sessions.Trajectory) []sessions.Turn {
	var out []sessions.Turn
	for n := 1; n <= t.Turn; n++ {
		turn := fakeTurn(t.Key, n)
		last := n == t.Turn
		if last && t.State == sessions.Held && t.HeldAt == sessions.AfterReply {
			turn = pendingTurn(t.Key, n)
		}
		if last && t.State == sessions.Running && !t.ToolSince.IsZero() {
			turn.Observations, turn.Complete = nil, false
		}
		out = append(out, turn)
	}
	if t.Turn >= 5 {
		old := fakeTurn(t.Key, 5)
		old.Superseded, old.Observations = true, nil
		out[4].Version, out[4].Source = 2, sessions.FromOperator
		out = append(out[:4], append([]sessions.Turn{old}, out[4:]...)...)
	}
	return out
}

func fakeTurn(k sessions.Key, n int) sessions.Turn {
	t := sessions.Turn{
		Key: k, Attempt: 1, Index: n, Version: 1, Source: sessions.FromModel, Finish: "tool_calls", Complete: true, Model: "qwen3-32b",
		PromptTokens: 1800 + n*900, OutputTokens: 120 + n*7, Started: t0, ModelWall: time.Duration(600+n*110) * time.Millisecond,
	}
	obs := func(tool, text, status string, exit *int, wall time.Duration) {
		t.Observations = []sessions.Observation{{CallID: "c1", Tool: tool, Text: text, Status: status, Exit: exit, Wall: wall, Source: sessions.FromTool}}
	}
	call := func(name, args string) { t.Calls = []sessions.Call{{ID: "c1", Name: name, Arguments: args}} }
	switch n % 6 {
	case 1:
		if n == 1 {
			t.New = []sessions.Message{
				{Role: "system", Content: "You are a careful engineer. Work in the repository at /testbed.\nUse the tools. Finish when the tests pass.", Source: sessions.FromTask},
				{Role: "user", Content: "Blueprint names with a dot are accepted although dots are significant in endpoint names.\n\nMake the constructor raise a ValueError when the name contains a dot, and keep nested blueprints working.\nThe tests in tests/test_blueprints.py must pass.", Source: sessions.FromTask},
			}
		}
		t.Reasoning = "First look at the layout. The issue names Blueprint, so the constructor in src/flask/blueprints.py is where the name is taken; endpoint names are joined with dots in Scaffold, so both may need a look.\nI will list the files and then open the constructor."
		call("execute_bash", `{"command": "ls src/flask && git log --oneline | head -3"}`)
		obs("execute_bash", "app.py\nblueprints.py\ncli.py\nconfig.py\nctx.py\ndebughelpers.py\nglobals.py\nhelpers.py\njson\nlogging.py\nscaffold.py\nsessions.py\n9a1c2e4 Merge pull request\n", "ok", ptr(0), 38*time.Millisecond)
	case 2:
		t.Content = "The constructor first."
		call("str_replace_editor", `{"command": "view", "path": "/testbed/src/flask/blueprints.py", "view_range": [170, 210]}`)
		obs("str_replace_editor", numbered(170, 210), "ok", nil, 8*time.Millisecond)
	case 3:
		t.Reasoning = "The dot in the name must be refused early, before any of the attributes is set."
		call("str_replace_editor", `{"command": "str_replace", "path": "/testbed/src/flask/blueprints.py", "old_str": "        self.name = name\n        self.url_prefix = url_prefix", "new_str": "        if \".\" in name:\n            raise ValueError(\"'name' may not contain a dot '.' character.\")\n        self.name = name\n        self.url_prefix = url_prefix"}`)
		obs("str_replace_editor", "The file /testbed/src/flask/blueprints.py has been edited.", "ok", nil, 11*time.Millisecond)
	case 4:
		call("execute_bash", `{"command": "python -m pytest -q tests/test_blueprints.py"}`)
		obs("execute_bash", "....F...\n\x1b[31mFAILED\x1b[0m tests/test_blueprints.py::test_dotted_name - DID NOT RAISE\n1 failed, 7 passed in 0.41s", "error", ptr(1), 1240*time.Millisecond)
	case 5:
		t.Content = "Now the same check for endpoints."
		call("execute_bash", `{"comand": "grep -n endpoint src/flask/scaffold.py"}`)
		t.Calls[0].Problem = `execute_bash has no argument "comand": it takes command, is_input`
		obs("execute_bash", `Error: execute_bash has no argument "comand": it takes command, is_input`, "invalid", nil, 0)
	case 0:
		t.New = []sessions.Message{{Role: "user", Content: "Leave the tests alone: only the source may change.", Source: sessions.FromOperator}}
		t.Reasoning = "I am told to leave the tests alone."
		call("execute_bash", `{"command": "git checkout tests\ngit status --short"}`)
		obs("execute_bash", " M src/flask/blueprints.py", "ok", ptr(0), 21*time.Millisecond)
	}
	return t
}

// pendingTurn waits at after-reply with a call that has not run.
func pendingTurn(k sessions.Key, n int) sessions.Turn {
	t := fakeTurn(k, n)
	t.Observations, t.Complete = nil, false
	t.Reasoning = "The old tests get in the way. I will remove them and run everything again."
	t.Calls = []sessions.Call{{ID: "c1", Name: "execute_bash", Arguments: `{"command": "rm -rf tests && \\\n\tpython -m pytest -q"}`}}
	return t
}

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "%6d\tself.attribute_%d = attribute_%d\n", i, i, i)
	}
	return b.String()
}
