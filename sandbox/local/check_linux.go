package local

import (
	"context"
	"fmt"
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
	return sandbox.Report{OK: true, Detail: string(b.level) + " works", Isolation: isolation}
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
