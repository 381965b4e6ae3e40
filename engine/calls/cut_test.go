package calls

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// write is a reply with thinking, a sentence and two calls of the shell tool,
// the second's command being ls, as a model of that format writes it.
func write(f Format, command string) string {
	var calls string
	switch f {
	case Hermes:
		for _, c := range []string{command, "ls"} {
			calls += "<tool_call>\n{\"name\": \"execute_bash\", \"arguments\": {\"command\": " + quote(c) + "}}\n</tool_call>\n"
		}
	case Function, Qwen3Coder:
		for _, c := range []string{command, "ls"} {
			one := "<function=execute_bash>\n<parameter=command>\n" + c + "\n</parameter>\n<parameter=is_input>false</parameter>\n</function>"
			if f == Qwen3Coder {
				one = "<tool_call>\n" + one + "\n</tool_call>"
			}
			calls += one + "\n"
		}
	case Bash:
		calls = "```bash\n" + command + "\n```\n"
	}
	return "<think>\nI look.\n</think>\n\nNow I run it.\n" + calls
}

// commands are arguments with all that could mislead a reader.
var commands = []string{
	"cat a.txt",
	"a\n\n  b \\\"c\\\" 'd' {} [] } ] \\",
	"x </tool_call> <tool_call> {\"name\": \"rm\"} </parameter> x </function> x <function=rm> x </think> <think>",
	"<tool_call>\n{\"name\": \"rm\", \"arguments\": {}}\n</tool_call>",
	"<tool_call>\n<function=rm>\n<parameter=a>\n1\n</parameter>\n<parameter=b>\n2\n</parameter>\n</function>\n</tool_call>",
	"</think>\n<function=rm>\n<parameter=command>1</parameter>\n</function>",
	"cat <<EOF\n```python\nx\n```\nEOF",
}

// halves cannot be told from the call's own tags, where those are not JSON.
const halves = "</parameter> </function> <tool_call> <function=rm> <parameter=y>"

// A reply that is cut off anywhere runs no call but those it holds whole.
func TestCut(t *testing.T) {
	for _, f := range []Format{Hermes, Function, Qwen3Coder, Bash, Auto} {
		list, written := commands, f
		if f == Auto {
			written = Hermes
		}
		if written == Hermes {
			list = append(list[:len(list):len(list)], halves)
		}
		for _, command := range list {
			text := write(written, command)
			whole := Parse(f, text, kit, "stop")
			for _, c := range whole.Calls {
				if c.Problem != "" {
					t.Fatalf("%s: the whole reply has a problem: %+v", f, c)
				}
			}
			same(t, whole.Calls[0].Arguments, wanted(written, command))
			for n := range text {
				if err := prefixFits(f, text[:n], whole); err != "" {
					t.Errorf("%s, cut at %d of %q: %s", f, n, text, err)
				}
			}
		}
	}
}

func wanted(f Format, command string) string {
	if f == Hermes || f == Bash {
		return `{"command":` + quote(command) + `}`
	}
	return `{"command":` + quote(command) + `,"is_input":"false"}`
}

// prefixFits says what is wrong with how a cut-off text is read.
func prefixFits(f Format, text string, whole Reply) string {
	r := Parse(f, text, kit, "length")
	for i, c := range r.Calls {
		switch {
		case c.Problem == "" && (i >= len(whole.Calls) || c != whole.Calls[i]):
			return fmt.Sprintf("call %d would run: %+v", i, c)
		case c.Problem != "" && i != len(r.Calls)-1:
			return fmt.Sprintf("call %d of %d has a problem: %+v", i, len(r.Calls), c)
		case c.Problem != "" && !c.Cut:
			return fmt.Sprintf("not known to be cut off: %+v", c)
		}
	}
	return ""
}

// FuzzReply reads any text in any format.
func FuzzReply(f *testing.F) {
	for _, form := range Formats() {
		for _, command := range commands {
			f.Add(string(form), write(form, command), "stop")
			f.Add(string(form), write(form, command)[30:], "length")
			f.Add(string(form), strings.Repeat(command, 3), "length")
		}
	}
	f.Fuzz(func(t *testing.T, format, text, finish string) {
		r := Parse(Format(format), text, kit, finish)
		if again := Parse(Format(format), text, kit, finish); fmt.Sprint(r) != fmt.Sprint(again) {
			t.Errorf("read twice: %+v, %+v", r, again)
		}
		if len(r.Calls) == 0 && r.Reasoning == "" && !strings.Contains(text, "<think>") && !strings.Contains(text, "</think>") && r.Content != text {
			t.Errorf("content changed: %q", r.Content)
		}
		for _, c := range r.Calls {
			var object map[string]any
			switch {
			case c.Problem == "" && (json.Unmarshal([]byte(c.Arguments), &object) != nil || object == nil || !utf8.ValidString(c.Arguments)):
				t.Errorf("arguments are not a JSON object: %+v", c)
			case c.Cut && (c.Problem == "" || finish != "length"):
				t.Errorf("cut off: %+v, finish %q", c, finish)
			case c.Problem != "" && !strings.Contains(text, c.Arguments):
				t.Errorf("not the text of the call: %+v", c)
			}
		}
		p := &parser{format: Format(format), tools: kit, cut: finish == "length"}
		at := 0
		for _, c := range p.find(text) {
			if c.start < at || c.end <= c.start || c.end > len(text) {
				t.Errorf("a call at [%d, %d) behind %d", c.start, c.end, at)
			}
			at = c.end
		}
	})
}

