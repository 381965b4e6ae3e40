package calls

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// kit is the tools of the tests: SkyRL's, those of the formats' documentation,
// and one with a parameter of each type.
var kit = []Tool{
	{"str_replace_editor", json.RawMessage(`{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace"]},
		"path":{"type":"string"},"file_text":{"type":"string"},"old_str":{"type":"string"},"new_str":{"type":"string"},
		"insert_line":{"type":"integer"},"view_range":{"type":"array","items":{"type":"integer"}}},"required":["command","path"]}`)},
	{"execute_bash", json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"},"is_input":{"type":"string","enum":["true","false"]}},"required":["command"]}`)},
	{"finish", json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}}}`)},
	{"get_current_weather", json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"state":{"type":"string"},"unit":{"type":"string","enum":["fahrenheit","celsius"]}},"required":["city","state"]}`)},
	{"calculate_area", json.RawMessage(`{"type":"object","properties":{"shape":{"type":"string"},"dimensions":{"type":"object"},"precision":{"type":"integer"}}}`)},
	{"types", json.RawMessage(`{"type":"object","properties":{"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},"a":{"type":"array"},"o":{"type":"object"},
		"s":{"type":"string"},"maybe":{"type":["integer","null"]},"either":{"anyOf":[{"type":"integer"},{"type":"string"},{"type":"null"}]},"free":{}}}`)},
}

// want is what a test expects of a call: Problem is a part of it, "" for none.
type want struct {
	name, args, problem string
	cut                 bool
}

type example struct {
	what      string
	format    Format
	finish    string // "" is stop
	text      string
	reasoning string
	content   string
	calls     []want
}

func check(t *testing.T, examples []example) {
	t.Helper()
	for _, e := range examples {
		t.Run(e.what, func(t *testing.T) {
			if e.finish == "" {
				e.finish = "stop"
			}
			r := Parse(e.format, e.text, kit, e.finish)
			if r.Reasoning != e.reasoning {
				t.Errorf("reasoning %q, want %q", r.Reasoning, e.reasoning)
			}
			if r.Content != e.content {
				t.Errorf("content %q, want %q", r.Content, e.content)
			}
			if len(r.Calls) != len(e.calls) {
				t.Fatalf("%d calls, want %d: %+v", len(r.Calls), len(e.calls), r.Calls)
			}
			for i, w := range e.calls {
				c := r.Calls[i]
				if c.Name != w.name || c.Cut != w.cut || (c.Problem == "") != (w.problem == "") || !strings.Contains(c.Problem, w.problem) {
					t.Errorf("call %d is %+v, want %+v", i, c, w)
				}
				if w.problem == "" {
					same(t, c.Arguments, w.args)
				} else if w.args != "" && c.Arguments != w.args {
					t.Errorf("call %d keeps %q, want %q", i, c.Arguments, w.args)
				}
			}
		})
	}
}

func same(t *testing.T, got, want string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(got), &a); err != nil {
		t.Errorf("arguments %q: %v", got, err)
		return
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("arguments %s, want %s", got, want)
	}
}

