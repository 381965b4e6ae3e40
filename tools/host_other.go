//go:build !unix

package tools

import (
	"os"
	"os/exec"
)

func inGroup(*exec.Cmd) {}

func exitCode(p *os.ProcessState) int { return p.ExitCode() }
