package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const ownTools = `
[tools]
enable_python = true
[[tools.allow]]
tool = "execute_bash"
argument = "command"
pattern = '^git push --dry-run'
[[tools.deny]]
argument = "command"
tool = "execute_bash"
pattern = 'git\s+push'
[[tools.command]]
name = "b_tool"
description = "B."
argv = ["b"]
timeout = "5s"
where = "host"
parameters = '{"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "integer"}}, "required": ["z"]}'
[[tools.command]]
name = "a_tool"
description = "A."
argv = ["a", "--x"]
[tools.command.parameters]
type = "object"
required = ["q"]
[tools.command.parameters.properties]
q = { type = "string", description = "What." }
[[tools.allow]]
`

func ownToolsFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "my.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Tools and rules are read in the order in which they are written, and come back
// as they were from a session's record, whatever is configured by then.
func TestOwnTools(t *testing.T) {
	a := testApp(t)
	a.flags.config = ownToolsFile(t, ownTools)
	c, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	check := func(c *config) {
		t.Helper()
		if got := fmt.Sprintf("%v", c.Tools.Rules); got != `[{false execute_bash command ^git push --dry-run} {true execute_bash command git\s+push} {false   }]` {
			t.Errorf("rules %s", got)
		}
		if len(c.Tools.Commands) != 2 {
			t.Fatalf("%+v", c.Tools.Commands)
		}
		b, a := c.Tools.Commands[0], c.Tools.Commands[1]
		if b.Name != "b_tool" || b.Where != "host" || fmt.Sprint(b.Argv, a.Argv) != "[b] [a --x]" || b.Timeout != 5e9 || a.Timeout != 0 || !strings.HasPrefix(string(b.Parameters), `{"type": "object", "properties": {"z"`) {
			t.Errorf("%+v", b)
		}
		if a.Parameters != `{"properties":{"q":{"description":"What.","type":"string"}},"required":["q"],"type":"object"}` {
			t.Errorf("%s", a.Parameters)
		}
	}
	check(c)
	record, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	a.flags.config = ownToolsFile(t, "[[tools.deny]]\n[[tools.command]]\nname='c'\ndescription='C.'\nargv=['c']\nwhere='host'\n")
	again, err := a.load()
	if err == nil {
		err = json.Unmarshal(record, again)
	}
	if err != nil {
		t.Fatal(err)
	}
	check(again)
}

// What is read later replaces a list as a whole.
func TestOwnToolsReplaced(t *testing.T) {
	a := testApp(t)
	a.flags.config = ownToolsFile(t, ownTools)
	a.flags.set = []string{`tools.deny=[{tool="finish"}, {pattern="x"}]`, `tools.command=[{name="c", description="C.", argv=["c"]}]`, "tools.enable_think=true"}
	c, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%+v", c.Tools.Rules); got != "[{Deny:true Tool:finish Argument: Pattern:} {Deny:true Tool: Argument: Pattern:x}]" {
		t.Error(got)
	}
	if got := fmt.Sprintf("%+v", c.Tools.Commands); got != "[{Name:c Description:C. Parameters: Argv:[c] Timeout:0 Where:}]" {
		t.Error(got)
	}
	if !c.Tools.Python || !c.Tools.Think {
		t.Error("switches were lost")
	}
}

func TestBadOwnTools(t *testing.T) {
	tool := "[[tools.command]]\nname = 'x'\ndescription = 'X.'\nargv = ['x']\n"
	for _, c := range []struct{ text, want string }{
		{"[[tools.command]]\n", `[tools]: tool name "": use letters, digits, _ and -`},
		{"[[tools.command]]\nname = 'a b'\n", `tool name "a b"`},
		{"[[tools.command]]\nname = 'x'\n", "tool x has no description"},
		{"[[tools.command]]\nname = 'x'\ndescription = 'X.'\n", "tool x has no argv"},
		{tool + tool, `[tools]: two tools are called "x": give one another name`},
		{strings.Replace(tool, "'x'", "'finish'", 1), `two tools are called "finish"`},
		{tool + "where = 'docker'\n", `tools.command "x": where is "docker": use sandbox or host`},
		{tool + "parameters = 5\n", "my.toml:5: tools.command.parameters: write a table or a text that holds a JSON Schema, not 5"},
		{tool + "parameters = '{'\n", "[tools]: parameters of tool x: unexpected end of JSON input"},
		{tool + "parameters = { type = 'array' }\n", `parameters of tool x: a schema of type "object" is needed`},
		{tool + "parameters = { type = 'object', required = ['a'] }\n", `parameters of tool x: "a" is required and not among the properties`},
		{tool + "parameters = { type = 'object', properties = { a = { type = 'text' } } }\n", `parameters of tool x: property "a": there is no type "text"`},
		{tool + "agv = ['y']\n", "my.toml:5: unknown key tools.command.agv; did you mean tools.command.argv?"},
		{tool + "timeout = '-1s'\n", "is negative"},
		{"[[tools.denny]]\n", "unknown key tools.denny; did you mean tools.deny?"},
		{"[[tools.deny]]\npattern = '('\n", "[tools]: rule 1 (deny): pattern: error parsing regexp: missing closing ): `(`"},
		{"[[tools.allow]]\n[[tools.deny]]\ntool = '['\n", `rule 2 (deny): tool "[" is no glob`},
		{"[[tools.deny]]\ntool = 'bash'\n", `rule 1 (deny): no enabled tool matches "bash": there are execute_bash, str_replace_editor, finish`},
		{"[[tools.deny]]\ntool = 'execute_bash'\nargument = 'cmd'\n", `no tool that matches "execute_bash" has an argument "cmd"`},
	} {
		a := testApp(t)
		a.flags.config = ownToolsFile(t, c.text)
		_, err := a.load()
		if err == nil || !strings.Contains(oneLine(err), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
		if e, ok := err.(*exit); !ok || e.code != 2 {
			t.Errorf("%q: exit code of %v is not 2", c.text, err)
		}
	}
}
