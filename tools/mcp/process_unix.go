//go:build unix

package mcp

import "syscall"

// signal the process group. It exists as long as the guard has not been waited
// for; a group without processes left is no failure.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.guard.Process.Pid, s) }

func (p *process) kill() { p.signal(syscall.SIGKILL) }

func (p *process) terminate() { p.signal(syscall.SIGTERM) }
