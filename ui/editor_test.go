package ui

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestEditor(t *testing.T) {
	for _, c := range []struct{ name, start, keys, want string }{
		{"append", "ab", "c", "abc"},
		{"insert", "ac", "<left>b", "abc"},
		{"newline", "ab", "<left><enter>", "a\nb"},
		{"join back", "a\nb", "<home><backspace>", "ab"},
		{"join forward", "a\nb", "<up><end><delete>", "ab"},
		{"word", "rm -rf tests", "<ctrl+w>", "rm -rf "},
		{"to the start", "rm -rf", "<left><left><ctrl+u>", "rf"},
		{"to the end", "rm -rf", "<left><left><ctrl+k>", "rm -"},
		{"to the end of its line", "ab\ncd", "<up><home><ctrl+k>x", "x\ncd"},
		{"start of the line", "rm", "<ctrl+a>x", "xrm"},
		{"word back", "rm -rf tests", "<alt+b><alt+b>x", "rm x-rf tests"},
		{"word forward", "rm -rf tests", "<home><alt+f><alt+f>x", "rm -rfx tests"},
		{"up keeps within the line", "a\nlong", "<up>x", "ax\nlong"},
		{"tab in the text stays", "\tx", "<end>y", "\txy"},
		{"left over the line's start", "a\nb", "<home><left>x", "ax\nb"},
		{"right over the line's end", "a\nb", "<up><end><right>x", "a\nxb"},
		{"wide", "漢", "<left>x", "x漢"},
		{"at the start nothing is removed", "a", "<home><backspace>", "a"},
		{"at the end nothing is removed", "a", "<delete>", "a"},
	} {
		e := newEditor(c.start, false)
		for s := c.keys; s != ""; {
			name := s[:1]
			if s[0] == '<' {
				name = s[1:strings.IndexByte(s, '>')]
				s = s[len(name)+2:]
			} else {
				s = s[1:]
			}
			e.key(keyMsg(t, name))
		}
		if got := e.text(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	single := newEditor("a\nb", true)
	if single.key(keyMsg(t, "enter")) || single.text() != "a b" {
		t.Errorf("a single line took a newline: %q", single.text())
	}
}

// FuzzEditor: what is set comes back unchanged, and is drawn in the box.
func FuzzEditor(f *testing.F) {
	for _, s := range []string{"", "a\tb\n漢字\n", "\x1b[31mx", strings.Repeat("y", 200), "\x00\x01"} {
		f.Add(s)
	}
	th := testTheme("dark")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\r") || strings.ToValidUTF8(text, "?") != text {
			return
		}
		e := newEditor(text, false)
		if e.text() != text {
			t.Fatalf("%q came back as %q", text, e.text())
		}
		for _, r := range e.render(&th, 20, 4, true) {
			if ansi.StringWidth(r) != 20 {
				t.Fatalf("%q draws %q", text, r)
			}
			checkEscapes(t, r)
		}
	})
}

func TestArgs(t *testing.T) {
	raw := `{"command": "view", "path": "/a<b>", "view_range": [1, 20], "deep": {"x": null}, "n": 1e3}`
	args, ok := splitArgs(raw)
	if !ok || len(args) != 5 {
		t.Fatalf("splitArgs: %v %v", args, ok)
	}
	if args[1] != (arg{"path", "/a<b>", false}) || args[2] != (arg{"view_range", "[1, 20]", true}) || args[4].text != "1e3" {
		t.Errorf("args are %+v", args)
	}
	if got, err := joinArgs(args); err != nil || got != raw {
		t.Errorf("joined: %s %v", got, err)
	}
	args[2].text = "[1, "
	if _, err := joinArgs(args); err == nil || !strings.Contains(err.Error(), "view_range") {
		t.Errorf("bad JSON gives %v", err)
	}
	for _, bad := range []string{"", "[]", `"x"`, `{"a": `, `{"a": 1`, "null", `{"a"}`} {
		if _, ok := splitArgs(bad); ok {
			t.Errorf("splitArgs took %q", bad)
		}
	}
}

