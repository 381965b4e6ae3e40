package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rollbench/engine/calls"
	"rollbench/engine/infer"
	"rollbench/sessions"
)

// vocabulary of the fake endpoint: a marker in angle or square brackets is one
// id, anything else one id a byte.
type vocabulary struct{ marks []string }

var mark = regexp.MustCompile(`<\|[a-z_]+\|>|</s>|<think>|</think>|<tool_call>|</tool_call>|\[/?[A-Z_]+\]`)

func (v *vocabulary) ids(text string) []int32 {
	var out []int32
	for len(text) > 0 {
		at := mark.FindStringIndex(text)
		plain := len(text)
		if at != nil {
			plain = at[0]
		}
		for _, b := range []byte(text[:plain]) {
			out = append(out, int32(b))
		}
		if at == nil {
			break
		}
		m := text[at[0]:at[1]]
		if !slices.Contains(v.marks, m) {
			v.marks = append(v.marks, m)
		}
		out = append(out, int32(1000+slices.Index(v.marks, m)))
		text = text[at[1]:]
	}
	return out
}

func (v *vocabulary) text(ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		if id >= 1000 {
			b.WriteString(v.marks[id-1000])
		} else {
			b.WriteByte(byte(id))
		}
	}
	return b.String()
}

// templated is an endpoint with a chat template, and a policy that says its
// lines. Its lines are not what the template would make of them.
type templated struct {
	vocabulary
	template func(m []infer.Message, generate bool) (string, error)
	lines    []string
	asked    []string // prompts
}

func (f *templated) Tokenize(_ context.Context, m []infer.Message, _ []infer.Tool, generate bool) ([]int32, error) {
	text, err := f.template(m, generate)
	return f.ids(text), err
}

func (f *templated) Detokenize(_ context.Context, ids []int32) (string, error) {
	return f.text(ids), nil
}

func (f *templated) Chat(context.Context, infer.Request) (infer.Reply, error) {
	return infer.Reply{}, errors.New("chat is not used in token mode")
}

func (f *templated) Complete(_ context.Context, r infer.TokenRequest) (infer.Reply, error) {
	line := f.lines[len(f.asked)]
	f.asked = append(f.asked, f.text(r.Prompt))
	out := f.ids(line)
	return infer.Reply{PromptIDs: r.Prompt, OutputIDs: out, Raw: line, FinishReason: "stop", PromptTokens: len(r.Prompt), OutputTokens: len(out)}, nil
}

func callText(c infer.ToolCall) string {
	return fmt.Sprintf(`{"name": %q, "arguments": %s}`, c.Name, c.Arguments)
}

// qwen3 drops the thinking of turns before the last user message, gives the
// last reply an empty one, and puts all results of a turn into one user turn.
func qwen3(messages []infer.Message, generate bool) (string, error) {
	var b strings.Builder
	lastUser := 0
	for i, m := range messages {
		if m.Role == "user" {
			lastUser = i
		}
	}
	for i, m := range messages {
		switch m.Role {
		case "system", "user":
			fmt.Fprintf(&b, "<|im_start|>%s\n%s<|im_end|>\n", m.Role, m.Content)
		case "assistant":
			b.WriteString("<|im_start|>assistant\n")
			if i > lastUser && (m.Reasoning != "" || i == len(messages)-1) {
				fmt.Fprintf(&b, "<think>\n%s\n</think>\n\n", m.Reasoning)
			}
			b.WriteString(m.Content)
			for _, c := range m.ToolCalls {
				fmt.Fprintf(&b, "\n<tool_call>\n%s\n</tool_call>", callText(c))
			}
			b.WriteString("<|im_end|>\n")
		case "tool":
			if messages[i-1].Role != "tool" {
				b.WriteString("<|im_start|>user")
			}
			fmt.Fprintf(&b, "\n[RESULT]%s[/RESULT]", m.Content)
			if i == len(messages)-1 || messages[i+1].Role != "tool" {
				b.WriteString("<|im_end|>\n")
			}
		}
	}
	if generate {
		b.WriteString("<|im_start|>assistant\n")
	}
	return b.String(), nil
}