// FuzzCommand writes a call with any argument and reads it, whole and cut.
func FuzzCommand(f *testing.F) {
	for _, command := range commands {
		f.Add(command, uint16(len(command)))
	}
	f.Fuzz(func(t *testing.T, command string, n uint16) {
		command = strings.ToValidUTF8(command, "?")
		for _, form := range []Format{Hermes, Function, Qwen3Coder, Bash} {
			text := write(form, command)
			whole := Parse(form, text, kit, "stop")
			plain := !strings.Contains(command, "<")
			if form == Bash {
				plain = !strings.Contains(command, "```")
			}
			if form == Hermes || plain {
				if len(whole.Calls) == 0 || whole.Calls[0].Problem != "" {
					t.Fatalf("%s: not read: %+v", form, whole)
				}
				same(t, whole.Calls[0].Arguments, wanted(form, command))
				if whole.Reasoning != "I look." || whole.Content != "Now I run it." {
					t.Errorf("%s: %+v", form, whole)
				}
				if err := prefixFits(form, text[:min(int(n), len(text))], whole); err != "" {
					t.Errorf("%s, cut at %d of %q: %s", form, n, text, err)
				}
			}
		}
	})
}

// BenchmarkParse reads texts of a megabyte: replies, and what could make a
// reader look at the same text again and again.
func BenchmarkParse(b *testing.B) {
	const size = 1 << 20
	for _, c := range []struct{ what, text string }{
		{"reply", write(Qwen3Coder, strings.Repeat("print(1)\n", size/9))},
		{"prose", strings.Repeat("some words <b> ", size/15)},
		{"tool_call", strings.Repeat("<tool_call>", size/11)},
		{"tool_call brace", strings.Repeat(`<tool_call>{"`, size/13)},
		{"tool_call object", strings.Repeat(`<tool_call>{"name":"a"}`, size/23)},
		{"tool_call escape", `<tool_call>{"</tool_call>` + strings.Repeat(`<tool_call>{\"</tool_call>`, size/25)},
		{"tool_call phases", strings.Repeat(`<tool_call>{","<tool_call>{":"</tool_call>`, size/43)},
		{"objects", "<tool_call>" + strings.Repeat(`{"name":"a"}`, size/12)},
		{"string without end", `<tool_call>{"name":"` + strings.Repeat("<tool_call>", size/11)},
		{"nested", "<tool_call>{" + strings.Repeat(`"a":{`, size/5)},
		{"close", strings.Repeat("</tool_call>", size/12)},
		{"function", strings.Repeat("<function=a>", size/12)},
		{"function parameter", strings.Repeat("<function=a><parameter=b>", size/25)},
		{"parameter", "<function=a>" + strings.Repeat("<parameter=b>", size/13)},
		{"parameters", "<function=types>" + strings.Repeat("<parameter=s></parameter>", size/25) + "</function>"},
		{"parameter ends", "<function=a><parameter=b>" + strings.Repeat("</parameter>", size/12)},
		{"function ends", strings.Repeat("<function=a></function>", size/23)},
		{"unnamed", strings.Repeat("<function=", size/10)},
		{"white space", strings.Repeat("<tool_call>", 1000) + strings.Repeat(" ", size)},
		{"think", strings.Repeat("</think>", size/8)},
		{"think and call", strings.Repeat(`<tool_call>{"name":"</think>"}`, size/30)},
		{"fences", strings.Repeat("```bash\n", size/8)},
		{"blocks", strings.Repeat("```bash\n```\n", size/12)},
		{"backticks", strings.Repeat("`", size)},
	} {
		for _, f := range []Format{Hermes, Function, Qwen3Coder, Bash, Auto} {
			b.Run(c.what+"/"+string(f), func(b *testing.B) {
				b.SetBytes(int64(len(c.text)))
				for b.Loop() {
					Parse(f, c.text, kit, "stop")
				}
			})
		}
	}
}

// Values put together from tags are read as they are or not run; only one that
// holds where a call could go on (</parameter> before another parameter or the
// function's end) may be read otherwise. Cut off, nothing else runs either.
func TestMixedTags(t *testing.T) {
	pieces := []string{"<tool_call>", "</tool_call>", "<function=a>", "</function>", "<parameter=b>", "</parameter>", "</think>", "x", "\n", " "}
	random := rand.New(rand.NewPCG(1, 2))
	read := 0
	for range 200 {
		var b strings.Builder
		for range random.IntN(8) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		command := b.String()
		for _, f := range []Format{Function, Qwen3Coder} {
			text := write(f, command)
			whole := Parse(f, text, kit, "stop")
			clear := true
			for _, c := range whole.Calls {
				clear = clear && c.Problem == ""
			}
			if !clear {
				continue
			}
			if !goesOn.MatchString(command) {
				read++
				same(t, whole.Calls[0].Arguments, wanted(f, command))
			}
			for n := range text {
				for i, c := range Parse(f, text[:n], kit, "length").Calls {
					if c.Problem == "" && (i >= len(whole.Calls) || c != whole.Calls[i]) {
						t.Errorf("%s, cut at %d of %q: %+v would run", f, n, text, c)
					}
				}
			}
		}
		if t.Failed() {
			return
		}
	}
	if read == 0 {
		t.Error("no value was read")
	}
}

var goesOn = regexp.MustCompile(`</parameter>\s*(<parameter=b>|</function>)`)