// FuzzArgs: taking apart and joining keeps the meaning.
func FuzzArgs(f *testing.F) {
	f.Add(`{"command": "ls"}`)
	f.Add(`{"a": [1, {"b": "c"}], "d": "\u001b\n"}`)
	f.Add(`{`)
	f.Fuzz(func(t *testing.T, raw string) {
		args, ok := splitArgs(raw)
		if !ok || !json.Valid([]byte(raw)) {
			return
		}
		joined, err := joinArgs(args)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		var a, b any
		if json.Unmarshal([]byte(raw), &a) != nil || json.Unmarshal([]byte(joined), &b) != nil {
			t.Fatalf("%q became %q", raw, joined)
		}
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if string(x) != string(y) {
			t.Fatalf("%s became %s", x, y)
		}
	})
}

func TestViewCall(t *testing.T) {
	for _, c := range []struct{ name, args, label, text string }{
		{"execute_bash", `{"command": "ls\npwd"}`, "bash", "ls\npwd"},
		{"execute_bash", `{"command": "C-c", "is_input": "true"}`, "input", "C-c"},
		{"bash", `{"command": "ls"}`, "bash", "ls"},
		{"str_replace_editor", `{"command":"view","path":"/a","view_range":[1,5]}`, "editor", "view /a lines 1–5\n"},
		{"str_replace_editor", `{"command":"str_replace","path":"/a","old_str":"x\ny\n","new_str":"z"}`, "editor", "str_replace /a\n- x\n- y\n+ z\n"},
		{"str_replace_editor", `{"command":"insert","path":"/a","insert_line":3,"new_str":"--z"}`, "editor", "insert /a after line 3\n+ --z\n"},
		{"str_replace_editor", `{"command":"create","path":"/a","file_text":"1\n2"}`, "editor", "create /a\n+ 1\n+ 2\n"},
		{"finish", `{"message":"done"}`, "finish", "done"},
		{"search", `{"search_terms":["a","b"],"line_nums":[3]}`, "search", "line_nums: [3]\nsearch_terms: [\"a\",\"b\"]"},
		{"bash", `{"command": `, "bash", `{"command": `},
	} {
		if v := viewCall(callOf(c.name, c.args)); v.label != c.label || v.text != c.text {
			t.Errorf("%s %s: %q %q", c.name, c.args, v.label, v.text)
		}
	}
}

// FuzzViewCall: no arguments break it.
func FuzzViewCall(f *testing.F) {
	f.Add("str_replace_editor", `{"command":"view","view_range":[1]}`)
	f.Add("bash", `{"command":null}`)
	f.Fuzz(func(_ *testing.T, name, args string) { viewCall(callOf(name, args)) })
}

// A field without the keys shows how its text begins and how much more there is: with
// its cursor at the end, a text that ends with empty lines would look like none.
func TestEditorHead(t *testing.T) {
	th := testTheme("none")
	for _, c := range []struct {
		text   string
		single bool
		h      int
		want   string
	}{
		{"one\ntwo\nthree\n\n\n", false, 3, "one|two|⋯ 4 more rows"},
		{"one\ntwo\n\n", false, 4, "one|two||"},
		{"one\ntwo", false, 1, "one …"},
		{"a text that is longer than its row", true, 1, "a text that is longe…"},
	} {
		e := newEditor(c.text, c.single)
		rows := e.render(&th, 21, c.h, false)
		for i := range rows {
			rows[i] = strings.TrimRight(ansi.Strip(rows[i]), " ")
		}
		if got := strings.Join(rows, "|"); got != c.want {
			t.Errorf("%q in %d rows: %q, want %q", c.text, c.h, got, c.want)
		}
	}
}

// A line that is longer than its field is seen whole while it is typed.
func TestLongLineInForm(t *testing.T) {
	b := open(t, fakeWhole(), 80, 24, nil)
	b.keys("b<ctrl+u>tool=str_replace_editor args~/a long expression that needs more than one row of it/")
	view := ansi.Strip(b.w.View())
	if !strings.Contains(view, "▏ tool=str_replace_editor args~/a long") || !strings.Contains(view, "row of it/") {
		t.Errorf("the line is cut:\n%s", view)
	}
}
