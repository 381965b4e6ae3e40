package mcp

import "syscall"

// grouped puts a process into a group (0: its own). It dies with us.
func grouped(group int) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pgid: group}
	if group != 0 { // the guard has to outlive us
		a.Pdeathsig = syscall.SIGKILL
	}
	return a
}
