//go:build !unix

package mcp

import "syscall"

func grouped(int) *syscall.SysProcAttr { return nil }

func (p *process) kill() { _ = p.cmd.Process.Kill() } // already gone is fine

func (p *process) terminate() { p.kill() }
