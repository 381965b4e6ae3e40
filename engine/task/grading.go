package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"rollbench/sandbox"
)

// Grading is what a verdict is found from.
type Grading string

// The ways to find a verdict.
const (
	// ByPatch: the patch of the policy, applied in a fresh sandbox (Verify).
	ByPatch Grading = "patch"
	// ByAnswer: what the policy said last (VerifyAnswer).
	ByAnswer Grading = "answer"
	// InPlace: the policy's own sandbox as it was left, with what runs in it (VerifyInPlace).
	InPlace Grading = "place"
	// ByArtifacts: what is collected of the policy's sandbox (Collect), in a sandbox of
	// the verifier's own (VerifierSpec, VerifyArtifacts).
	ByArtifacts Grading = "artifacts"
)

// gradedBy is a verifier that can be graded in other ways than by a patch.
type gradedBy interface{ grading() Grading }

// Grading of the instance.
func (in *Instance) Grading() Grading {
	switch kind := in.kind.(type) {
	case answered:
		return ByAnswer
	case gradedBy:
		return kind.grading()
	}
	return ByPatch
}

// whole says whether the result may lie anywhere in the sandbox. Then nothing is changed
// in the workdir before the policy begins, and its patch is for people to see.
func (in *Instance) whole() bool {
	g := in.Grading()
	return g == InPlace || g == ByArtifacts
}

// VerifyInPlace finds the reward in the policy's own sandbox, once its loop is over.
// What it left running runs on. Errors are as of Verify.
func (in *Instance) VerifyInPlace(ctx context.Context, sb sandbox.Sandbox) (Verdict, error) {
	return in.judged(ctx, func() (Verdict, error) { return in.kind.verify(ctx, in, sb) })
}

// VerifierSpec is what to open for VerifyArtifacts. Name, Labels and Progress are the
// caller's to fill in.
func (in *Instance) VerifierSpec() sandbox.Spec { return in.kind.(*harbor).verifier.spec }

// VerifyArtifacts finds the reward of what Collect has packed, in a fresh sandbox of
// VerifierSpec. Errors are as of Verify.
func (in *Instance) VerifyArtifacts(ctx context.Context, sb sandbox.Sandbox, packed io.ReadSeeker) (Verdict, error) {
	return in.judged(ctx, func() (Verdict, error) {
		if err := restore(ctx, sb, packed); err != nil {
			return Verdict{}, fmt.Errorf("restore the artifacts: %w", err)
		}
		return in.kind.verify(ctx, in, sb)
	})
}

// judged makes a verdict of how a verifier went.
func (in *Instance) judged(ctx context.Context, verify func() (Verdict, error)) (Verdict, error) {
	start := time.Now()
	verdict, err := verify()
	verdict.Wall = time.Since(start)
	verdict.Log = bound(verdict.Log)
	if err == nil {
		return verdict, nil
	}
	if ctx.Err() != nil {
		return verdict, fmt.Errorf("verify %s: %w", in.ID, cancelled(ctx))
	}
	if errors.Is(err, sandbox.ErrLost) {
		return verdict, fmt.Errorf("verify %s: %w", in.ID, err)
	}
	verdict.Reward, verdict.Broken, verdict.Note = nil, true, "verifier could not run: "+firstLine(err.Error())
	return verdict, nil
}