func TestHermes(t *testing.T) {
	check(t, []example{
		// Qwen documentation, "Function Calling": two calls, each in its own tag
		{"parallel", Hermes, "", "<tool_call>\n{\"name\": \"get_current_temperature\", \"arguments\": {\"location\": \"San Francisco, CA, USA\"}}\n</tool_call>\n" +
			"<tool_call>\n{\"name\": \"get_temperature_date\", \"arguments\": {\"location\": \"San Francisco, CA, USA\", \"date\": \"2024-10-01\"}}\n</tool_call>", "", "",
			[]want{{"get_current_temperature", `{"location":"San Francisco, CA, USA"}`, "", false},
				{"get_temperature_date", `{"location":"San Francisco, CA, USA","date":"2024-10-01"}`, "", false}}},
		// vLLM's hermes parser: text before the call is content; the end may be missing at the end of the reply
		{"text before", Hermes, "", "Sure, let me check the weather.<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"NYC\"}}</tool_call>", "",
			"Sure, let me check the weather.", []want{{"get_weather", `{"city":"NYC"}`, "", false}}},
		{"no closing tag", Hermes, "", "<tool_call>\n{\"name\": \"final_answer\", \"arguments\": {\"trigger\": true}}", "", "",
			[]want{{"final_answer", `{"trigger":true}`, "", false}}},
		{"half a closing tag", Hermes, "length", "<tool_call>\n{\"name\": \"a\", \"arguments\": {}}\n</tool_", "", "", []want{{"a", `{}`, "", false}}},
		{"no closing tag between calls", Hermes, "", `<tool_call>{"name":"a"}<tool_call>{"name":"b"}</tool_call>`, "", "", []want{{"a", `{}`, "", false}, {"b", `{}`, "", false}}},
		{"missing brace", Hermes, "", "<tool_call>\n{\"name\": \"final_answer\", \"arguments\": {\"trigger\": true}", "", "",
			[]want{{"", "<tool_call>\n{\"name\": \"final_answer\", \"arguments\": {\"trigger\": true}", "unexpected end of JSON input", false}}},
		{"missing brace, closed", Hermes, "length", `<tool_call>{"name":"a","arguments":{"x":1}</tool_call> and on`, "", "and on",
			[]want{{"", "", "malformed", false}}},
		// Granite 4 writes the arguments as a string (vLLM's hermes tests)
		{"arguments in a string", Hermes, "", `<tool_call>{"name": "get_db_config", "arguments": "{\"param\": \"max_connections\"}"}</tool_call>`, "", "",
			[]want{{"get_db_config", `{"param":"max_connections"}`, "", false}}},
		{"arguments are other text", Hermes, "", `<tool_call>{"name": "do_thing", "arguments": "hello"}</tool_call>`, "", "",
			[]want{{"do_thing", "", "not a JSON object", false}}},
		{"arguments are a list", Hermes, "", `<tool_call>{"name": "x", "arguments": [1]}</tool_call>`, "", "", []want{{"x", "", "not a JSON object", false}}},
		{"a string in a string stays one", Hermes, "", `<tool_call>{"name":"finish","arguments":{"message":"{\"a\": 1}"}}</tool_call>`, "", "",
			[]want{{"finish", `{"message":"{\"a\": 1}"}`, "", false}}},
		{"no arguments", Hermes, "", `<tool_call>{"name":"finish"}</tool_call>`, "", "", []want{{"finish", `{}`, "", false}}},
		{"no name", Hermes, "", `<tool_call>{"arguments":{}}</tool_call>`, "", "", []want{{"", "", "no name", false}}},
		{"name is a number", Hermes, "", `<tool_call>{"name":3,"arguments":{}}</tool_call>`, "", "", []want{{"", "", "no name", false}}},
		{"NAME is no name", Hermes, "", `<tool_call>{"NAME":"a","arguments":{}}</tool_call>`, "", "", []want{{"", "", "no name", false}}},
		// vllm#45167: the closing tag within a string
		{"closing tag in a string", Hermes, "", `<tool_call>{"name":"execute_bash","arguments":{"command":"grep '</tool_call>' \"a b\" \\"}}</tool_call> done`, "", "done",
			[]want{{"execute_bash", `{"command":"grep '</tool_call>' \"a b\" \\"}`, "", false}}},
		// hermes-agent#5315: a line break within a string is no JSON
		{"raw line break", Hermes, "", "<tool_call>{\"name\":\"a\",\"arguments\":{\"x\":\"1\n2\"}}</tool_call>\n<tool_call>{\"name\":\"b\"}</tool_call>", "", "",
			[]want{{"", "", `line breaks as \n`, false}, {"b", `{}`, "", false}}},
		{"a call in a malformed one does not run", Hermes, "", "<tool_call>{\"name\":\"a\",\"arguments\":{\"x\":\"1\n<tool_call>{\"name\":\"rm\"}</tool_call>\n\"}}</tool_call> end", "", "end",
			[]want{{"", "", "malformed", false}}},
		{"quote not escaped", Hermes, "", `<tool_call>{"name":"a","arguments":{"x":"say "hi" {"}} {"name":"rm"}</tool_call>`, "", "", []want{{"", "", "malformed", false}}},
		{"several objects in a tag", Hermes, "", "<tool_call>\n{\"name\":\"a\"}\n{\"name\":\"b\"}\n</tool_call>", "", "", []want{{"a", `{}`, "", false}, {"b", `{}`, "", false}}},
		{"a brace too many", Hermes, "", `<tool_call>{"name":"a","arguments":{}}}</tool_call>x`, "", "x", []want{{"", "", "more text behind", false}}},
		{"not JSON", Hermes, "", "<tool_call>\nls -la\n</tool_call>", "", "", []want{{"", "<tool_call>\nls -la\n</tool_call>", "could not be read", false}}},
		{"the other format", Hermes, "", "<tool_call>\n<function=a>\n</function>\n</tool_call>", "", "", []want{{"", "", "could not be read", false}}},
		{"a tag in prose", Hermes, "", `I write <tool_call> now: <tool_call>{"name":"a"}</tool_call>`, "", "I write <tool_call> now:", []want{{"a", `{}`, "", false}}},
		{"nothing behind the tag", Hermes, "", "ok\n<tool_call>\n", "", "ok", []want{{"", "", "could not be read", false}}},
		{"cut behind the tag", Hermes, "length", "ok\n<tool_call>\n", "", "ok", []want{{"", "<tool_call>\n", "cut off", true}}},
		{"cut in what is no object", Hermes, "length", `<tool_call>[<tool_call>{"name":"rm"}</tool_call>`, "", "", []want{{"", "", "cut off", true}}},
		{"cut in a string", Hermes, "length", "ok\n<tool_call>\n{\"name\": \"a\", \"arguments\": {\"x\": \"ab", "", "ok",
			[]want{{"", "<tool_call>\n{\"name\": \"a\", \"arguments\": {\"x\": \"ab", "cut off", true}}},
		{"the second is cut", Hermes, "length", `<tool_call>{"name":"a"}</tool_call><tool_call>{"name":"b"`, "", "", []want{{"a", `{}`, "", false}, {"", "", "cut off", true}}},
		{"malformed and not the last is not cut", Hermes, "length", `<tool_call>{"name":a}</tool_call><tool_call>{"name":"b"`, "", "",
			[]want{{"", "", "malformed", false}, {"", "", "cut off", true}}},
		{"text around and between", Hermes, "", "one \n<tool_call>{\"name\":\"a\"}</tool_call>\n two\n<tool_call>{\"name\":\"b\"}</tool_call>\nthree\n", "", "one\ntwo\nthree",
			[]want{{"a", `{}`, "", false}, {"b", `{}`, "", false}}},
		{"bytes that are no UTF-8", Hermes, "", "\xff<tool_call>{\"name\":\"a\",\"arguments\":{\"x\":\"\xfe\"}}</tool_call>", "", "\xff", []want{{"a", `{"x":"\ufffd"}`, "", false}}},
	})
}