// llama ends turns by one marker and nothing after it, and opens thinking itself.
func llama(messages []infer.Message, generate bool) (string, error) {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "<|header|>%s<|end_header|>\n\n%s", m.Role, m.Content)
		for _, c := range m.ToolCalls {
			b.WriteString(callText(c))
		}
		b.WriteString("<|eot|>")
	}
	if generate {
		b.WriteString("<|header|>assistant<|end_header|>\n\n<think>\n")
	}
	return b.String(), nil
}

// mistral wants ids of nine letters and digits, and knows no roles.
func mistral(messages []infer.Message, _ bool) (string, error) {
	var b strings.Builder
	for _, m := range messages {
		switch m.Role {
		case "system", "user":
			b.WriteString("[INST]" + m.Content + "[/INST]")
		case "assistant":
			b.WriteString(m.Content)
			for i, c := range m.ToolCalls {
				if !regexp.MustCompile(`^[a-zA-Z0-9]{9}$`).MatchString(c.ID) {
					return "", fmt.Errorf("tool call id %q", c.ID)
				}
				if i == 0 {
					b.WriteString("[TOOL_CALLS]")
				}
				b.WriteString(callText(c) + c.ID)
			}
			b.WriteString("</s>")
		case "tool":
			b.WriteString("[TOOL_RESULTS]" + m.Content + m.ToolCallID + "[/TOOL_RESULTS]")
		}
	}
	return b.String(), nil
}

// In token mode a prompt is the last one, what was sampled to the letter, and
// what the template puts after it: all results of a turn as one block, the end
// of turn once. Thinking stays.
func TestTokenMode(t *testing.T) {
	const think, odd = "<think>\nhm\n</think>\n\n", `{"name":"bash","arguments":{"a":1}}` // spaced unlike the template's
	for _, c := range []struct {
		name     string
		template func([]infer.Message, bool) (string, error)
		line     func(i int, call string) string // what the policy says; call is its JSON
		first    string
		after    []string // what stands between the replies
	}{
		{"qwen3", qwen3,
			func(_ int, call string) string {
				return think + "I look.\n<tool_call>\n" + call + "\n</tool_call>\n<tool_call>\n" + odd + "\n</tool_call><|im_end|>"
			},
			"<|im_start|>system\nsys<|im_end|>\n<|im_start|>user\ndo it<|im_end|>\n<|im_start|>assistant\n",
			[]string{"\n<|im_start|>user\n[RESULT]ran bash {\"a\": 1}[/RESULT]\n[RESULT]ran bash {\"a\":1}[/RESULT]<|im_end|>\n<|im_start|>assistant\n",
				"\n<|im_start|>user\nNo tool was called. Go on with the task by calling a tool; when the work is done, call the finish tool.<|im_end|>\n<|im_start|>assistant\n"}},
		{"llama", llama,
			func(i int, call string) string {
				if i == 1 {
					return "so</think>Hm."
				}
				return "so</think><tool_call>" + call + "</tool_call><|eot|>"
			},
			"<|header|>system<|end_header|>\n\nsys<|eot|><|header|>user<|end_header|>\n\ndo it<|eot|><|header|>assistant<|end_header|>\n\n<think>\n",
			[]string{"<|header|>tool<|end_header|>\n\nran bash {\"a\": 1}<|eot|><|header|>assistant<|end_header|>\n\n<think>\n",
				// The second reply ended without an end of turn.
				"<|eot|><|header|>user<|end_header|>\n\nNo tool was called. Go on with the task by calling a tool; when the work is done, call the finish tool.<|eot|><|header|>assistant<|end_header|>\n\n<think>\n"}},
		{"mistral", mistral,
			func(_ int, call string) string { return "<tool_call>" + call + "</tool_call></s>" },
			"[INST]sys[/INST][INST]do it[/INST]",
			[]string{"[TOOL_RESULTS]ran bash {\"a\": 1}t0001c000[/TOOL_RESULTS]",
				"[INST]No tool was called. Go on with the task by calling a tool; when the work is done, call the finish tool.[/INST]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			second := "Hm.</s>"
			switch c.name {
			case "qwen3":
				second = "Hm.<|im_end|>"
			case "llama":
				second = c.line(1, "")
			}
			lines := []string{c.line(0, `{"name": "bash", "arguments": {"a": 1}}`), second, c.line(2, `{"name": "finish", "arguments": {}}`)}
			f := &templated{template: c.template, lines: lines}
			b := newBench(t)
			b.Model, b.Tokens, b.Format = f, true, calls.Auto
			b.System, b.Instruction, b.Budget = "sys", "do it", 10000
			if out := b.run(t); out.Reason != sessions.FinishTool {
				t.Fatalf("ended by %s: %s", out.Reason, out.Detail)
			}
			want := c.first
			for i, prompt := range f.asked {
				if i > 0 {
					want += lines[i-1] + c.after[i-1]
				}
				if prompt != want {
					t.Errorf("prompt %d is\n%q, want\n%q", i+1, prompt, want)
				}
			}
			for i := range lines {
				turn := b.rec.turns[fmt.Sprintf("%d.1", i+1)]
				if f.text(turn.OutputIDs) != lines[i] || turn.NewSample {
					t.Errorf("turn %d: %q, new sample %v", i+1, f.text(turn.OutputIDs), turn.NewSample)
				}
			}
			if turn := b.rec.turns["2.1"]; turn.Content != "Hm." {
				t.Errorf("the end of turn stands in the text: %q", turn.Content)
			}
			if got := b.rec.kinds(sessions.KindBreak); got != nil {
				t.Errorf("breaks %q", got)
			}
		})
	}
}

