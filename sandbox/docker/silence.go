package docker

import (
	"context"
	"time"

	"github.com/docker/docker/api/types"
)

// An engine may neither answer nor hang up (it is stopped, its machine is gone).
// Callers have limits of their own for commands, not for each question that it
// takes to start one, so those get theirs here.

// questionLimit bounds a question that a busy engine needs some seconds for.
const questionLimit = time.Minute

// copyLimit bounds the copying of files into a container or out of it.
const copyLimit = 10 * time.Minute

func questioning(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, questionLimit)
}

// hijack asks for a stream of the engine's, until ctx ends. The client itself waits
// for the answer whatever ctx says; that wait goes on beside, until the engine
// answers or hangs up, and what comes of it is closed.
func hijack(ctx context.Context, ask func() (types.HijackedResponse, error)) (types.HijackedResponse, error) {
	type answer struct {
		conn types.HijackedResponse
		err  error
	}
	answers := make(chan answer)
	go func() {
		var a answer
		a.conn, a.err = ask()
		select {
		case answers <- a:
		case <-ctx.Done():
			if a.err == nil {
				a.conn.Close()
			}
		}
	}()
	select {
	case a := <-answers:
		return a.conn, a.err
	case <-ctx.Done():
		return types.HijackedResponse{}, ctx.Err()
	}
}