func TestFunction(t *testing.T) {
	check(t, []example{
		// SkyRL-Agent and OpenHands: one parameter on a line, or its value on lines of its own
		{"one line", Function, "", "I list the files.\n\n<function=execute_bash>\n<parameter=command>ls -la</parameter>\n</function>", "", "I list the files.",
			[]want{{"execute_bash", `{"command":"ls -la"}`, "", false}}},
		{"several lines", Function, "", "<function=str_replace_editor>\n<parameter=command>create</parameter>\n<parameter=path>/a.py</parameter>\n<parameter=file_text>\n    def f():\n        pass\n\n</parameter>\n</function>", "", "",
			[]want{{"str_replace_editor", `{"command":"create","path":"/a.py","file_text":"    def f():\n        pass\n"}`, "", false}}},
		{"white space of text is kept", Function, "", "<function=str_replace_editor>\n<parameter=command> view </parameter>\n<parameter=path>/a</parameter>\n<parameter=old_str>\n\n  x \n\n</parameter>\n</function>", "", "",
			[]want{{"str_replace_editor", `{"command":"view","path":"/a","old_str":"\n  x \n"}`, "", false}}},
		{"integer and array", Function, "", "<function=str_replace_editor>\n<parameter=view_range>[1, -1]</parameter>\n<parameter=insert_line>\n5\n</parameter>\n</function>", "", "",
			[]want{{"str_replace_editor", `{"view_range":[1,-1],"insert_line":5}`, "", false}}},
		{"text is never guessed to be a number", Function, "", "<function=finish>\n<parameter=message>03106</parameter>\n</function>", "", "", []want{{"finish", `{"message":"03106"}`, "", false}}},
		{"no parameters", Function, "", "<function=finish>\n</function>", "", "", []want{{"finish", `{}`, "", false}}},
		{"unknown tool and parameter are the registry's", Function, "", "<function=nope>\n<parameter=x>1</parameter>\n</function><function=finish><parameter=y>1</parameter></function>", "", "",
			[]want{{"nope", `{"x":"1"}`, "", false}, {"finish", `{"y":"1"}`, "", false}}},
		{"text after", Function, "", "a\n<function=finish></function>\nb\n", "", "a\nb", []want{{"finish", `{}`, "", false}}},
		{"not an integer", Function, "", "<function=str_replace_editor>\n<parameter=insert_line>soon</parameter>\n<parameter=command>view</parameter>\n</function> x", "", "x",
			[]want{{"str_replace_editor", "<function=str_replace_editor>\n<parameter=insert_line>soon</parameter>\n<parameter=command>view</parameter>\n</function>", `"insert_line" must be an integer, not "soon"`, false}}},
		{"given twice", Function, "", "<function=finish><parameter=message>a</parameter><parameter=message>b</parameter></function>", "", "", []want{{"finish", "", `"message" is given twice`, false}}},
		// OpenHands declares the stop word </function and adds the end itself; here the end is needed
		{"no end", Function, "", "<function=finish>\n<parameter=message>a</parameter>\n", "", "", []want{{"finish", "", "no end </function>", false}}},
		{"cut before the end", Function, "length", "<function=finish>\n<parameter=message>a</parameter>\n", "", "", []want{{"finish", "", "cut off", true}}},
		{"cut in a value", Function, "length", "go <function=execute_bash>\n<parameter=command>rm -rf /tmp", "", "go",
			[]want{{"execute_bash", "<function=execute_bash>\n<parameter=command>rm -rf /tmp", "cut off", true}}},
		{"cut in the name", Function, "length", "go <function=execute_b", "", "go", []want{{"", "", "cut off", true}}},
		{"no end of a value", Function, "", "<function=finish>\n<parameter=message>a\n</function>", "", "", []want{{"finish", "", `"message" of the tool call has no end </parameter>`, false}}},
		{"text between", Function, "", "<function=finish>\nfirst <parameter=message>a</parameter>\n</function> x", "", "x", []want{{"finish", "", "outside its parameters", false}}},
		{"cut in what is no parameter", Function, "length", `<function=finish>{"message": "<function=rm></function>`, "", "", []want{{"finish", "", "cut off", true}}},
		{"JSON for parameters", Function, "", `<function=finish>{"message": "a"}</function>`, "", `<function=finish>{"message": "a"}</function>`, nil},
		{"a tag in prose", Function, "", "I call <function=finish> now.\n<function=finish>\n</function>", "", "I call <function=finish> now.", []want{{"finish", `{}`, "", false}}},
		{"a less-than sign", Function, "", "<function=execute_bash><parameter=command>a < b && cat <<EOF > c</parameter></function>", "", "", []want{{"execute_bash", `{"command":"a < b && cat <<EOF > c"}`, "", false}}},
		{"wrapped", Function, "", "x <tool_call>\n<function=finish>\n</function>\n</tool_call> y", "", "x\ny", []want{{"finish", `{}`, "", false}}},
	})
}

