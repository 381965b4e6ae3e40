package task

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"strings"

	"rollbench/engine/task/compose"
	"rollbench/sandbox"
)

// roles is what a Harbor task says of who does what, and where.
type roles struct {
	graded    Grading
	health    *healthTable
	user      string // whom the tests run as
	collect   []hook
	artifacts []artifact
	verifier  verifierPlace // of ByArtifacts
	upload    bool          // environment/ belongs into the workdir
}

// verifierPlace is the environment of a separate verifier.
type verifierPlace struct {
	spec   sandbox.Spec
	health *healthTable
}

func (h *harbor) grading() Grading { return h.graded }

func (h *harbor) whole() bool { return h.graded != ByPatch }

// ready puts environment/ into the workdir where an image was named instead of a
// Dockerfile, as Harbor does, and waits until the environment is well.
func (h *harbor) ready(ctx context.Context, _ *Instance, sb sandbox.Sandbox) error {
	if h.upload {
		if err := h.copyIn(ctx, sb, "environment", sb.Workdir()); err != nil {
			return err
		}
	}
	return h.health.wait(ctx, sb)
}

// verify of a Harbor task: tests/ becomes /tests, test.sh runs in the workdir
// and leaves the reward below /logs/verifier.
func (h *harbor) verify(ctx context.Context, in *Instance, sb sandbox.Sandbox) (Verdict, error) {
	tests, logs := sb.Path("/tests"), sb.Path("/logs")
	var notes []string
	if h.graded == InPlace {
		var err error
		if notes, err = h.runHooks(ctx, sb); err != nil {
			return Verdict{}, err
		}
	}
	if err := h.layTests(ctx, sb, tests); err != nil {
		return Verdict{}, err
	}
	env := map[string]string{"TESTS_DIR": tests, "LOGS_DIR": logs}
	maps.Copy(env, h.verifierEnv)
	// Run as a program, test.sh is what its first line says.
	res, err := sb.Exec(ctx, sandbox.Command{Script: `"$TESTS_DIR/test.sh"`, Env: env, User: h.user, Timeout: in.VerifyLimit})
	if err != nil {
		return Verdict{}, err
	}
	verdict := Verdict{Log: append([]byte(strings.Join(append(notes, ""), "\n")), res.Output...)}
	switch res.End {
	case sandbox.Cancelled:
		return verdict, cancelled(ctx)
	case sandbox.TimedOut, sandbox.IdledOut:
		verdict.Note, verdict.TimedOut = fmt.Sprintf("verifier timed out after %s", in.VerifyLimit), in.VerifyLimit
		return verdict, nil
	}
	err = readReward(ctx, sb, logs+"/verifier", &verdict)
	if err == nil && verdict.Reward == nil {
		verdict.Note += fmt.Sprintf(" (test.sh ended with exit code %d)", res.ExitCode)
	}
	return verdict, err
}

// layTests makes the place ready for test.sh. Leftovers would pass for results, so none
// stay. The image of a separate verifier has its own tests.
func (h *harbor) layTests(ctx context.Context, sb sandbox.Sandbox, tests string) error {
	emptied := logs
	if h.whole() { // the others are the policy's, and may be looked at
		emptied = []string{"verifier"}
	}
	if err := makeLogs(ctx, sb, emptied...); err != nil {
		return err
	}
	if h.graded == ByArtifacts {
		if err := h.verifier.health.wait(ctx, sb); err != nil {
			return err
		}
		_, err := sb.Stat(ctx, tests+"/test.sh")
		if errors.Is(err, sandbox.ErrNotExist) {
			return h.copyIn(ctx, sb, "tests", tests)
		}
		return err
	}
	if err := clean(ctx, sb, tests); err != nil {
		return err
	}
	if err := makeDir(ctx, sb, sb.Workdir()); err != nil {
		return err
	}
	return h.copyIn(ctx, sb, "tests", tests)
}

// solve runs solution/solve.sh as Harbor's oracle does.
func (h *harbor) solve(ctx context.Context, in *Instance, sb sandbox.Sandbox) error {
	if h.solutionMissing != nil {
		return h.solutionMissing
	}
	dir := sb.Path("/solution")
	if err := clean(ctx, sb, dir); err != nil {
		return err
	}
	if err := h.copyIn(ctx, sb, "solution", dir); err != nil {
		return err
	}
	env := map[string]string{"SOLUTION_DIR": dir, "DEBIAN_FRONTEND": "noninteractive"}
	maps.Copy(env, h.solutionEnv)
	res, err := sb.Exec(ctx, sandbox.Command{Script: `"$SOLUTION_DIR/solve.sh"`, Env: env, Timeout: max(in.VerifyLimit, in.AgentLimit)})
	if in.whole() && err == nil && res.End == sandbox.Exited {
		res.ExitCode = 0 // the tests say what it was worth
	}
	if err := in.solved(ctx, "solve.sh", res, err); err != nil {
		return err
	}
	return clean(ctx, sb, dir)
}

