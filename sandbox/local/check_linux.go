package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"rollbench/sandbox"
)

// Check opens a sandbox, runs a command in it and closes it again.
func (p *Provider) Check(ctx context.Context) sandbox.Report {
	sb, err := p.Open(ctx, sandbox.Spec{Name: "check", Workdir: "/workspace"})
	if err != nil {
		return sandbox.Report{Detail: err.Error(), Fix: containFix, Isolation: "none"}
	}
	b := sb.(*folder)
	res, err := b.Exec(ctx, sandbox.Command{Argv: []string{"true"}, Timeout: 10 * time.Second})
	if err == nil && (res.End != sandbox.Exited || res.ExitCode != 0) {
		err = fmt.Errorf("command true: %s, exit code %d: %s", res.End, res.ExitCode, res.Output)
	}
	isolation := b.Isolation()
	if cerr := b.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return sandbox.Report{Detail: err.Error(), Fix: containFix, Isolation: isolation}
	}
	return sandbox.Report{OK: true, Detail: string(b.level) + " works", Isolation: isolation,
		MachineMB: machineMB("/proc/meminfo", "/proc/self"), SandboxMB: p.opt.MemoryMB}
}

// machineMB is this machine's memory, or what this process's groups may take of it;
// 0 when it is not known. The arguments are files of /proc.
func machineMB(meminfo, proc string) int {
	b, err := os.ReadFile(meminfo)
	if err != nil {
		return 0
	}
	total := int64(0)
	for line := range strings.Lines(string(b)) {
		if _, err := fmt.Sscanf(line, "MemTotal: %d kB", &total); err == nil {
			break
		}
	}
	total <<= 10
	h, err := groups(proc)
	if err != nil {
		return int(total >> 20)
	}
	files := []string{filepath.Join(h.v1["memory"], "memory.limit_in_bytes")}
	for _, dir := range h.above() {
		files = append(files, filepath.Join(dir, "memory.max"))
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // no limit there
		}
		if max, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil { // not "max"
			total = min(total, max)
		}
	}
	return int(total >> 20)
}

// Isolation says how much this sandbox contains.
func (b *folder) Isolation() string {
	var parts []string
	switch b.level {
	case None:
		parts = append(parts, "none: commands can read and change all that this user can")
	default:
		parts = append(parts, string(b.level)+": own root, programs of this machine read-only, own processes")
		if b.network {
			parts = append(parts, "network of this machine")
		} else {
			parts = append(parts, "no network")
		}
	}
	parts = append(parts, b.groups.said...)
	if len(b.groups.short) > 0 {
		parts = append(parts, "not limited: "+strings.Join(b.groups.short, ", ")+" (no writable cgroup)")
	}
	return strings.Join(parts, ", ")
}