func TestTagsInValues(t *testing.T) {
	call := func(value string) string {
		return "<tool_call>\n<function=execute_bash>\n<parameter=command>\n" + value + "\n</parameter>\n<parameter=is_input>\nfalse\n</parameter>\n</function>\n</tool_call>"
	}
	for _, value := range []string{
		"grep '</parameter>' f",
		"grep '<parameter=x>' f",
		"grep '<function=x>' f",
		"echo '</function>'",
		"echo '</function>\n</tool_call>'",
		"echo '</parameter></parameter>'",
		"pattern = r'<parameter=edits>\\n(.*?)\\n</parameter>'", // an issue of a Qwen3-Coder server: markup in a script
		"<function=demo>\n</function>\n</tool_call>",            // a reply of Qwen3.5-9B that wrote such a file
		"<tool_call>\n<function=demo>\n<parameter=a>\n1\n</parameter>\n<parameter=b>2</parameter>\n</function>\n</tool_call>",
		"<parameter=a>1</parameter>\n<parameter=b>2</parameter>",
		"<parameter=a>1</parameter>",
		"<function=a>text</function>",
		"<tool_call>", "</tool_call>", "</think>", "<think>", "```bash\nls\n```", "<function=", "<parameter=",
	} {
		quoted, _ := json.Marshal(value)
		check(t, []example{
			{value, Qwen3Coder, "", call(value), "", "", []want{{"execute_bash", `{"command":` + string(quoted) + `,"is_input":"false"}`, "", false}}},
			{value, Auto, "", "so\n" + call(value) + "\n" + call("ls"), "", "so", []want{{"execute_bash", `{"command":` + string(quoted) + `,"is_input":"false"}`, "", false},
				{"execute_bash", `{"command":"ls","is_input":"false"}`, "", false}}},
		})
	}
}

