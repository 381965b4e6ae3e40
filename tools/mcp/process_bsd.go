//go:build unix && !linux

package mcp

import "syscall"

// grouped puts a process into a group (0: its own).
func grouped(group int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pgid: group}
}