// takeRoles reads who does what. A repository of the task's own in an archive makes it a
// task about a patch.
func (h *harbor) takeRoles(in *Instance, m *manifest, o Options) (err error) {
	h.health = m.Environment.Healthcheck
	switch {
	case m.separate():
		h.graded = ByArtifacts
	case h.archive || o.Verify == VerifyFresh:
		h.graded = ByPatch
	default:
		h.graded = InPlace
	}
	if in.User, err = userName("agent.user", m.Agent.User); err != nil {
		return err
	}
	if h.user, err = userName("verifier.user", m.Verifier.User); err != nil {
		return err
	}
	if h.user == "" {
		h.user = sandbox.ImageUser
	}
	for i, c := range m.Verifier.Collect {
		one := hook{command: c.Command, limit: seconds(c.Timeout, hookLimit)}
		if one.user, err = userName(fmt.Sprintf("verifier.collect, number %d: user", i+1), c.User); err != nil {
			return err
		}
		if one.user == "" {
			one.user = sandbox.ImageUser
		}
		h.collect = append(h.collect, one)
	}
	if h.artifacts, err = m.artifacts(); err != nil {
		return err
	}
	if h.graded == ByArtifacts {
		for _, a := range h.artifacts {
			if sandbox.Within("/tests/test.sh", a.source) {
				return fmt.Errorf("task.toml: artifacts: %s is where the verifier's tests lie, and the policy would write them; collect what it leaves elsewhere", a.source)
			}
		}
		return h.takeVerifier(in, m, o)
	}
	if m.Verifier.NetworkMode != "" && (m.Verifier.NetworkMode == "public") != in.Network {
		in.Warnings = append(in.Warnings, fmt.Sprintf("task.toml: verifier.network_mode %q is ignored; the tests run in the policy's sandbox, or one like it", m.Verifier.NetworkMode))
	}
	return nil
}

// takeVerifier finds the separate verifier's environment where Harbor looks: its own
// table, else the task's; its docker_image, else the Dockerfile in tests/.
func (h *harbor) takeVerifier(in *Instance, m *manifest, o Options) error {
	if in.LocalOK {
		return errors.New("task.toml: metadata.rollbench.local: a separate verifier needs an image of its own, which a local sandbox has not")
	}
	e, table := m.Verifier.Environment, "verifier.environment"
	if e == nil {
		e, table = &m.Environment, "environment"
	}
	if exists(h.folder, "tests/docker-compose.yaml") {
		return errors.New("tests/docker-compose.yaml: verifiers of several containers are not supported; give it a single Dockerfile")
	}
	env, taken, err := expandEnv(table+".env", e.Env, o.Getenv)
	if err != nil {
		return err
	}
	if table != "environment" {
		in.Warnings = append(in.Warnings, taken...)
	}
	spec := sandbox.Spec{Env: env, Network: m.verifierNetwork(o.Network)}
	if e.Workdir != "" {
		spec.Workdir = path.Clean(e.Workdir)
	}
	if spec.CPUs, spec.MemoryMB, spec.DiskMB, err = e.limits(table); err != nil {
		return err
	}
	switch spec.Image = e.Image; {
	case spec.Image != "":
	case exists(h.folder, "tests/Dockerfile"):
		spec.Image, spec.Build, err = built(h.folder, in.ID+"-verifier", &compose.Build{Context: "tests", Dockerfile: "Dockerfile"}, seconds(e.BuildTimeout, defaultBuildLimit), o)
		if err != nil {
			return err
		}
	default:
		return fmt.Errorf("tests/Dockerfile is missing and task.toml has no %s.docker_image; one of them must say what the separate verifier runs in", table)
	}
	if spec.Build == nil && !exists(h.folder, "tests/test.sh") {
		in.Warnings = append(in.Warnings, fmt.Sprintf("tests/test.sh is missing: the verifier's image %s must have /tests/test.sh", spec.Image))
	}
	h.verifier = verifierPlace{spec: spec, health: e.Healthcheck}
	return nil
}

// The values of Options.Verify.
const (
	VerifyShared = "shared" // in the policy's own sandbox, as Harbor does
	VerifyFresh  = "fresh"  // the patch of the workdir in a fresh sandbox
)

// limits of a sandbox, 0 where the table is silent.
func (e *environmentTable) limits(table string) (cpus float64, memory, disk int, err error) {
	if e.CPUs != nil {
		cpus = *e.CPUs
	}
	if memory, err = sizeMB(table+".memory", e.MemoryMB, e.Memory); err != nil {
		return 0, 0, 0, err
	}
	disk, err = sizeMB(table+".storage", e.StorageMB, e.Storage)
	return cpus, memory, disk, err
}