// A template without an end of turn cannot be continued: the prompt is rendered
// whole, which the check of the prefix judges.
func TestTokenModeWithoutEndOfTurn(t *testing.T) {
	plain := func(messages []infer.Message, _ bool) (string, error) {
		var b strings.Builder
		for _, m := range messages {
			b.WriteString(m.Content) // and no calls
		}
		return b.String(), nil
	}
	f := &templated{template: plain, lines: []string{`<tool_call>{"name": "bash", "arguments": {}}</tool_call>`, `<tool_call>{"name": "finish", "arguments": {}}</tool_call>`}}
	b := newBench(t)
	b.Model, b.Tokens, b.Format = f, true, calls.Auto
	if out := b.run(t); out.Reason != sessions.FinishTool {
		t.Fatalf("ended by %s: %s", out.Reason, out.Detail)
	}
	if turn := b.rec.turns["2.1"]; !turn.NewSample {
		t.Error("a prompt without the reply counts as its continuation")
	}
	if got := b.rec.kinds(sessions.KindBreak); len(got) != 1 {
		t.Errorf("breaks %q", got)
	}
}

// An endpoint that reads no calls returns them as text: they are read here, and
// the conversation carries them as text.
func TestCallsAsText(t *testing.T) {
	const text = "I look.\n<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"a\": 1}}\n</tool_call>"
	b := newBench(t, say(text), call("finish", `{}`))
	b.Format = calls.Auto
	b.run(t)
	turn := b.rec.turns["1.1"]
	if !turn.Inline || turn.Content != text || len(turn.Calls) != 1 || turn.Calls[0].Name != "bash" || turn.Calls[0].Arguments != `{"a": 1}` {
		t.Errorf("%+v", turn)
	}
	sent := b.model.asked[1].Messages
	reply, result := sent[len(sent)-2], sent[len(sent)-1]
	if reply.Content != text || reply.ToolCalls != nil || result.Role != "user" || result.Content != `ran bash {"a": 1}` {
		t.Errorf("sent %+v, %+v", reply, result)
	}
	if !slices.Equal(b.tools.ran, []string{`bash {"a": 1}`, "finish {}"}) {
		t.Errorf("ran %q", b.tools.ran)
	}
}

// With format none the text stays what it is.
func TestFormatNone(t *testing.T) {
	b := newBench(t, say("<tool_call>{\"name\": \"bash\", \"arguments\": {}}</tool_call>"), call("finish", `{}`))
	b.Format = calls.None
	b.run(t)
	if turn := b.rec.turns["1.1"]; turn.Inline || turn.Calls != nil {
		t.Errorf("%+v", turn)
	}
}

