package docker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"rollbench/sandbox"
)

// Signal signals a tree, from where KillTree kills it.
func (c *Container) Signal(ctx context.Context, t sandbox.Tree, sig sandbox.Signal, root bool) ([]int, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	ctx, cancel := questioning(ctx)
	defer cancel()
	began := time.Now().Add(-t.Age - ageSlack)
	said, _, err := c.inMain(ctx, t, began, func(t sandbox.Tree, lived time.Duration) string {
		return sandbox.SignalLine(t, sig, root, lived)
	})
	if errors.Is(err, errSilent) && c.alive() == nil {
		t.Age = time.Since(began)
		said, err = c.helper(ctx, sandbox.SignalArgv(t, sig, root, startSlack), as{})
	}
	if err != nil {
		return nil, c.check(fmt.Errorf("signal a command: %w", err))
	}
	var pids []int
	for _, word := range strings.Fields(said) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("signal a command: %s", oneLine(said))
		}
		pids = append(pids, pid)
	}
	return pids, nil
}
