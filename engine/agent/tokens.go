package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rollbench/engine/calls"
	"rollbench/engine/infer"
	"rollbench/sessions"
)

// In token mode each prompt is the last prompt, the ids that were sampled, and
// the ids of what came after them. Nothing that was sampled is rendered again,
// so the prefix holds by construction and thinking of earlier turns stays.

// errTemplate says that the ids after a reply could not be told from the
// endpoint's template.
var errTemplate = errors.New("the endpoint's chat template shows no end of an assistant's turn")

// promptIDs are the ids of the next prompt. The first prompt, and one after a
// reply whose ids are not known, is rendered whole by the endpoint's template.
func (l *Loop) promptIDs(ctx context.Context, messages []infer.Message) ([]int32, error) {
	if l.last == nil || l.last.PromptIDs == nil || l.last.OutputIDs == nil {
		return l.Model.Tokenize(ctx, messages, l.specs(), true)
	}
	after, err := l.after(ctx, l.last, l.asked)
	switch {
	case errors.Is(err, errTemplate): // a break that is recorded as one, when it is one
		return l.Model.Tokenize(ctx, messages, l.specs(), true)
	case err != nil:
		return nil, err
	}
	return slices.Concat(l.last.PromptIDs, l.last.OutputIDs, after), nil
}

// complete makes a call whose prompt is exact ids.
func (l *Loop) complete(ctx context.Context, messages []infer.Message) (infer.Reply, error) {
	ids, err := l.promptIDs(ctx, messages)
	if err != nil {
		return infer.Reply{}, err
	}
	room, err := l.left(len(ids))
	if err != nil {
		return infer.Reply{}, err
	}
	if err := l.learn(ctx, ids); err != nil {
		return infer.Reply{}, err
	}
	return l.calling(ctx, func(ctx context.Context) (infer.Reply, error) {
		return l.Model.Complete(ctx, infer.TokenRequest{Prompt: ids, Sampling: l.sampling(l.turn + 1), MaxTokens: room, SessionID: l.SessionID,
			Stream: l.Watch.Text, Restart: l.restarted})
	})
}

// learn what reading a reply needs. It is asked before the first call, so that
// no reply is dropped for it.
func (l *Loop) learn(ctx context.Context, prompt []int32) error {
	if l.opening != nil {
		return nil
	}
	if err := l.learnClosing(ctx); err != nil && !errors.Is(err, errTemplate) {
		return err
	}
	return l.readOpening(ctx, prompt)
}

// thinkTag opens thinking. Some templates put it at the end of every prompt.
const thinkTag = "<think>"

// readOpening finds out whether prompts end within thinking.
func (l *Loop) readOpening(ctx context.Context, prompt []int32) error {
	text, err := l.Model.Detokenize(ctx, prompt[max(len(prompt)-8, 0):])
	if err != nil && !errors.Is(err, infer.ErrNoTokenize) {
		return err
	}
	opening := ""
	if strings.HasSuffix(strings.TrimSpace(text), thinkTag) {
		opening = thinkTag
	}
	l.opening = &opening
	return nil
}

// readReply takes a reply in token mode apart: its text without the end of
// turn, which it may have sampled. No error may drop a reply: where the text of
// the marker cannot be had it stays.
func (l *Loop) readReply(ctx context.Context, t *sessions.Turn) {
	text := t.Raw
	if n := len(t.OutputIDs); n > 0 && t.Finish != "length" {
		if last := t.OutputIDs[n-1]; t.EndsTurn || slices.Contains(l.closing, last) {
			if mark, err := l.Model.Detokenize(ctx, []int32{last}); err == nil {
				text = strings.TrimSuffix(text, mark)
			}
		}
	}
	r := calls.Parse(l.Format, *l.opening+text, l.known(), t.Finish)
	t.Reasoning, t.Content, t.Calls = r.Reasoning, r.Content, l.number(t, r.Calls)
}

// spell gives the ids that the template makes of a reply, end of turn included:
// what it puts after the beginning of a reply in a short conversation. What was
// said before is not rendered again.
func (l *Loop) spell(ctx context.Context, t *sessions.Turn) ([]int32, error) {
	short := []infer.Message{{Role: "user", Content: "x"}}
	begun, err := l.Model.Tokenize(ctx, short, l.specs(), true)
	if err != nil {
		return nil, err
	}
	whole, err := l.Model.Tokenize(ctx, append(short, assistant(t)), l.specs(), false)
	if err != nil {
		return nil, err
	}
	if len(whole) <= len(begun) || !slices.Equal(whole[:len(begun)], begun) {
		return nil, errTemplate
	}
	return whole[len(begun):], nil
}

