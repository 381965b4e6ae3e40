package engine

import (
	"context"
	"fmt"
	"strings"

	"rollbench/engine/task"
	"rollbench/sandbox"
)

// chooser decides which kind of sandbox an instance gets on this machine.
type chooser struct {
	config    Sandbox
	providers map[sandbox.Kind]sandbox.Provider
	reports   map[sandbox.Kind]sandbox.Report
	chosen    map[string]sandbox.Kind // by instance
}

// CheckSandboxes says which instance has no sandbox on this machine, and why.
// The first image that is absent is made or pulled right away, so that a wrong
// name or a registry out of reach is known before anything starts; the others
// come when they are needed. One that cannot be made, while other instances can go on,
// is theirs to fail by: progress is told.
func CheckSandboxes(ctx context.Context, c Sandbox, ps map[sandbox.Kind]sandbox.Provider, instances []*task.Instance, progress func(string)) error {
	kinds := chooser{config: c, providers: ps}
	tried, ready := false, false
	var missing error
	for _, in := range instances {
		kind, err := kinds.choose(ctx, in)
		if err != nil {
			return err
		}
		if kind != sandbox.Docker {
			ready = true
			continue
		}
		if tried && (missing == nil || ready) {
			continue
		}
		absent, err := withoutImages(ctx, ps[kind], in)
		if err != nil {
			return fmt.Errorf("task %s: %w", in.ID, err)
		}
		ready = ready || len(absent) == 0
		if len(absent) == 0 || tried {
			continue
		}
		tried = true
		if err := ensureImages(ctx, ps[kind], absent, progress); err != nil {
			missing = fmt.Errorf("task %s: %w", in.ID, err)
		}
	}
	if missing == nil || !ready || ctx.Err() != nil {
		return missing
	}
	progress(missing.Error() + "; the other tasks go on")
	return nil
}

func ensureImages(ctx context.Context, p sandbox.Provider, specs []sandbox.Spec, progress func(string)) error {
	for _, spec := range specs {
		spec.Progress = progress
		if err := p.EnsureImage(ctx, spec); err != nil {
			return err
		}
	}
	return nil
}

// withoutImages are the sandboxes of an instance, the policy's and that of a verifier
// with an image of its own, of which an image is not there.
func withoutImages(ctx context.Context, p sandbox.Provider, in *task.Instance) (absent []sandbox.Spec, err error) {
	all := []sandbox.Spec{in.Spec(sandbox.Docker)}
	if in.Grading() == task.ByArtifacts {
		all = append(all, in.VerifierSpec())
	}
	for _, spec := range all {
		have, err := haveImages(ctx, p, spec)
		if err != nil {
			return nil, err
		}
		if !have {
			absent = append(absent, spec)
		}
	}
	return absent, nil
}

// haveImages says whether a spec's image and its companions' are there.
func haveImages(ctx context.Context, p sandbox.Provider, spec sandbox.Spec) (bool, error) {
	images := []string{spec.Image}
	if spec.Beside != nil {
		for _, c := range spec.Beside.Companions {
			images = append(images, c.Image)
		}
	}
	for _, image := range images {
		if have, err := p.HasImage(ctx, image); err != nil || !have {
			return false, err
		}
	}
	return true, nil
}

func (c *chooser) choose(ctx context.Context, in *task.Instance) (sandbox.Kind, error) {
	if k, ok := c.chosen[in.ID]; ok {
		return k, nil
	}
	k, err := c.decide(ctx, in)
	if err == nil {
		if c.chosen == nil {
			c.chosen = map[string]sandbox.Kind{}
		}
		c.chosen[in.ID] = k
	}
	return k, err
}

// decide: docker when the task's image is present, else local where the task
// allows it and the machine can contain it, else docker if the image can be
// made or pulled. sandbox.kind decides alone unless it is auto.
func (c *chooser) decide(ctx context.Context, in *task.Instance) (sandbox.Kind, error) {
	docker, local := c.report(ctx, sandbox.Docker), c.report(ctx, sandbox.Local)
	if ctx.Err() != nil { // an interrupted look says nothing about the machine
		return "", context.Cause(ctx)
	}
	why := func(kind sandbox.Kind, r sandbox.Report) error {
		return fmt.Errorf("task %s: no %s sandbox on this machine: %s; %s", in.ID, kind, r.Detail, r.Fix)
	}
	switch c.config.Kind {
	case "docker":
		switch {
		case in.Image == "":
			return "", fmt.Errorf("task %s has no image: use --sandbox local, or give the task one", in.ID)
		case !docker.OK:
			return "", why(sandbox.Docker, docker)
		}
		return sandbox.Docker, nil
	case "local":
		switch {
		case !in.LocalOK:
			return "", fmt.Errorf("task %s cannot run in a local sandbox, it needs its image: use --sandbox docker", in.ID)
		case !local.OK:
			return "", why(sandbox.Local, local)
		}
		return sandbox.Local, nil
	}
	if docker.OK && in.Image != "" {
		present, err := c.providers[sandbox.Docker].HasImage(ctx, in.Image)
		if err != nil {
			return "", fmt.Errorf("task %s: look for image %s: %w", in.ID, in.Image, err)
		}
		if present {
			return sandbox.Docker, nil
		}
	}
	switch {
	case in.LocalOK && local.OK:
		return sandbox.Local, nil
	case docker.OK && in.Image != "":
		return sandbox.Docker, nil
	case in.LocalOK && in.Image == "":
		return "", why(sandbox.Local, local)
	case in.LocalOK:
		return "", fmt.Errorf("%w; nor a docker one: %s; %s", why(sandbox.Local, local), docker.Detail, docker.Fix)
	}
	return "", why(sandbox.Docker, docker)
}

// isolation of the chosen kinds, in a word each.
func (c *chooser) isolation(ctx context.Context) string {
	var words []string
	for _, k := range []sandbox.Kind{sandbox.Docker, sandbox.Local} {
		for _, chosen := range c.chosen {
			if chosen != k {
				continue
			}
			word := string(k)
			if k == sandbox.Local {
				word, _, _ = strings.Cut(c.report(ctx, k).Isolation, ":")
			}
			words = append(words, word)
			break
		}
	}
	return strings.Join(words, "+")
}

func (c *chooser) report(ctx context.Context, k sandbox.Kind) sandbox.Report {
	if r, ok := c.reports[k]; ok {
		return r
	}
	if c.reports == nil {
		c.reports = map[sandbox.Kind]sandbox.Report{}
	}
	r := sandbox.Report{Detail: "not set up", Fix: "see rollbench doctor"}
	if p := c.providers[k]; p != nil {
		r = p.Check(ctx)
	}
	c.reports[k] = r
	return r
}