func TestQwen3Coder(t *testing.T) {
	check(t, []example{
		// vLLM's tests of the qwen3_coder parser
		{"two calls", Qwen3Coder, "", "<tool_call>\n<function=get_current_weather>\n<parameter=city>\nDallas\n</parameter>\n<parameter=state>\nTX\n</parameter>\n<parameter=unit>\nfahrenheit\n</parameter>\n</function>\n</tool_call>\n" +
			"<tool_call>\n<function=get_current_weather>\n<parameter=city>\nOrlando\n</parameter>\n<parameter=state>\nFL\n</parameter>\n</function>\n</tool_call>", "", "",
			[]want{{"get_current_weather", `{"city":"Dallas","state":"TX","unit":"fahrenheit"}`, "", false}, {"get_current_weather", `{"city":"Orlando","state":"FL"}`, "", false}}},
		{"typed", Qwen3Coder, "", "Let me calculate that area for you.<tool_call>\n<function=calculate_area>\n<parameter=shape>\nrectangle\n</parameter>\n<parameter=dimensions>\n{\"width\": 10, \n \"height\": 20}\n</parameter>\n<parameter=precision>\n2\n</parameter>\n</function>\n</tool_call>",
			"", "Let me calculate that area for you.", []want{{"calculate_area", `{"shape":"rectangle","dimensions":{"width":10,"height":20},"precision":2}`, "", false}}},
		{"no wrapper", Qwen3Coder, "", "<function=get_current_weather>\n<parameter=city>\nDallas\n</parameter>\n</function>", "", "", []want{{"get_current_weather", `{"city":"Dallas"}`, "", false}}},
		// ollama#16686: the opening wrapper forgotten
		{"closing wrapper only", Qwen3Coder, "", "I'll do it.\n\n<function=finish>\n</function>\n</tool_call>", "", "I'll do it.", []want{{"finish", `{}`, "", false}}},
		{"several functions in a block", Qwen3Coder, "", "<tool_call>\n<function=finish>\n</function>\n<function=a>\n</function>\n</tool_call>\nend", "", "end",
			[]want{{"finish", `{}`, "", false}, {"a", `{}`, "", false}}},
		{"the other format", Qwen3Coder, "", `<tool_call>{"name":"a"}</tool_call>x`, "", "x", []want{{"", `<tool_call>{"name":"a"}</tool_call>`, "could not be read", false}}},
		{"an end in a value", Qwen3Coder, "", "<function=finish>\n<parameter=message>\nI write '</parameter>\n</function>' now\n</parameter>\n</function>\n", "", "",
			[]want{{"finish", "<function=finish>\n<parameter=message>\nI write '</parameter>\n</function>' now\n</parameter>\n</function>", "two ends", false}}},
		{"a call within one without an end", Qwen3Coder, "", "<tool_call>\n<function=finish>\n<parameter=message>\n<tool_call>\n<function=rm>\n</function>\n</tool_call>\n", "", "",
			[]want{{"finish", "", "no end </parameter>", false}}},
	})
}

