package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"rollbench/sandbox"
)

// full is a sandbox that is over its disk limit when the policy's shell starts.
type full struct{ sandbox.Sandbox }

func (full) Shell(context.Context) (sandbox.Shell, error) {
	return nil, fmt.Errorf("container 0123: %w: %w: disk limit 8 MB reached (9 MB used)", sandbox.ErrLost, sandbox.ErrExhausted)
}

// A trajectory whose sandbox used up its disk ends as lost, and the limit is said.
func TestExhaustedSandbox(t *testing.T) {
	r := newRig(t, nil, "pager-last-page").engine()
	r.local.onOpen = func(spec sandbox.Spec, sb sandbox.Sandbox) (sandbox.Sandbox, error) { return full{sb}, nil }
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for key, row := range r.rows() {
		if row.Finish != "sandbox_lost" || row.Reward != nil || !strings.Contains(strings.Join(row.Causes, "\n"), "resources exhausted: disk limit 8 MB reached (9 MB used)") {
			t.Errorf("%s: %s %v %q", key, row.Finish, row.Reward, row.Causes)
		}
	}
	r.nothingOpen()
}