// An edited call in token mode: the reply made by a person carries the
// template's ids, and the next prompt goes on from them; what the policy
// sampled before stays superseded.
func TestEditInTokenMode(t *testing.T) {
	f := &templated{template: mistral, lines: []string{
		`<tool_call>{"name": "bash", "arguments": {"a": 1}}</tool_call></s>`, `<tool_call>{"name": "finish", "arguments": {}}</tool_call></s>`}}
	b := newBench(t)
	b.Model, b.Tokens, b.Format = f, true, calls.Auto
	b.System, b.Instruction, b.Budget = "sys", "do it", 10000
	b.Gate.Pause()
	sitting(t, b, stepper(t, b, "into"), func() {
		if err := b.Gate.Edit(0, "bash", `{"a": 2}`); err != nil {
			t.Error(err)
		}
	}, b.Gate.Continue)
	const first = "[INST]sys[/INST][INST]do it[/INST]"
	const edited = `[TOOL_CALLS]{"name": "bash", "arguments": {"a": 2}}t0001c000</s>`
	turn := b.rec.turns["1.2"]
	if f.text(turn.OutputIDs) != edited || turn.Source != sessions.FromOperator || turn.Logprobs != nil || !turn.NewSample {
		t.Errorf("the edited reply: %q %+v", f.text(turn.OutputIDs), turn)
	}
	if old := b.rec.turns["1.1"]; !old.Superseded || f.text(old.OutputIDs) != f.lines[0] {
		t.Errorf("the sampled reply: %+v", old)
	}
	if want := first + edited + "[TOOL_RESULTS]ran bash {\"a\": 2}t0001c000[/TOOL_RESULTS]"; len(f.asked) != 2 || f.asked[1] != want {
		t.Errorf("prompts %q, want the second to be %q", f.asked, want)
	}
}

// What the endpoint said of the end of the sampled reply is not said of the one that a
// person has made of it: that has the template's end of turn, whole and once.
func TestEditOfAReplyThatEndedItsTurn(t *testing.T) {
	lines := func(messages []infer.Message, generate bool) (string, error) {
		text, err := qwen3(messages, generate)
		return strings.ReplaceAll(text, "<|im_end|>", "\n<|im_end|>"), err
	}
	f := &ends{templated{template: lines, lines: []string{
		`<tool_call>{"name": "bash", "arguments": {"a": 1}}</tool_call><|im_end|>`, `<tool_call>{"name": "finish", "arguments": {}}</tool_call><|im_end|>`}}}
	b := newBench(t)
	b.Model, b.Tokens, b.Format, b.Budget = f, true, calls.Auto, 10000
	b.Gate.Pause()
	sitting(t, b, stepper(t, b, "into"), must(t, func() error { return b.Gate.Edit(0, "bash", `{"a": 2}`) }), b.Gate.Continue)
	const after = "\n<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"a\": 2}}\n</tool_call>\n<|im_end|>\n<|im_start|>user\n[RESULT]"
	if len(f.asked) != 2 || !strings.Contains(f.asked[1], after) {
		t.Errorf("prompts %q, want the second to go on with %q", f.asked, after)
	}
	if turn := b.rec.turns["1.2"]; turn.EndsTurn || !b.rec.turns["1.1"].EndsTurn {
		t.Errorf("the endpoint is said to have ended the edited reply: %+v", turn)
	}
}

// A resumed loop goes on from the recorded ids.
func TestTokenModeRestored(t *testing.T) {
	f := &templated{template: mistral, lines: []string{`<tool_call>{"name": "bash", "arguments": {"a": 1}}</tool_call></s>`, "Hm.</s>"}}
	b := newBench(t)
	b.Model, b.Tokens, b.Format = f, true, calls.Auto
	b.System, b.Instruction, b.Budget, b.MaxTurns = "sys", "do it", 10000, 1
	b.run(t)
	again := newBench(t)
	again.Model, again.Tokens, again.Format = f, true, calls.Auto
	again.System, again.Instruction, again.Budget, again.MaxTurns, again.Reminder = "sys", "do it", 10000, 2, RemindOff
	again.Restore([]sessions.Turn{b.rec.turns["1.1"]})
	again.run(t)
	if want := f.asked[0] + f.lines[0] + "[TOOL_RESULTS]ran bash {\"a\": 1}t0001c000[/TOOL_RESULTS]"; f.asked[1] != want {
		t.Errorf("prompt %q, want %q", f.asked[1], want)
	}
	if again.rec.turns["2.1"].NewSample {
		t.Error("a resumed sample counts as a new one")
	}
}

