package task

import (
	"context"
	"fmt"

	"rollbench/sandbox"
)

// answerer judges the final text of a policy. There is no patch. sb is nil but for
// programs, which run in it.
type answerer interface {
	judge(ctx context.Context, in *Instance, sb sandbox.Sandbox, answer string) (Verdict, error)
	// right is a final text that is correct, "" when none is known.
	right() string
}

// answered is an instance whose verifier judges an answer: nothing is in its
// sandbox but what the policy's tools make there.
type answered struct{ answerer }

func (answered) lay(context.Context, *Instance, sandbox.Sandbox) (string, error) { return "", nil }

func (answered) verify(context.Context, *Instance, sandbox.Sandbox) (Verdict, error) {
	return Verdict{}, fmt.Errorf("what counts is the answer, and not the files")
}

func (answered) solve(context.Context, *Instance, sandbox.Sandbox) error {
	return fmt.Errorf("a question has no solution to apply")
}

// NeedsPatch reports whether the verifier looks at what the policy changed; else
// it looks at its final answer, see VerifyAnswer.
func (in *Instance) NeedsPatch() bool { return in.Grading() != ByAnswer }

// RunsAnswer reports whether the final answer is a program, for which VerifyAnswer
// needs a fresh, opened sandbox.
func (in *Instance) RunsAnswer() bool {
	a, ok := in.kind.(answered)
	if !ok {
		return false
	}
	_, ok = a.answerer.(*program)
	return ok
}

// VerifyAnswer finds the reward of a policy's final text. Only instances that
// need no patch have one. sb is nil unless RunsAnswer. The error is for a lost
// sandbox and an ended ctx only.
func (in *Instance) VerifyAnswer(ctx context.Context, sb sandbox.Sandbox, answer string) (Verdict, error) {
	a, ok := in.kind.(answered)
	if !ok {
		return Verdict{}, fmt.Errorf("verify %s: its verifier needs a patch", in.ID)
	}
	return in.judged(ctx, func() (Verdict, error) { return a.judge(ctx, in, sb, answer) })
}

// HasReference reports whether a solution is known that must pass.
func (in *Instance) HasReference() bool {
	if in.NeedsPatch() {
		return !in.Reference.None()
	}
	return in.ReferenceAnswer() != ""
}

// ReferenceAnswer is a final text that must pass, "" where none is known and of an
// instance that needs a patch. Some verifiers look into a box only, and none minds
// one.
func (in *Instance) ReferenceAnswer() string {
	a, ok := in.kind.(answered)
	if !ok {
		return ""
	}
	return a.right()
}
