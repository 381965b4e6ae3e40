package engine

import (
	"fmt"

	"rollbench/engine/task"
	"rollbench/sandbox"
	"rollbench/sandbox/pool"
)

// spec of a sandbox of the trajectory for a purpose: run or eval.
func (e *Engine) spec(t *trajectory, purpose string) sandbox.Spec {
	spec := e.namelessSpec(t)
	spec.Name = fmt.Sprintf("%s.%d.a%d.%s", t.key.Instance, t.key.ID, t.attempt, purpose)
	spec.Labels["trajectory"] = t.key.String()
	spec.Progress = e.showImage(t)
	return spec
}

// namelessSpec is of what never changes in a trajectory: it may be asked for while a
// stage works on it.
func (e *Engine) namelessSpec(t *trajectory) sandbox.Spec {
	spec := e.opt.Config.Sandbox.spec(t.in, t.kind, e.mounts)
	spec.Labels = map[string]string{"run": e.run.ID}
	spec.Progress = func(line string) { e.notes.add(t.in.ID, line) }
	return spec
}

// spec of a sandbox for an instance, in the size that the configuration gives it.
func (c Sandbox) spec(in *task.Instance, kind sandbox.Kind, mounts []sandbox.Mount) sandbox.Spec {
	return c.sized(in.Spec(kind), mounts)
}

// sized is a spec in the size that the configuration gives it, with its mounts.
func (c Sandbox) sized(spec sandbox.Spec, mounts []sandbox.Mount) sandbox.Spec {
	if c.CPUs > 0 {
		spec.CPUs = c.CPUs
	}
	if c.MemoryMB > 0 {
		spec.MemoryMB = c.MemoryMB
	}
	if c.Pids > 0 {
		spec.Pids = c.Pids
	}
	if c.DiskMB > 0 {
		spec.DiskMB = c.DiskMB
	}
	spec.Mounts = mounts
	return spec
}

// ahead is how many trajectories the pool looks at to choose what to open.
const ahead = 32

// wanted are the sandboxes that trajectories will need next. One for the run and
// one for eval are alike.
func (e *Engine) wanted() []pool.Wanted {
	var all []pool.Wanted
	for _, it := range e.live.Next(ahead) {
		if t := e.at(it); !t.skip && t.fork.snapshot() == nil {
			all = append(all, pool.Wanted{From: e.opt.Providers[t.kind], Spec: e.namelessSpec(t)})
		}
	}
	return all
}
