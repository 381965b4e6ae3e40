package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"rollbench/engine/infer"
	"rollbench/sessions"
)

// ask makes the next model call and commits the reply.
func (l *Loop) ask(ctx context.Context) error {
	for wait, waited := firstOutageWait, time.Duration(0); ; wait = min(2*wait, maxOutageWait) {
		began := l.Now()
		err := l.request(ctx)
		if errors.Is(err, errStopNow) && ctx.Err() == nil {
			if err := l.stopped(ctx, err, l.Now().Sub(began)); err != nil || l.written() {
				return err
			}
			continue
		}
		var e *infer.Error
		switch away := errors.As(err, &e) && (e.Kind == infer.Unavailable || e.Kind == infer.Busy); {
		case !away || ctx.Err() != nil:
			return cmp.Or(l.tellLimit(ctx, err, l.Now().Sub(began)), l.modelEnd(ctx, err))
		case waited >= l.Outage:
			return cmp.Or(l.tellOutage(ctx, waited), l.modelEnd(ctx, err))
		}
		wait = min(wait, l.Outage-waited)
		waited += wait
		if err := l.sitOut(ctx, err, wait); err != nil || l.written() {
			return err
		}
	}
}

// tellLimit records that a limit of the endpoint client ended a call.
func (l *Loop) tellLimit(ctx context.Context, err error, waited time.Duration) error {
	var limit infer.LimitReached
	if ctx.Err() != nil || !errors.As(err, &limit) {
		return nil
	}
	key := "endpoint.request_timeout"
	if limit.Idle {
		key = "endpoint.idle_timeout"
	}
	return l.Record.Commit(ctx, sessions.Write{Events: []sessions.Event{l.struck(key, limit.After, l.nextReply(), waited)}})
}

// tellOutage records that the endpoint was away for too long.
func (l *Loop) tellOutage(ctx context.Context, waited time.Duration) error {
	if l.Outage <= 0 {
		return nil
	}
	return l.Record.Commit(ctx, sessions.Write{Events: []sessions.Event{l.struck("endpoint.outage_limit", l.Outage, "the endpoint", waited)}})
}

func (l *Loop) nextReply() string { return fmt.Sprintf("the reply of turn %d", l.turn+1) }

// Waits between the tries of a call while the endpoint is away.
const (
	firstOutageWait = 2 * time.Second
	maxOutageWait   = 30 * time.Second
)

// request makes one model call and commits its reply.
func (l *Loop) request(ctx context.Context) error {
	if err := l.compose(ctx); err != nil {
		return err
	}
	messages := append(l.sent[:len(l.sent):len(l.sent)], wire(l.asked)...)
	var reply infer.Reply
	started := l.Now()
	err := l.timed(ctx, l.nextReply(), func(ctx context.Context) error {
		var err error
		if l.Tokens {
			reply, err = l.complete(ctx, messages)
		} else {
			reply, err = l.chat(ctx, messages)
		}
		return err
	})
	if err != nil {
		return err
	}
	if reply.PromptTokens == 0 { // no usage and no ids: what /tokenize said before
		reply.PromptTokens = l.promptLen
	}
	t := l.newTurn(reply)
	t.Started = started
	l.read(ctx, t)
	return l.keep(ctx, t, messages)
}

// read the calls of a reply where the endpoint read none.
func (l *Loop) read(ctx context.Context, t *sessions.Turn) {
	if l.Tokens {
		l.readReply(ctx, t)
	} else if len(t.Calls) == 0 {
		l.readContent(t)
	}
}

// chat makes a call whose prompt the endpoint renders.
func (l *Loop) chat(ctx context.Context, messages []infer.Message) (infer.Reply, error) {
	room, err := l.room(ctx, messages)
	if err != nil {
		return infer.Reply{}, err
	}
	return l.calling(ctx, func(ctx context.Context) (infer.Reply, error) {
		return l.Model.Chat(ctx, infer.Request{Messages: messages, Tools: l.specs(), Sampling: l.sampling(l.turn + 1), MaxTokens: room,
			SessionID: l.SessionID, Stream: l.Watch.Text, Restart: l.restarted})
	})
}

// calling tells that a model call goes on while f makes it. A person may stop it.
func (l *Loop) calling(ctx context.Context, f func(context.Context) (infer.Reply, error)) (infer.Reply, error) {
	if err := l.commit(ctx, sessions.KindModelCalled, sessions.ModelCalled{Turn: l.turn + 1}); err != nil {
		return infer.Reply{}, err
	}
	l.Watch.Doing(l.turn+1, "model")
	defer l.Watch.Doing(l.turn+1, "")
	return l.stoppable(ctx, f)
}

// restarted: what was streamed of a failed attempt is void.
func (l *Loop) restarted() { l.Watch.Doing(l.turn+1, "model") }

