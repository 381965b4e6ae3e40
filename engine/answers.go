package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"rollbench/engine/task"
	"rollbench/sandbox"
	"rollbench/sessions"
)

// handOver ends the run stage of a trajectory whose answer counts: there is no
// patch to take, and what was said is in the session.
func (e *Engine) handOver(ctx context.Context, t *trajectory) bool {
	e.closeTools(t)
	if ctx.Err() != nil {
		return e.interrupted(ctx, t)
	}
	return e.state(ctx, t, sessions.StateChange{State: sessions.Ran})
}

// judge the answer of a trajectory; sb is nil unless it runs it.
func (e *Engine) judge(ctx context.Context, t *trajectory, sb sandbox.Sandbox) (task.Verdict, error) {
	e.streams.of(t.key).at("the judge of its answer")
	turns, err := e.store.Turns(ctx, t.key, t.attempt, 0, 0, false)
	if err != nil {
		return task.Verdict{}, fmt.Errorf("read the answer: %w", err)
	}
	return t.in.VerifyAnswer(ctx, sb, finalAnswer(turns))
}

// finalAnswer is what the policy said last: the text it ended with, given to the
// tool finish or without a call.
func finalAnswer(turns []sessions.Turn) string {
	for i := len(turns) - 1; i >= 0; i-- {
		t := &turns[i]
		if t.Superseded {
			continue
		}
		for _, c := range t.Calls {
			if text := finishText(c); text != "" {
				return text
			}
		}
		return t.Content
	}
	return ""
}

func finishText(c sessions.Call) string {
	if c.Name != "finish" {
		return ""
	}
	var said struct{ Answer, Message string }
	if json.Unmarshal([]byte(c.Arguments), &said) != nil {
		return ""
	}
	if strings.TrimSpace(said.Answer) != "" {
		return said.Answer
	}
	return strings.TrimSpace(said.Message)
}
