package engine

import (
	"context"
	"strings"
	"sync"
	"testing"

	"rollbench/sandbox"
	"rollbench/sessions"
)

// talking is an eval sandbox in which a command prints before it runs.
type talking struct {
	sandbox.Sandbox
	printed func()
}

func (t talking) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if c.OnOutput != nil {
		c.OnOutput([]byte("collected 2 items\n"))
		t.printed()
	}
	return t.Sandbox.Exec(ctx, c)
}

// What the verifier prints is there while it runs, as a stream of the trajectory, and
// gone with its end.
func TestVerifierIsShown(t *testing.T) {
	r := setup(t, 1, nil).engine()
	key := r.store.Run().Members[0].String()
	var mu sync.Mutex
	var seen []Stream
	r.local.onOpen = func(spec sandbox.Spec, sb sandbox.Sandbox) (sandbox.Sandbox, error) {
		if !strings.HasSuffix(spec.Name, ".eval") {
			return sb, nil
		}
		return talking{sb, func() {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, r.Status().Streams[key])
		}}, nil
	}
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if row := r.row(0); row.State != sessions.Done || row.Reward == nil {
		t.Errorf("%s, %v", row.State, row.Reward)
	}
	if len(seen) == 0 || seen[0].What != VerifierName || seen[0].Text != "collected 2 items\n" || seen[0].Since.IsZero() {
		t.Errorf("%+v", seen)
	}
	if s, still := r.Status().Streams[key]; still {
		t.Errorf("it is over, and %q is shown", s.Text)
	}
}

// What is said of an image is there while the sandbox is being opened, and gone with it.
func TestImageIsShown(t *testing.T) {
	r := setup(t, 1, nil).engine()
	key := r.store.Run().Members[0].String()
	var seen Stream
	r.local.onOpen = func(spec sandbox.Spec, sb sandbox.Sandbox) (sandbox.Sandbox, error) {
		if strings.HasSuffix(spec.Name, ".run") {
			spec.Progress("pulling x")
			spec.Progress("pulling x: 1 of 2 layers")
			seen = r.Status().Streams[key]
		}
		return sb, nil
	}
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if seen.What != ImageName || seen.Text != "pulling x\npulling x: 1 of 2 layers\n" || seen.Since.IsZero() {
		t.Errorf("%+v", seen)
	}
	if s, still := r.Status().Streams[key]; still {
		t.Errorf("it is over, and %q is shown", s.Text)
	}
}
