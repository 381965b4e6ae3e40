package infer

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// builder puts a Reply together from a whole answer or from a stream's chunks.
type builder struct {
	start   time.Time
	deliver func(string)  // nil when not streamed
	telling any           // the part of the reply that was delivered last
	first   time.Duration // from start to the first token, 0 before it
	sent    []int32       // the prompt, when it was sent as ids; nil for messages

	model     string
	prompt    tokenIDs // nil while none was reported, like output and logs
	output    tokenIDs
	named     []int32   // ids by which logprobs name their tokens, −1 where they do not
	logs      []float64 // NaN where an entry had no number
	sawLogs   bool      // a list of logprobs came, perhaps an empty one
	problem   string    // that pieces of a stream do not fit together
	raw       strings.Builder
	cuts      []int32 // ends of the tokens in raw
	rawHoles  bool    // a token came without text
	reasoning strings.Builder
	content   strings.Builder
	calls     []*callBuilder
	finish    string
	stop      ending
	usage     *usage
	version   string // of the weights, "" when the answer does not say
}

// ending is what a server says of why a reply stopped.
type ending struct {
	by   string // see Reply.StopReason
	text bool   // it is no id: a text, or the server's own reason
}

// callBuilder collects a call whose arguments come in pieces, told apart by index.
type callBuilder struct {
	index     int
	id, name  string
	arguments strings.Builder
}

func (b *builder) add(a *answer) {
	if a.Model != "" {
		b.model = a.Model
	}
	if a.PromptTokenIDs != nil {
		b.prompt = a.PromptTokenIDs
	}
	if a.Usage != nil {
		b.usage = a.Usage
	}
	for i := range a.Choices {
		if a.Choices[i].Index == 0 {
			b.addChoice(&a.Choices[i])
		}
	}
}

// addChoice appends what a choice or a chunk of it holds.
func (b *builder) addChoice(c *choice) {
	if c.PromptTokenIDs != nil {
		b.prompt = c.PromptTokenIDs
	}
	if c.TokenIDs != nil {
		if b.output == nil {
			b.output = tokenIDs{}
		}
		b.output = append(b.output, c.TokenIDs...)
	}
	if c.Logprobs != nil && c.Logprobs.Content != nil {
		b.addLogprobs(c.Logprobs.Content)
	}
	if c.FinishReason != "" {
		b.finish, b.stop = c.FinishReason, c.stopped()
	}
	b.addPiece(c.Message)
	b.addPiece(c.Delta)
	if b.first == 0 && (len(c.TokenIDs) > 0 || b.content.Len()+b.reasoning.Len()+len(b.calls) > 0) {
		b.first = time.Since(b.start)
	}
}

func (b *builder) addLogprobs(entries []tokenLogprob) {
	b.sawLogs = true
	for _, t := range entries {
		p := missing
		if t.Logprob != nil {
			p = *t.Logprob // −9999 is the server's clamp for −∞ and stays as it is
		}
		b.logs = append(b.logs, p)
		switch {
		case t.Bytes != nil:
			for _, v := range t.Bytes {
				b.raw.WriteByte(byte(v))
			}
		case t.Token != "" && !strings.HasPrefix(t.Token, "token_id:"):
			b.raw.WriteString(t.Token)
		default:
			b.rawHoles = true
		}
		b.cuts = append(b.cuts, int32(b.raw.Len()))
	}
}

func (b *builder) addPiece(p piece) {
	b.write(&b.reasoning, p.reasoning())
	b.write(&b.content, p.Content)
	for i, c := range p.ToolCalls {
		index := i // whole answers number their calls by position
		if c.Index != nil {
			index = *c.Index
		}
		call := b.call(index)
		if c.ID != "" {
			call.id = c.ID
		}
		if c.Function.Name != "" && call.name == "" {
			call.name = c.Function.Name
			b.tell(b.part(call) + call.name + " ")
		}
		b.write(&call.arguments, c.Function.Arguments)
	}
}

// call with that index, new ones in the order they appear.
func (b *builder) call(index int) *callBuilder {
	for _, c := range b.calls {
		if c.index == index {
			return c
		}
	}
	c := &callBuilder{index: index}
	b.calls = append(b.calls, c)
	return c
}

