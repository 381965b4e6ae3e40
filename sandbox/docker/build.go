package docker

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/docker/docker/api/types/build"

	"rollbench/sandbox"
)

// buildLimit is the time of a build that names none.
const buildLimit = 30 * time.Minute

// quoted is how many of a build's last lines an error repeats.
const quoted = 8

// build makes the image with the engine's classic builder, which needs no
// plugin and builds from local images without asking a registry. The tag of a name
// is a hash of what is built: images of other names with the same one are built one
// after the other, and but for the first from the engine's cache.
func (p *Provider) build(ctx context.Context, name string, b sandbox.Build, progress func(string)) error {
	end, err := p.builds.take(ctx, name[strings.LastIndexByte(name, ':')+1:])
	if err != nil {
		return fmt.Errorf("image %q: wait for a build of the same files: %w", name, err)
	}
	defer end()
	limit := b.Timeout
	if limit <= 0 {
		limit = buildLimit
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %s", limit))
	defer cancel()
	var last []string
	err = p.runBuild(ctx, name, b, func(line string) {
		last = append(last, line)
		last = last[max(0, len(last)-quoted):]
		progress(line)
	})
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if len(last) > 0 {
		err = fmt.Errorf("%w (last lines: %s)", err, strings.Join(last, " | "))
	}
	return fmt.Errorf("image %q: build failed: %w; correct environment/Dockerfile, or give it another base with --set sandbox.build_args.NAME=IMAGE (the bundled tasks: BASE)", name, err)
}

func (p *Provider) runBuild(ctx context.Context, name string, b sandbox.Build, progress func(string)) (err error) {
	files, err := b.Context()
	if err != nil {
		return fmt.Errorf("read the build context: %w", err)
	}
	defer func() {
		if cerr := files.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("read the build context: %w", cerr)
		}
	}()
	progress("building " + name)
	answer, err := p.engine.ImageBuild(ctx, files, buildOptions(name, b))
	if err != nil {
		return p.explain(err)
	}
	defer answer.Body.Close()
	base := layers{now: time.Now, tell: func(text string) { progress("pulling its base: " + text) }}
	return readProgress(answer.Body, base.take, progress)
}

func buildOptions(name string, b sandbox.Build) build.ImageBuildOptions {
	o := build.ImageBuildOptions{
		Tags: []string{name}, Version: build.BuilderV1, Remove: true, ForceRemove: true,
		Labels: map[string]string{labelOurs: "1", labelBuilt: name}, BuildArgs: map[string]*string{},
		Dockerfile: b.Dockerfile, Target: b.Target,
	}
	for k, v := range b.Args {
		o.BuildArgs[k] = &v
	}
	return o
}