// room is what is left of the budget for the reply, in tokens. Exact where the
// endpoint can tokenise; else the new messages are counted after the call.
func (l *Loop) room(ctx context.Context, messages []infer.Message) (int, error) {
	if !l.CanTokenize || l.turn == 0 && l.ContextLen == 0 {
		return l.left(0)
	}
	ids, err := l.Model.Tokenize(ctx, messages, l.specs(), true)
	switch {
	case errors.Is(err, infer.ErrNoTokenize): // it had the route once: count after the call, as where there is none
		return l.left(0)
	case err != nil:
		return 0, err
	}
	return l.left(len(ids))
}

// left is what is left for the reply to a prompt of n tokens, 0 when not known.
func (l *Loop) left(n int) (int, error) {
	used := l.used
	if n > 0 {
		if l.promptLen = n; l.turn > 0 {
			used = n - l.firstLen
		}
	}
	if used >= l.Budget {
		return 0, end(sessions.ContextWindowExceeded, "%d of %d tokens used before turn %d", used, l.Budget, l.turn+1)
	}
	room := l.Budget - used
	if l.ContextLen > 0 && n > 0 {
		room = min(room, l.ContextLen-n)
	}
	if room < 1 {
		return 0, end(sessions.ContextWindowExceeded, "the prompt of turn %d has %d tokens, the model's context %d", l.turn+1, n, l.ContextLen)
	}
	return room, nil
}

// modelEnd turns an endpoint's error into the end of the trajectory. An
// interruption from outside and an error of the session stay what they are.
func (l *Loop) modelEnd(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	var e *infer.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Kind == infer.Overflow {
		return &ending{reason: sessions.ContextWindowExceeded, detail: e.Message, cause: err}
	}
	return &ending{reason: sessions.EndpointLost, detail: err.Error(), cause: err}
}

// newTurn is the reply as a turn, with its ids checked against the turn before.
func (l *Loop) newTurn(r infer.Reply) *sessions.Turn {
	t := &sessions.Turn{
		Key: l.Key, Attempt: l.Attempt, Index: l.turn + 1, Version: 1, Source: sessions.FromModel,
		New: l.asked, PromptIDs: r.PromptIDs, OutputIDs: r.OutputIDs, Logprobs: r.Logprobs,
		EndsTurn: r.EndsTurn, Raw: r.Raw, Cuts: r.Cuts, Reasoning: r.Reasoning, Content: r.Content, Finish: r.FinishReason, Model: r.Model,
		PromptTokens: r.PromptTokens, OutputTokens: r.OutputTokens, CachedTokens: r.CachedTokens,
		ModelWall: r.Wall, FirstToken: r.FirstToken,
		Endpoint: r.Endpoint, LogprobsMode: r.LogprobsMode, PolicyVersion: r.PolicyVersion,
	}
	for _, c := range r.Calls {
		call := sessions.Call{ID: c.ID, Name: c.Name, Arguments: c.Arguments}
		if !json.Valid([]byte(c.Arguments)) {
			call.Problem = brokenArguments(r.FinishReason)
		}
		t.Calls = append(t.Calls, call)
	}
	t.Sampling = encodeSampling(l.sampling(t.Index))
	return t
}

// sampling settings of a turn. A seed of the configuration stands for the run:
// each trajectory and turn draws its own from it, else the trajectories of a
// group would be equal on an endpoint that heeds seeds.
func (l *Loop) sampling(turn int) infer.Sampling { return l.samplingOf(turn, 1) }

// samplingOf a further reply to the same prompt: it has a seed in any case.
func (l *Loop) samplingOf(turn, version int) infer.Sampling {
	s := l.Sampling
	if version > 1 && s.Seed == nil {
		s.Seed = new(int64)
	}
	if s.Seed != nil {
		h := fnv.New64a()
		fmt.Fprintf(h, "%d %s %d %d", *s.Seed, l.Key, l.Attempt, turn)
		if version > 1 {
			fmt.Fprintf(h, " %d", version)
		}
		seed := int64(h.Sum64() >> 33) // 31 bits: what every endpoint takes
		s.Seed = &seed
	}
	return s
}

func encodeSampling(s infer.Sampling) json.RawMessage {
	data, err := json.Marshal(s)
	if err != nil { // pointers to numbers, and NaN is refused by the configuration
		panic("agent: sampling settings cannot be encoded: " + err.Error())
	}
	return data
}

