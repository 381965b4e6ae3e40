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

// ImageName is what an image that is built or pulled is called in Status.Streams.
const ImageName = "its image"

// showImage shows what is said of the image while the trajectory's sandbox is being
// opened, as its stream.
func (e *Engine) showImage(t *trajectory) func(line string) {
	s := e.streams.of(t.key)
	return func(line string) {
		e.notes.add(t.in.ID, line)
		s.tells(ImageName, line+"\n")
	}
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
