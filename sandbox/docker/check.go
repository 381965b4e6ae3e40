package docker

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/docker/docker/client"

	"rollbench/sandbox"
)

// checkLimit bounds the question whether an engine is there.
const checkLimit = 10 * time.Second

// Check asks the engine what it is and can do.
func (p *Provider) Check(ctx context.Context) sandbox.Report {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	info, err := p.engine.Info(ctx)
	if err != nil {
		return sandbox.Report{Detail: oneLine(err.Error()), Fix: fixFor(err, runtime.GOOS)}
	}
	isolation := []string{"container: own root", "no network unless the task asks", "few capabilities, no new privileges"}
	limit := func(can bool, what string, args ...any) {
		if !can {
			what = "NO limit of " + strings.Fields(what)[0] + " on this engine"
			args = nil
		}
		isolation = append(isolation, fmt.Sprintf(what, args...))
	}
	limit(info.PidsLimit, "pids %d", p.opt.Pids)
	limit(info.MemoryLimit, "memory %d MB", p.opt.MemoryMB)
	limit(info.CPUCfsQuota, "cpus %g", p.opt.CPUs)
	return sandbox.Report{
		OK:        true,
		Detail:    fmt.Sprintf("docker %s, API %s, %d images", info.ServerVersion, p.engine.ClientVersion(), info.Images),
		Isolation: strings.Join(isolation, ", "),
		MachineMB: int(info.MemTotal >> 20),
		SandboxMB: p.opt.MemoryMB,
	}
}

// fixFor an engine that does not answer, on an operating system.
func fixFor(err error, system string) string {
	start, other := "Docker Desktop, Colima or another engine", ""
	if system == "linux" { // else there are no local sandboxes
		start, other = "the engine (systemctl start docker)", ", or use --sandbox local for tasks that allow it"
	}
	switch {
	case system == "linux" && (os.IsPermission(err) || strings.Contains(err.Error(), "permission denied")):
		return "add yourself to the group docker and log in again" + other
	case client.IsErrConnectionFailed(err):
		return "start " + start + ", or name one in DOCKER_HOST" + other
	}
	return "see what the engine says above" + other
}
