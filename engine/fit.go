package engine

import (
	"context"
	"fmt"

	"rollbench/engine/task"
	"rollbench/sandbox"
)

// keepMB is the memory of a machine that sandboxes together leave to the rest of it.
const keepMB = 4096

// FitMemory lowers max_live_sandboxes where so many sandboxes could take more memory
// than their machine can spare, and says so in a line ("" when nothing changed).
func FitMemory(ctx context.Context, c *Config, ps map[sandbox.Kind]sandbox.Provider, instances []*task.Instance) (string, error) {
	kinds := chooser{config: c.Sandbox, providers: ps}
	largest := map[sandbox.Kind]int{} // memory of one sandbox
	for _, in := range instances {
		k, err := kinds.choose(ctx, in)
		if err != nil {
			return "", err
		}
		otherwise := kinds.report(ctx, k).SandboxMB
		need := otherwise
		if in.MemoryMB > 0 {
			need = in.MemoryMB
		}
		if c.Sandbox.MemoryMB > 0 {
			need = c.Sandbox.MemoryMB
		}
		if k == sandbox.Docker {
			need += in.Beside.MemoryMB(otherwise)
		}
		largest[k] = max(largest[k], need)
	}
	notice := ""
	for _, k := range []sandbox.Kind{sandbox.Docker, sandbox.Local} {
		machine, one := kinds.report(ctx, k).MachineMB, largest[k]
		if machine == 0 || one == 0 {
			continue // no such sandboxes, or nothing is known of their machine
		}
		fit := max((machine-keepMB)/one, 1)
		asked := c.Dispatcher.MaxLive
		if asked == 0 {
			asked = len(instances) * c.Generator.NumTrajectories // no limit
		}
		if asked <= fit {
			continue
		}
		c.Dispatcher.MaxLive = fit
		notice = fmt.Sprintf("max_live_sandboxes is %d instead of %d: %s sandboxes have up to %d MB each, and %d MB of their machine's %d MB are left to the rest of it; lower sandbox.memory_mb for more",
			fit, asked, k, one, keepMB, machine)
	}
	return notice, nil
}
