//go:build !linux

package local

import (
	"context"
	"errors"
	"runtime"

	"rollbench/sandbox"
)

const supported = false

type folder struct{}

func (*folder) Close() error { return nil }

type snapshot struct{}

func (*snapshot) Close() error { return nil }

// Open fails: only Linux can contain a folder.
func (p *Provider) Open(context.Context, sandbox.Spec) (sandbox.Sandbox, error) {
	return nil, errors.New("local sandboxes need Linux: use docker on " + runtime.GOOS)
}

// Reap has nothing to do.
func (p *Provider) Reap(context.Context) ([]string, error) { return nil, nil }

// Check says no.
func (p *Provider) Check(context.Context) sandbox.Report {
	return sandbox.Report{Detail: "local sandboxes need Linux", Fix: "use docker, here or on another machine (DOCKER_HOST)", Isolation: "none"}
}