// keep commits a reply, and what else is to be told with it, before anything
// follows from it.
func (l *Loop) keep(ctx context.Context, t *sessions.Turn, messages []infer.Message, more ...sessions.Event) error {
	w := sessions.Write{Turn: t}
	if l.firstLen == 0 { // turns that a person wrote before may have no count
		l.firstLen = t.PromptTokens
	}
	if l.last != nil {
		if at, broken := breakAt(l.last, t); broken {
			t.NewSample, t.BreakAt = true, at
			w.Events = append(w.Events, l.event(sessions.KindBreak, l.breakFact(ctx, t, at)))
		}
	}
	l.before, l.used = l.used, l.usedWith(t)
	w.Events = append(append(w.Events, l.replyEvent(t)), more...)
	if err := l.Record.Commit(ctx, w); err != nil {
		return err
	}
	l.turn, l.last, l.others, l.clean = t.Index, t, nil, sampleStart{t.NewSample, t.BreakAt}
	l.sent, l.fresh, l.injected, l.asked = append(messages, assistant(t)), nil, nil, nil
	return nil
}

// usedWith a reply is what of the budget is used: its prompt says. A turn that a
// person wrote where nobody counts tokens uses none.
func (l *Loop) usedWith(t *sessions.Turn) int {
	if t.PromptTokens == 0 && t.Source == sessions.FromOperator {
		return l.used
	}
	return t.PromptTokens + t.OutputTokens - l.firstLen
}

func (l *Loop) replyEvent(t *sessions.Turn) sessions.Event {
	return l.event(sessions.KindReply, l.replyFact(t))
}

func (l *Loop) replyFact(t *sessions.Turn) sessions.ReplyMade {
	names := make([]string, len(t.Calls))
	for i, c := range t.Calls {
		names[i] = c.Name
	}
	return sessions.ReplyMade{Turn: t.Index, Version: t.Version, Source: t.Source, Tools: names,
		PromptTokens: t.PromptTokens, OutputTokens: t.OutputTokens, Tokens: l.used, FirstLen: l.firstLen, Finish: t.Finish}
}

// breakAt is the first position where the prompt of t does not extend the
// prompt and output of the turn before. Unknown ids prove nothing.
func breakAt(before, t *sessions.Turn) (int, bool) {
	if before.PromptIDs == nil || t.PromptIDs == nil {
		return 0, false
	}
	n := len(before.PromptIDs)
	for i := range n + len(before.OutputIDs) {
		want := int32(0)
		if i < n {
			want = before.PromptIDs[i]
		} else {
			want = before.OutputIDs[i-n]
		}
		if i >= len(t.PromptIDs) || t.PromptIDs[i] != want {
			return i, true
		}
	}
	return 0, false
}

// breakFact describes a break with the two texts around it; ids where the
// endpoint cannot say the text.
func (l *Loop) breakFact(ctx context.Context, t *sessions.Turn, at int) sessions.PrefixBroken {
	whole := append(append([]int32{}, l.last.PromptIDs...), l.last.OutputIDs...)
	return sessions.PrefixBroken{Turn: t.Index, Position: at,
		Expected: l.around(ctx, whole, at), Got: l.around(ctx, t.PromptIDs, at)}
}

func (l *Loop) around(ctx context.Context, ids []int32, at int) string {
	window := ids[max(min(at, len(ids))-8, 0):min(at+8, len(ids))]
	if l.CanTokenize {
		if text, err := l.Model.Detokenize(ctx, window); err == nil {
			return text
		}
	}
	return fmt.Sprint(window)
}

func (l *Loop) specs() []infer.Tool {
	specs := l.Tools.Specs()
	out := make([]infer.Tool, len(specs))
	for i, s := range specs {
		out[i] = infer.Tool{Name: s.Name, Description: s.Description, Parameters: s.Parameters}
	}
	return out
}

// wire are messages as the endpoint takes them.
func wire(in []sessions.Message) []infer.Message {
	out := make([]infer.Message, len(in))
	for i, m := range in {
		out[i] = infer.Message{Role: m.Role, Content: m.Content, Reasoning: m.Reasoning, ToolCalls: wireCalls(m.Calls),
			ToolCallID: m.ToolCallID, Name: m.Name}
	}
	return out
}

func wireCalls(in []sessions.Call) []infer.ToolCall {
	var out []infer.ToolCall
	for _, c := range in {
		out = append(out, infer.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	return out
}

// assistant is a reply as a message of the next prompt.
func assistant(t *sessions.Turn) infer.Message {
	m := infer.Message{Role: "assistant", Content: t.Content, Reasoning: t.Reasoning}
	switch {
	case t.Inline:
	case broken(t):
		for _, c := range t.Calls {
			m.Content = strings.TrimLeft(m.Content+"\n"+fmt.Sprintf("<tool_call>\n{\"name\": %q, \"arguments\": %s}\n</tool_call>", c.Name, c.Arguments), "\n")
		}
	default:
		m.ToolCalls = wireCalls(t.Calls)
	}
	return m
}

// broken: the turn has a call whose arguments are no JSON, which servers refuse
// in a conversation. It is carried as text.
func broken(t *sessions.Turn) bool {
	return slices.ContainsFunc(t.Calls, func(c sessions.Call) bool { return !json.Valid([]byte(c.Arguments)) })
}