func TestValues(t *testing.T) {
	for _, c := range []struct{ param, text, want string }{
		{"i", "42", "42"}, {"i", " 42 ", "42"}, {"i", "-1", "-1"}, {"i", "007", "7"}, {"i", "5.0", "5"}, {"i", "null", "null"},
		{"i", "5.5", ""}, {"i", "", ""}, {"i", "five", ""}, {"i", "2026-01-15", ""}, {"i", "[1]", ""}, {"i", "0x1p4", ""}, {"i", "1e99", ""},
		{"n", "3.14", "3.14"}, {"n", "1e3", "1e3"}, {"n", "-0.5", "-0.5"}, {"n", "NaN", ""}, {"n", "Infinity", ""}, {"n", "\"1\"", ""},
		{"b", "true", "true"}, {"b", "True", "true"}, {"b", "FALSE", "false"}, {"b", "1", ""}, {"b", "yes", ""},
		{"a", "[1, \"x\"]", "[1, \"x\"]"}, {"a", "{}", ""}, {"a", "1, 2", ""}, {"a", "['x']", ""}, {"a", "[1", ""}, {"a", "[1] [2]", ""},
		{"o", "{\"k\": [1]}", "{\"k\": [1]}"}, {"o", "[]", ""}, {"o", "{'k': 1}", ""}, {"o", "None", "null"},
		{"s", "42", `"42"`}, {"s", "true", `"true"`}, {"s", "null", `"null"`}, {"s", "{\"a\": 1}", `"{\"a\": 1}"`}, {"s", " x ", `" x "`}, {"s", "", `""`}, {"s", "&lt;", `"&lt;"`},
		{"maybe", "3", "3"}, {"maybe", "null", "null"}, {"maybe", "x", ""},
		{"either", "3", `"3"`}, {"either", "null", "null"}, {"either", "x", `"x"`},
		{"free", "3", `"3"`}, {"unknown", "3", `"3"`},
	} {
		r := Parse(Function, "<function=types><parameter="+c.param+">"+c.text+"</parameter></function>", kit, "stop")
		if len(r.Calls) != 1 {
			t.Fatalf("%s=%s: %+v", c.param, c.text, r)
		}
		got := r.Calls[0]
		switch {
		case c.want == "" && !strings.Contains(got.Problem, `"`+c.param+`"`):
			t.Errorf("%s=%q: the problem %q does not name the parameter", c.param, c.text, got.Problem)
		case c.want != "" && got.Arguments != `{"`+c.param+`": `+c.want+"}":
			t.Errorf("%s=%q is %s %s, want %s", c.param, c.text, got.Arguments, got.Problem, c.want)
		}
	}
}

func TestBash(t *testing.T) {
	check(t, []example{
		// mini-swe-agent: a thought and one block
		{"one block", Bash, "", "THOUGHT: look\n\n```bash\nls -la && pwd\n```", "", "THOUGHT: look", []want{{"execute_bash", `{"command":"ls -la && pwd"}`, "", false}}},
		{"its other name", Bash, "", "```mswea_bash_command\nls\n```\n", "", "", []want{{"execute_bash", `{"command":"ls"}`, "", false}}},
		{"white space and lines are kept", Bash, "", "```bash  \n\n  a\n b \n\n```\nbye", "", "bye", []want{{"execute_bash", `{"command":"\n  a\n b \n"}`, "", false}}},
		{"empty", Bash, "", "```bash\n```", "", "", []want{{"execute_bash", `{"command":""}`, "", false}}},
		// mini-swe-agent takes exactly one
		{"two blocks", Bash, "", "```bash\na\n```\nthen\n```bash\nb\n```", "", "then", []want{{"execute_bash", "```bash\na\n```\n", "more than one", false}, {"execute_bash", "", "more than one", false}}},
		{"other blocks are text", Bash, "", "```python\nx\n```\n```bash\nb\n```", "", "```python\nx\n```", []want{{"execute_bash", `{"command":"b"}`, "", false}}},
		{"a block within another is text", Bash, "", "```markdown\n```bash\nb\n```\n```", "", "```markdown\n```bash\nb\n```\n```", nil},
		{"a block in a here-document", Bash, "", "```bash\ncat > a.md <<'EOF'\n```python\nx\n```\nEOF\n```", "", "", []want{{"execute_bash", `{"command":"cat > a.md <<'EOF'\n` + "```python\\nx\\n```" + `\nEOF"}`, "", false}}},
		{"a longer fence", Bash, "", "````bash\ncat <<EOF\n```\nEOF\n````", "", "", []want{{"execute_bash", `{"command":"cat <<EOF\n` + "```" + `\nEOF"}`, "", false}}},
		{"not a fence", Bash, "", "use ```bash to open\n    ```bash\n", "", "use ```bash to open\n    ```bash\n", nil},
		{"no end", Bash, "", "x\n```bash\nls\n", "", "x", []want{{"execute_bash", "```bash\nls\n", "no end", false}}},
		{"cut", Bash, "length", "x\n```bash\nls\n``", "", "x", []want{{"execute_bash", "```bash\nls\n``", "cut off", true}}},
		{"the fence may go on", Bash, "length", "```bash\ncat <<EOF\n```", "", "", []want{{"execute_bash", "", "cut off", true}}},
		{"the fence does not go on", Bash, "length", "```bash\nls\n```\n", "", "", []want{{"execute_bash", `{"command":"ls"}`, "", false}}},
	})
	if r := Parse(Bash, "```bash\nls\n```", nil, "stop"); len(r.Calls) != 1 || r.Calls[0].Name != "bash" {
		t.Errorf("without a shell tool: %+v", r.Calls)
	}
}

