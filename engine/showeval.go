package engine

import (
	"context"

	"rollbench/sandbox"
)

// VerifierName is what the verifier is called in Status.Streams.
const VerifierName = "the verifier"

// showVerifier shows what the commands in an eval sandbox print as the trajectory's
// stream, until it does something else.
func (e *Engine) showVerifier(t *trajectory, sb sandbox.Sandbox) sandbox.Sandbox {
	s := e.streams.of(t.key)
	s.at(VerifierName)
	s.Doing(0, VerifierName)
	return shown{sb, s.output}
}

// shown is a sandbox whose commands are seen as they print.
type shown struct {
	sandbox.Sandbox
	see func([]byte)
}

func (s shown) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if c.OnOutput == nil {
		c.OnOutput = s.see
	}
	return s.Sandbox.Exec(ctx, c)
}
