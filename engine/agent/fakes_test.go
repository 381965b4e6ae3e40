package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"rollbench/engine/infer"
	"rollbench/sessions"
	"rollbench/tools"
)

// script is a model that answers from a list. Its "tokens" are whole messages:
// a prompt of n messages has n ids, each the number of the text.
type script struct {
	replies []infer.Reply
	errs    map[int]error // by call, from 0
	asked   []infer.Request
	wait    time.Duration
	words   map[string]int32
}

func (s *script) id(text string) int32 {
	if s.words == nil {
		s.words = map[string]int32{}
	}
	if s.words[text] == 0 {
		s.words[text] = int32(len(s.words) + 1)
	}
	return s.words[text]
}

func text(m infer.Message) string { return fmt.Sprint(m.Role, m.Content, m.Reasoning, m.ToolCalls) }

func (s *script) Chat(ctx context.Context, r infer.Request) (infer.Reply, error) {
	n := len(s.asked)
	s.asked = append(s.asked, r)
	if s.wait > 0 {
		select {
		case <-time.After(s.wait):
		case <-ctx.Done():
			return infer.Reply{}, context.Cause(ctx)
		}
	}
	if err := s.errs[n]; err != nil {
		return infer.Reply{}, err
	}
	if n >= len(s.replies) {
		return infer.Reply{}, fmt.Errorf("the script has no reply %d", n)
	}
	reply := s.replies[n]
	if reply.PromptIDs == nil {
		ids, _ := s.Tokenize(ctx, r.Messages, nil, true)
		reply.PromptIDs, reply.PromptTokens = ids, len(ids)
	}
	if reply.OutputIDs == nil && reply.FinishReason != "empty" {
		reply.OutputIDs = []int32{s.id(text(infer.Message{Role: "assistant", Content: reply.Content, Reasoning: reply.Reasoning, ToolCalls: reply.Calls}))}
		reply.OutputTokens = 1
	}
	return reply, nil
}

func (s *script) Complete(context.Context, infer.TokenRequest) (infer.Reply, error) {
	return infer.Reply{}, errors.New("the script answers messages only")
}

func (s *script) Tokenize(_ context.Context, m []infer.Message, _ []infer.Tool, _ bool) ([]int32, error) {
	ids := make([]int32, len(m))
	for i := range m {
		ids[i] = s.id(text(m[i]))
	}
	return ids, nil
}

func (s *script) Detokenize(_ context.Context, ids []int32) (string, error) {
	return fmt.Sprint("text of ", ids), nil
}

// toolbox answers "ran NAME ARGS", unless told otherwise.
type toolbox struct {
	ran    []string
	answer func(name, args string) (tools.Result, error)
	during func(ctx context.Context, name string) (tools.Result, error) // nil: answer at once
}

func (b *toolbox) Specs() []tools.Spec {
	return []tools.Spec{{Name: "bash"}, {Name: "finish"}, {Name: "mail", Outside: true}}
}

func (b *toolbox) Run(ctx context.Context, name, args string) (tools.Result, error) {
	b.ran = append(b.ran, name+" "+args)
	if b.during != nil && name != "finish" {
		return b.during(ctx, name)
	}
	if b.answer != nil {
		return b.answer(name, args)
	}
	return tools.Result{Text: "ran " + name + " " + args, Status: tools.OK, Finish: name == "finish"}, nil
}

// record keeps what was committed.
type record struct {
	mu     sync.Mutex
	events []sessions.Event
	turns  map[string]sessions.Turn // by index.version
	log    []string                 // kinds in order
	chunks []sessions.Chunk
}

func (r *record) Commit(_ context.Context, w sessions.Write) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turns == nil {
		r.turns = map[string]sessions.Turn{}
	}
	if w.Turn != nil {
		t := *w.Turn
		r.turns[fmt.Sprintf("%d.%d", t.Index, t.Version)] = t
		if w.Supersede > 0 {
			old := r.turns[fmt.Sprintf("%d.%d", t.Index, w.Supersede)]
			old.Superseded = true
			r.turns[fmt.Sprintf("%d.%d", t.Index, w.Supersede)] = old
		}
	}
	if w.Chunk != nil {
		c := *w.Chunk
		c.Data = slices.Clone(c.Data)
		r.chunks = append(r.chunks, c)
	}
	for _, e := range w.Events {
		r.events = append(r.events, e)
		r.log = append(r.log, string(e.Kind))
	}
	return nil
}

func (r *record) kinds(kind sessions.Kind) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, e := range r.events {
		if e.Kind == kind {
			out = append(out, string(e.Data))
		}
	}
	return out
}

type slots struct{ log []string }

func (s *slots) Hold()                              { s.log = append(s.log, "hold") }
func (s *slots) Want(context.Context, func()) error { s.log = append(s.log, "want"); return nil }

type blind struct{}

func (blind) Doing(int, string) {}
func (blind) Text(string)       {}

type bench struct {
	*Loop
	model *script
	tools *toolbox
	rec   *record
	slots *slots
}

func newBench(t *testing.T, replies ...infer.Reply) *bench {
	t.Helper()
	b := &bench{model: &script{replies: replies}, tools: &toolbox{}, rec: &record{}, slots: &slots{}}
	b.Loop = &Loop{Config: Config{Key: sessions.Key{Instance: "x", ID: 1}, Attempt: 1, System: "S", Instruction: "I",
		MaxTurns: 10, Budget: 100, CanTokenize: true},
		Model: b.model, Tools: b.tools, Record: b.rec, Gate: NewGate(), Slot: b.slots, Watch: blind{}, Now: time.Now}
	return b
}

func call(name, args string) infer.Reply {
	return infer.Reply{Calls: []infer.ToolCall{{ID: "c", Name: name, Arguments: args}}, FinishReason: "tool_calls"}
}

func say(content string) infer.Reply { return infer.Reply{Content: content, FinishReason: "stop"} }

func (b *bench) run(t *testing.T) Outcome {
	t.Helper()
	out, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// hands are the commands that a person ran.
func (r *record) hands(t *testing.T) []sessions.HandRun {
	t.Helper()
	var out []sessions.HandRun
	for _, data := range r.kinds(sessions.KindHandRun) {
		var h sessions.HandRun
		if err := json.Unmarshal([]byte(data), &h); err != nil {
			t.Fatal(err)
		}
		out = append(out, h)
	}
	return out
}
