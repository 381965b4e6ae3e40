package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"rollbench/sandbox"
)

// healthOf merges the task's words over the image's; nil where neither has a test.
func healthOf(own *sandbox.Health, h container.HealthConfig) *container.HealthConfig {
	if own != nil {
		if len(own.Test) > 0 {
			h.Test = own.Test
		}
		for _, x := range []struct {
			from time.Duration
			to   *time.Duration
		}{{own.Interval, &h.Interval}, {own.Timeout, &h.Timeout}, {own.StartPeriod, &h.StartPeriod}} {
			if x.from > 0 {
				*x.to = x.from
			}
		}
		if own.Retries > 0 {
			h.Retries = own.Retries
		}
	}
	if len(h.Test) < 2 { // none, or NONE
		return nil
	}
	if h.Interval <= 0 { // as an engine has it, and so the next two
		h.Interval = 30 * time.Second
	}
	if h.Timeout <= 0 {
		h.Timeout = 30 * time.Second
	}
	if h.Retries <= 0 {
		h.Retries = 3
	}
	return &h
}

// probeEvery is the longest pause between two looks at a companion that starts. An
// engine's first look comes only after a whole interval.
const probeEvery = 2 * time.Second

// well waits until it is healthy; without a health check it must run, or have ended
// with exit code 0. It is unhealthy once as many looks have failed as may, over the
// time in which an engine takes so many.
func (m *companion) well(ctx context.Context) error {
	if m.healthy {
		return nil
	}
	if m.health == nil {
		_, err := m.ended(ctx)
		return m.wrap(ctx, err)
	}
	end := time.Now().Add(m.health.StartPeriod + time.Duration(m.health.Retries)*m.health.Interval)
	pause := 100 * time.Millisecond
	for failed := 1; ; failed++ {
		said, err := m.probeHealth(ctx)
		if err == nil {
			m.healthy = true
			return nil
		}
		if ctx.Err() != nil {
			return m.wrap(ctx, fmt.Errorf("waiting for its health check %q: %w", m.health.Test, context.Cause(ctx)))
		}
		over, gone := m.ended(ctx)
		if over {
			gone = errors.New("it ended before it was healthy")
		}
		if gone != nil {
			return m.wrap(ctx, gone)
		}
		if failed >= m.health.Retries && time.Now().After(end) {
			return m.wrap(ctx, fmt.Errorf("it is unhealthy: %q: %w: %s", m.health.Test, err, oneLine(said)))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, probeEvery, m.health.Interval)
	}
}

// probeHealth runs the health check once. One that takes too long is left to itself.
func (m *companion) probeHealth(ctx context.Context) (said string, err error) {
	argv := m.health.Test[1:]
	if m.health.Test[0] == "CMD-SHELL" {
		argv = append(m.shell[:len(m.shell):len(m.shell)], argv...)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, m.health.Timeout, fmt.Errorf("it took longer than %s", m.health.Timeout))
	defer cancel()
	x, err := m.launch(ctx, sandbox.Proc{Argv: argv, Dir: m.workdir}, as{m.user})
	if err != nil {
		return "", err
	}
	type answer struct {
		said string
		err  error
	}
	answers := make(chan answer, 1)
	m.joined.Go(func() {
		said, err := x.run()
		answers <- answer{said, err}
	})
	select {
	case a := <-answers:
		return a.said, a.err
	case <-ctx.Done():
		x.conn.Close() // ends run
		return "", context.Cause(ctx)
	}
}

// run a process to its end; what it said, and an error where its exit code is not 0.
func (x *process) run() (string, error) {
	out := sandbox.NewCollector(1<<10, nil)
	var reading sync.WaitGroup
	for _, r := range []io.Reader{x.stdout, x.stderr} {
		reading.Go(func() { _, _ = io.Copy(out, r) }) // its end is told by Wait
	}
	code, err := x.Wait()
	err = errors.Join(err, x.Close())
	reading.Wait()
	var all sandbox.Result
	out.Fill(&all)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d", code)
	}
	return string(all.Output), err
}

// ended says whether it has ended with exit code 0; another code is an error, unless
// the engine starts it again.
func (m *companion) ended(ctx context.Context) (bool, error) {
	if gone := m.alive(); gone != nil || m.parent == nil { // nil: it is the sandbox itself
		return false, gone
	}
	ctx, cancel := questioning(ctx)
	defer cancel()
	info, err := m.p.engine.ContainerInspect(ctx, m.id)
	switch {
	case err != nil:
		return false, m.p.explain(err)
	case info.State.Running || info.State.Restarting:
		return false, nil
	case info.State.OOMKilled:
		return false, fmt.Errorf("it was killed, out of memory (exit code %d): give it more by mem_limit", info.State.ExitCode)
	case info.State.ExitCode != 0:
		return false, fmt.Errorf("it ended with exit code %d", info.State.ExitCode)
	}
	return true, nil
}

// completed waits for its end.
func (m *companion) completed(ctx context.Context) error {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		if over, err := m.ended(ctx); over || err != nil {
			return m.wrap(ctx, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return m.wrap(ctx, fmt.Errorf("waiting for its end: %w", context.Cause(ctx)))
		}
	}
}

// wrap an error in the companion's name and what it last said.
func (m *companion) wrap(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if m.parent == nil {
		return fmt.Errorf("the main service: %w", err)
	}
	said := m.lastWords(ctx)
	err = fmt.Errorf("companion %s: %w", m.of.Name, err)
	if said != "" {
		err = fmt.Errorf("%w (last lines: %s)", err, said)
	}
	if strings.Contains(strings.ToLower(said), "address already in use") {
		err = fmt.Errorf("%w; all services of a sandbox share one network: no two can listen on the same port", err)
	}
	return err
}

// lastWords of a companion, as far as they can be had.
func (m *companion) lastWords(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askLimit)
	defer cancel()
	stream, err := m.p.engine.ContainerLogs(ctx, m.id, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: strconv.Itoa(quoted)})
	if err != nil {
		return ""
	}
	defer stream.Close()
	var said bytes.Buffer
	_, err = stdcopy.StdCopy(&said, &said, io.LimitReader(stream, 64<<10))
	var lines []string
	for line := range strings.Lines(strings.ToValidUTF8(said.String(), "\uFFFD")) {
		if line = oneLine(line); line != "" {
			lines = append(lines, line[:min(len(line), 300)])
		}
	}
	if err != nil && len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, " | ")
}