// ipython ends a turn with calls by a marker of its own, as Llama 3.1's template
// does for its built-in tools.
func ipython(messages []infer.Message, generate bool) (string, error) {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "<|header|>%s<|end_header|>\n\n%s", m.Role, m.Content)
		for _, c := range m.ToolCalls {
			b.WriteString(callText(c))
		}
		if m.ToolCalls != nil {
			b.WriteString("<|eom|>")
		} else {
			b.WriteString("<|eot|>")
		}
	}
	if generate {
		b.WriteString("<|header|>assistant<|end_header|>\n\n")
	}
	return b.String(), nil
}

// Whatever ends a turn with calls, what its tools returned stands in the next
// prompt.
func TestResultsAfterAnotherEndOfTurn(t *testing.T) {
	for _, end := range []string{"<|eom|>", "<|eot|>"} {
		f := &templated{template: ipython, lines: []string{
			`<tool_call>{"name": "bash", "arguments": {"a": 1}}</tool_call>` + end, `<tool_call>{"name": "finish", "arguments": {}}</tool_call>` + end}}
		b := newBench(t)
		b.Model, b.Tokens, b.Format, b.Budget = f, true, calls.Auto, 10000
		b.run(t)
		if !strings.Contains(f.asked[1], `ran bash {"a": 1}`) {
			t.Errorf("ended by %s, the result is not in the next prompt:\n%q", end, f.asked[1])
		}
	}
}

// A reply that a stop text ended has no end of turn, whatever its last token
// is: the template's follows in full.
func TestStopTextThatEndsLikeATurn(t *testing.T) {
	const line = `<tool_call>{"name": "bash", "arguments": {"a": 1}}</tool_call>` + "\n"
	f := &templated{template: qwen3, lines: []string{line, `<tool_call>{"name": "finish", "arguments": {}}</tool_call><|im_end|>`}}
	b := newBench(t)
	b.Model, b.Tokens, b.Format, b.Budget = f, true, calls.Auto, 10000
	b.run(t)
	if want := f.asked[0] + line + "<|im_end|>\n<|im_start|>user\n[RESULT]"; !strings.HasPrefix(f.asked[1], want) {
		t.Errorf("prompt\n%q, want it to begin with\n%q", f.asked[1], want)
	}
}

// A model may have more than one end of turn (Llama's <|eom_id|>, Qwen's
// <|endoftext|>). One that the endpoint says has ended the turn does so: it is
// no text of the reply, and no second one follows.
func TestOtherEndOfTurn(t *testing.T) {
	f := &ends{templated{template: llama, lines: []string{
		`</think>So.<|eom|>`, `</think><tool_call>{"name": "finish", "arguments": {}}</tool_call><|eot|>`}}}
	b := newBench(t)
	b.Model, b.Tokens, b.Format, b.Budget = f, true, calls.Auto, 10000
	b.run(t)
	if turn := b.rec.turns["1.1"]; turn.Content != "So." {
		t.Errorf("content %q", turn.Content)
	}
	if strings.Contains(f.asked[1], "<|eom|><|eot|>") {
		t.Errorf("the turn ends twice:\n%q", f.asked[1])
	}
}

// ends says that the last id of a reply ended its turn.
type ends struct{ templated }

func (f *ends) Complete(ctx context.Context, r infer.TokenRequest) (infer.Reply, error) {
	reply, err := f.templated.Complete(ctx, r)
	reply.EndsTurn = true
	return reply, err
}

// An edit of a call in the text keeps the thinking that the endpoint took out
// of it.
func TestEditOfCallAsText(t *testing.T) {
	first := say(`<tool_call>{"name": "bash", "arguments": {"a": 1}}</tool_call>`)
	first.Reasoning = "hm"
	b := newBench(t, first, call("finish", `{}`))
	b.Format = calls.Auto
	b.Gate.Pause()
	sitting(t, b, stepper(t, b, "into"), func() {
		if err := b.Gate.Edit(0, "bash", `{"a": 2}`); err != nil {
			t.Error(err)
		}
	}, b.Gate.Continue)
	if turn := b.rec.turns["1.2"]; turn.Reasoning != "hm" || turn.Content != "" || turn.Inline {
		t.Errorf("%+v", turn)
	}
}

// alternating is a template that takes a user's message only after a reply
// without calls, as Mistral's do.
func alternating(messages []infer.Message, generate bool) (string, error) {
	users := 0
	for _, m := range messages {
		if m.Role == "user" || m.Role == "assistant" && m.ToolCalls == nil {
			if (m.Role == "user") != (users%2 == 0) {
				return "", &infer.Error{Kind: infer.BadRequest, Status: 400, Message: "conversation roles must alternate"}
			}
			users++
		}
	}
	return mistral(messages, generate)
}