func TestThinking(t *testing.T) {
	call := `<tool_call>{"name":"a"}</tool_call>`
	a := []want{{"a", `{}`, "", false}}
	check(t, []example{
		// Qwen3: the block as the chat template writes it
		{"block", Hermes, "", "<think>\nI look.\n</think>\n\nNow.\n" + call, "I look.", "Now.", a},
		{"no call", Hermes, "", "<think>\nhm\n</think>\n\n4 \n", "hm", "4 \n", nil},
		{"empty block", Hermes, "", "<think>\n\n</think>\n\n" + call, "", "", a},
		// Qwen3.5, DeepSeek-R1: the opening tag is in the prompt
		{"end only", Hermes, "", "I look.\n</think>\n\n" + call, "I look.", "", a},
		{"a call in the thinking", Hermes, "", "maybe " + call + "?\n</think>\nno", "maybe " + call + "?", "no", nil},
		{"a tag in the thinking", Hermes, "", "I write <tool_call> now\n</think>\n" + call, "I write <tool_call> now", "", a},
		{"the end in an argument", Hermes, "", `<tool_call>{"name":"a","arguments":{"x":"</think>"}}</tool_call>`, "", "", []want{{"a", `{"x":"</think>"}`, "", false}}},
		{"the end in an argument, cut", Hermes, "length", `<tool_call>{"name":"a","arguments":{"x":"</think>`, "", "", []want{{"", "", "cut off", true}}},
		{"cut in the thinking", Hermes, "length", "<think>\nI use " + call, "I use " + call, "", nil},
		// Qwen3.5 may act without closing its thinking (vLLM's qwen3 reasoning parser)
		{"acting within the thinking", Hermes, "", "<think>\nI act.\n" + call + "\n", "I act.", "", a},
		{"only thinking of it", Hermes, "", "<think>\nI could " + call + " or not", "I could " + call + " or not", "", nil},
		{"a second block is content", Hermes, "", "<think>a</think>b<think>c</think>", "a", "b<think>c</think>", nil},
		{"none", None, "", "<think>a</think>" + call, "", "<think>a</think>" + call, nil},
		{"no such format", "xml", "", call, "", call, nil},
	})
}

func TestAuto(t *testing.T) {
	check(t, []example{
		{"plain", Auto, "", " 4 < 5\n\n", "", " 4 < 5\n\n", nil},
		{"empty", Auto, "", "", "", "", nil},
		{"hermes", Auto, "", `x <tool_call>{"name":"a"}</tool_call>`, "", "x", []want{{"a", `{}`, "", false}}},
		{"function", Auto, "", "<function=finish>\n</function>", "", "", []want{{"finish", `{}`, "", false}}},
		{"qwen3_coder", Auto, "", "<tool_call>\n<function=finish>\n</function>\n</tool_call>", "", "", []want{{"finish", `{}`, "", false}}},
		{"the first call decides", Auto, "", "say <tool_call> and <function=x>:\n<function=execute_bash><parameter=command><tool_call>{}</tool_call></parameter></function>", "", "say <tool_call> and <function=x>:",
			[]want{{"execute_bash", `{"command":"<tool_call>{}</tool_call>"}`, "", false}}},
		{"bash", Auto, "", "so:\n```bash\nls\n```\n", "", "so:", []want{{"execute_bash", `{"command":"ls"}`, "", false}}},
		{"an example of bash", Auto, "", "run\n```bash\nls\n```\nto see", "", "run\n```bash\nls\n```\nto see", nil},
		{"a call beats bash", Auto, "", "<function=finish>\n</function>\n```bash\nls\n```", "", "```bash\nls\n```", []want{{"finish", `{}`, "", false}}},
		{"unread", Auto, "", "<tool_call>ls</tool_call>", "", "", []want{{"", "", "could not be read", false}}},
		{"cut", Auto, "length", "x <tool_call>", "", "x", []want{{"", "", "cut off", true}}},
	})
}