// write text to its place and to the live view.
func (b *builder) write(to *strings.Builder, text string) {
	if text != "" {
		to.WriteString(text)
		b.tell(b.part(to) + text)
	}
}

// part separates the parts of a reply (thinking, text, each call) in the live
// view: a new line when the text goes on in another part.
func (b *builder) part(now any) string {
	switch c, isText := now.(*strings.Builder); {
	case b.telling == nil || b.telling == now:
		b.telling = now
		return ""
	case isText && b.inCall(c): // the name of the call was its beginning
		b.telling = now
		return ""
	}
	b.telling = now
	return "\n"
}

func (b *builder) inCall(arguments *strings.Builder) bool {
	call, ok := b.telling.(*callBuilder)
	return ok && arguments == &call.arguments
}

func (b *builder) tell(text string) {
	if b.deliver != nil {
		b.deliver(text)
	}
}

// reply as a whole, or what is wrong with its counts.
func (b *builder) reply() (Reply, string) {
	if problem := b.check(); problem != "" {
		return Reply{}, problem
	}
	r := Reply{
		PromptIDs: b.prompt, OutputIDs: b.output, Logprobs: finite(b.logs), StopReason: b.stop.by,
		Reasoning: b.reasoning.String(), Content: b.content.String(),
		FinishReason: b.finish, Model: b.model, FirstToken: b.first, PolicyVersion: b.version,
		PromptTokens: len(b.prompt), OutputTokens: max(len(b.output), len(b.logs)),
	}
	r.EndsTurn = (r.FinishReason == "stop" || r.FinishReason == "tool_calls") && len(b.output) > 0 && !b.stop.text
	if !b.rawHoles {
		r.Raw = b.raw.String()
	}
	if !b.rawHoles && len(b.cuts) > 0 && len(b.cuts) == len(b.output) {
		r.Cuts = b.cuts
	}
	for i, c := range b.calls {
		if c.id == "" {
			c.id = fmt.Sprintf("call_%d", i)
		}
		r.Calls = append(r.Calls, ToolCall{ID: c.id, Name: c.name, Arguments: c.arguments.String()})
	}
	if u := b.usage; u != nil {
		if u.PromptTokens != nil {
			r.PromptTokens = *u.PromptTokens
		}
		if u.CompletionTokens != nil {
			r.OutputTokens = *u.CompletionTokens
		}
		if u.Details != nil {
			r.CachedTokens = u.Details.CachedTokens
		}
	}
	return r, ""
}

// finite are logprobs without a hole: with one they are absent as a whole, for
// any number put in its place would be made up.
func finite(logs []float64) []float64 {
	if slices.ContainsFunc(logs, func(p float64) bool { return math.IsNaN(p) || math.IsInf(p, 0) }) {
		return nil
	}
	return logs
}

// check compares what was reported: ids = logprobs = usage.
func (b *builder) check() string {
	if b.problem == "" && b.sent != nil {
		b.problem = b.checkIDs()
	}
	if b.problem != "" {
		return b.problem
	}
	if b.output != nil && b.sawLogs && len(b.output) != len(b.logs) {
		return fmt.Sprintf("%d token ids but %d logprobs", len(b.output), len(b.logs))
	}
	for i, p := range b.logs {
		if p > 1e-3 { // a little above 0 is rounding
			return fmt.Sprintf("the logprob of token %d is %v, above 0", i, p)
		}
	}
	if b.usage == nil {
		return ""
	}
	if n := b.usage.CompletionTokens; n != nil {
		if b.output != nil && len(b.output) != *n {
			return fmt.Sprintf("%d token ids but usage counts %d", len(b.output), *n)
		}
		if b.sawLogs && len(b.logs) != *n {
			return fmt.Sprintf("%d logprobs but usage counts %d", len(b.logs), *n)
		}
	}
	if n := b.usage.PromptTokens; n != nil && b.prompt != nil && len(b.prompt) != *n {
		return fmt.Sprintf("%d prompt ids but usage counts %d", len(b.prompt), *n)
	}
	return ""
}

// came is how many tokens have come so far, nil where none of them was counted.
func (b *builder) came() *int {
	n := max(len(b.output), len(b.logs))
	if n == 0 && b.content.Len()+b.reasoning.Len()+len(b.calls) > 0 {
		return nil
	}
	return &n
}