// What the harness adds by default is no message that such a template refuses:
// the limit that the note is about ends the trajectory, not the endpoint.
func TestNotesOfAnAlternatingTemplate(t *testing.T) {
	f := &templated{template: alternating, lines: []string{
		`<tool_call>{"name": "bash", "arguments": {"a": 1}}</tool_call></s>`, `<tool_call>{"name": "bash", "arguments": {"a": 2}}</tool_call></s>`}}
	b := newBench(t)
	b.Model, b.Tokens, b.Format, b.Budget, b.MaxTurns = f, true, calls.Auto, 10000, 2
	if out := b.run(t); out.Reason != sessions.MaxIterationsReached {
		t.Errorf("ended by %s: %s", out.Reason, out.Detail)
	}
}

// strict refuses a conversation with arguments that are no JSON, as vLLM does.
type strict struct{ *script }

func (s strict) Chat(ctx context.Context, r infer.Request) (infer.Reply, error) {
	for _, m := range r.Messages {
		for _, c := range m.ToolCalls {
			if !json.Valid([]byte(c.Arguments)) {
				return infer.Reply{}, &infer.Error{Kind: infer.BadRequest, Status: 400, Message: "Expecting ',' delimiter"}
			}
		}
	}
	return s.script.Chat(ctx, r)
}

// A malformed call is the model's mistake, which it reads about: it does not
// end the trajectory as if the endpoint were lost.
func TestMalformedArgumentsGoBack(t *testing.T) {
	b := newBench(t, call("bash", `{"command": "a" "b"}`), call("finish", `{}`))
	b.Model = strict{b.model}
	if out := b.run(t); out.Reason != sessions.FinishTool {
		t.Errorf("ended by %s: %s", out.Reason, out.Detail)
	}
}

// An edit on a later turn renders nothing that was sampled before it again: the
// thinking of earlier turns stays.
func TestLateEditInTokenMode(t *testing.T) {
	const line = "<think>\nhm\n</think>\n\n" + `<tool_call>{"name": "bash", "arguments": {"a": 1}}</tool_call><|im_end|>`
	f := &templated{template: qwen3, lines: []string{line, line, `<tool_call>{"name": "finish", "arguments": {}}</tool_call><|im_end|>`}}
	b := newBench(t)
	b.Model, b.Tokens, b.Format, b.Budget = f, true, calls.Auto, 10000
	b.Gate.Pause()
	into := stepper(t, b, "into")
	sitting(t, b, into, into, into, into, func() {
		if err := b.Gate.Edit(0, "bash", `{"a": 2}`); err != nil {
			t.Error(err)
		}
	}, b.Gate.Continue)
	if !strings.HasPrefix(f.asked[2], f.asked[1]) {
		t.Errorf("the prompt after the edit begins\n%q, and the one before was\n%q", f.asked[2], f.asked[1])
	}
	if turn := b.rec.turns["2.2"]; turn.OutputIDs == nil {
		t.Errorf("the edited reply has no ids: %q", b.rec.kinds(sessions.KindWarning))
	}
}

// away fails the first question about the end of a turn.
type away struct {
	templated
	failed bool
}

func (f *away) Tokenize(ctx context.Context, m []infer.Message, tools []infer.Tool, generate bool) ([]int32, error) {
	if !generate && !f.failed {
		f.failed = true
		return nil, &infer.Error{Kind: infer.Unavailable}
	}
	return f.templated.Tokenize(ctx, m, tools, generate)
}

// A reply that was sampled is never sampled again for want of a side question.
func TestReplySurvivesAnOutageOfTokenize(t *testing.T) {
	const line = `<tool_call>{"name": "finish", "arguments": {}}</tool_call><|im_end|>`
	f := &away{templated: templated{template: qwen3, lines: []string{line, line}}}
	b := newBench(t)
	b.Model, b.Tokens, b.Format, b.Budget, b.Outage = f, true, calls.Auto, 10000, time.Minute
	sitting(t, b)
	if len(f.asked) != 1 {
		t.Errorf("the model was asked %d times for one reply", len(f.asked))
	}
}
