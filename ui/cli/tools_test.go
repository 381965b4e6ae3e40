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
		{"[[tools.deny]]\ntool = 'bash'\n", `rule 1 (deny): no enabled tool matches "bash": there are execute_bash, str_replace_editor, search, finish`},
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

// SkyRL-Agent's names of switches.
func TestSkyRLSwitches(t *testing.T) {
	load := func(sets ...string) (string, error) {
		a := testApp(t)
		a.flags.set = sets
		c, err := a.load()
		if err != nil {
			return "", err
		}
		return fmt.Sprint(c.Tools.Bash, c.Tools.Editor, c.Tools.Finish, c.Tools.Think, c.Tools.Python, c.Tools.MCP), nil
	}
	for _, c := range []struct {
		sets []string
		want string
	}{
		{nil, "true true true false false true"},
		{[]string{"tools.enable_cmd=false"}, "false true true false false true"},
		{[]string{"tools.enable_bash_tool=false", "tools.enable_cmd=true"}, "true true true false false true"},
		{[]string{"tools.enable_jupyter=true", "tools.enable_think=true"}, "true true true true true true"},
		{[]string{"tools.enable_editor=false", "tools.enable_finish=false", "tools.enable_mcp=false"}, "true false false false false false"},
		// as skyrl-agent/examples/run_skyrl/skyrl_swe.yaml has them, but for search
		{[]string{"tools={enable_cmd=true, enable_editor=true, enable_finish=true, enable_browsing=false, enable_llm_editor=false, enable_jupyter=false, enable_think=false, enable_mcp=false}"},
			"true true true false false false"},
	} {
		if got, err := load(c.sets...); err != nil || got != c.want {
			t.Errorf("%v: %s, %v; want %s", c.sets, got, err, c.want)
		}
	}
	for _, c := range []struct{ set, want string }{
		{"tools.enable_browsing=true", "tools.enable_browsing cannot be true: there is no browser; declare an MCP server"},
		{"tools.enable_llm_editor=true", "tools.enable_llm_editor cannot be true"},
		{"tools={enable_cmd=true, enable_bash_tool=false}", "tools.enable_cmd and tools.enable_bash_tool are the same switch and differ"},
		{"tools.enable_cmd=5", "tools.enable_cmd=5: it is a whole number and must be true or false"},
		{"tools.enable_cmdd=true", "did you mean tools.enable_cmd?"},
	} {
		if _, err := load(c.set); err == nil || !strings.Contains(oneLine(err), c.want) {
			t.Errorf("%s: %v, want %q", c.set, err, c.want)
		}
	}
	a := testApp(t)
	a.flags.config = ownToolsFile(t, "[tools]\nenable_think = true\nenable_browsing = true\n")
	if _, err := a.load(); err == nil || !strings.Contains(err.Error(), "my.toml:3: tools.enable_browsing cannot be true") {
		t.Error(err)
	}
	for _, preset := range presetNames() { // finish is on whatever the file says
		a := testApp(t)
		a.flags.preset = preset
		a.flags.config = ownToolsFile(t, "[tools]\nenable_finish = false\n")
		if c, err := a.load(); err != nil || !c.Tools.Finish || !c.Tools.Bash || !c.Tools.Editor {
			t.Errorf("%s: %+v, %v", preset, c, err)
		}
	}
}

func TestMCPServersConfig(t *testing.T) {
	a := testApp(t)
	a.flags.config = ownToolsFile(t, `
[[tools.deny]]
tool = "web__fetch"
[[tools.mcp]]
name = "web"
url = "https://host/mcp"
headers = { Authorization = "WEB_AUTH" }
scope = "run"
timeout = "5s"
include = ["fetch*"]
[[tools.mcp]]
name = "files"
argv = ["files", "--stdio"]
env = ["FILES_KEY"]
cwd = "/srv"
max_chars = 100
start_timeout = "3s"
`)
	c, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	want := `[{Name:web Argv:[] Env:[] Dir: URL:https://host/mcp Headers:map[Authorization:WEB_AUTH] Scope:run Include:[fetch*] Exclude:[] Timeout:5000000000 Start:0 Max:0} ` +
		`{Name:files Argv:[files --stdio] Env:[FILES_KEY] Dir:/srv URL: Headers:map[] Scope: Include:[] Exclude:[] Timeout:0 Start:3000000000 Max:100}]`
	if got := fmt.Sprintf("%+v", c.Tools.Servers); got != want {
		t.Error(got)
	}
	stdio := "[[tools.mcp]]\nname = 'x'\nargv = ['x']\n"
	web := "[[tools.mcp]]\nname = 'x'\nurl = 'https://x/mcp'\n"
	for _, c := range []struct{ text, want string }{
		{"[[tools.mcp]]\nargv = ['x']\n", `tools.mcp "": name "": use letters`},
		{"[[tools.mcp]]\nname = 'a b'\nargv = ['x']\n", `name "a b": use letters`},
		{"[[tools.mcp]]\nname = 'x'\n", `tools.mcp "x": give either argv, the program to run, or url`},
		{stdio + "url = 'https://x/mcp'\n", "give either argv"},
		{stdio + web, `tools.mcp "x": two servers have this name`},
		{stdio + "scope = 'all'\n", `scope is "all": use trajectory or run`},
		{stdio + "include = ['[']\n", `"[" is no glob`},
		{stdio + "headers = { A = 'B' }\n", "headers are for a url"},
		{stdio + "max_chars = -1\n", "max_chars is -1"},
		{stdio + "timeout = '-1s'\n", "is negative"},
		{stdio + "where = 'sandbox'\n", "unknown key tools.mcp.where"},
		{web + "env = ['A']\n", "env and cwd are for argv"},
		{web + "headers = { 'A b' = 'B' }\n", `"A b" is no name of a header`},
		{strings.Replace(web, "https://", "ftp://", 1), "write it like https://host/mcp"},
		{strings.Replace(web, "https://", "https://me:s3cret@", 1), "url holds a name or password"},
	} {
		a := testApp(t)
		a.flags.config = ownToolsFile(t, c.text)
		_, err := a.load()
		if err == nil || !strings.Contains(oneLine(err), c.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
		if e, ok := err.(*exit); !ok || e.code != 2 {
			t.Errorf("%q: exit code of %v is not 2", c.text, err)
		}
	}
}