// readContent looks for calls in the text of a reply from an endpoint that
// reads none. The conversation then carries them as the text they are.
func (l *Loop) readContent(t *sessions.Turn) {
	if len(l.Tools.Specs()) == 0 {
		return
	}
	r := calls.Parse(l.Format, t.Content, l.known(), t.Finish)
	if len(r.Calls) > 0 {
		t.Calls, t.Inline = l.number(t, r.Calls), true
	}
}

// number the calls of a reply. Nine letters and digits are an id that every
// template takes.
func (l *Loop) number(t *sessions.Turn, found []calls.Call) []sessions.Call {
	var out []sessions.Call
	for i, c := range found {
		out = append(out, sessions.Call{ID: fmt.Sprintf("t%04dc%03d", t.Index%10000, i%1000), Name: c.Name, Arguments: c.Arguments, Problem: c.Problem})
	}
	return out
}

// known are the tools as the reader of calls needs them.
func (l *Loop) known() []calls.Tool {
	var out []calls.Tool
	for _, s := range l.Tools.Specs() {
		out = append(out, calls.Tool{Name: s.Name, Parameters: s.Parameters})
	}
	return out
}

// learnClosing finds what the template puts after an assistant's text.
func (l *Loop) learnClosing(ctx context.Context) error {
	if l.closing != nil {
		return nil
	}
	closing, err := l.common(ctx, nil, nil, false)
	if err == nil && len(closing) == 0 {
		err = errTemplate
	}
	if err == nil {
		l.closing = closing
	}
	return err
}

// after is what the template puts between the ids of a reply and the next
// reply: what its end of turn lacks, the new messages as one block, the
// beginning of an assistant's turn. It is what two short conversations have in
// common that differ in the reply's last word only, from its end of turn on.
func (l *Loop) after(ctx context.Context, reply *sessions.Turn, fresh []sessions.Message) ([]int32, error) {
	if err := l.learnClosing(ctx); err != nil {
		return nil, err
	}
	rest, err := l.common(ctx, reply.Calls, wire(fresh), true)
	if err != nil {
		return nil, err
	}
	at, err := l.turnEnd(ctx, reply.Calls, rest)
	if err != nil {
		return nil, err
	}
	rest = rest[at:]
	end := rest[:min(len(l.closing), len(rest))]
	n := len(reply.OutputIDs)
	if n > 0 && reply.EndsTurn {
		// By the template's marker, or by another one that stands for it.
		return rest[max(slices.Index(end, reply.OutputIDs[n-1]), 0)+1:], nil
	}
	// The reply may have a part of its end of turn all the same, or all of it.
	has := min(len(end), n)
	for has > 0 && !slices.Equal(reply.OutputIDs[n-has:], end[:has]) {
		has--
	}
	return rest[has:], nil
}

// turnEnd is where the reply's end of turn begins in what follows its last
// word. Calls have closing text of their own before it, and may end a turn by
// another marker than text does, so it is measured from its end.
func (l *Loop) turnEnd(ctx context.Context, found []sessions.Call, rest []int32) (int, error) {
	if len(found) == 0 {
		return 0, nil
	}
	whole, err := l.common(ctx, found, nil, false)
	if err != nil {
		return 0, err
	}
	at := len(whole) - len(l.closing)
	if at < 0 || at >= len(rest) || whole[at] != rest[at] {
		return 0, errTemplate
	}
	return at, nil
}

// common is the common end of two renderings: of a reply with the calls and
// the messages after it, once with one word in its last place, once with
// another.
func (l *Loop) common(ctx context.Context, calls []sessions.Call, fresh []infer.Message, generate bool) ([]int32, error) {
	var ids [2][]int32
	for i, word := range []string{"a", "b"} {
		reply := infer.Message{Role: "assistant", Content: word}
		for _, c := range calls {
			reply.ToolCalls = append(reply.ToolCalls, infer.ToolCall{ID: c.ID, Name: c.Name, Arguments: fmt.Sprintf(`{"x": %q}`, word)})
		}
		var err error
		ids[i], err = l.Model.Tokenize(ctx, append([]infer.Message{{Role: "user", Content: "x"}, reply}, fresh...), l.specs(), generate)
		if err != nil {
			return nil, err
		}
	}
	n := 0
	for n < len(ids[0]) && n < len(ids[1]) && ids[0][len(ids[0])-1-n] == ids[1][len(ids[1])-1-n] {
		n++
	}
	if n == len(ids[0]) || n == len(ids[1]) { // the template leaves the reply out
		return nil, errTemplate
	}
	return ids[0][len(ids[0])-n:], nil
}
