package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"rollbench/engine/task/compose"
	"rollbench/sandbox"
)

const (
	defaultBuildLimit  = 600 * time.Second // Harbor's
	defaultVerifyLimit = 600 * time.Second // Harbor's
	defaultWorkdir     = "/testbed"
	repoArchive        = "environment/repo.tar.gz"
)

// harbor is a task folder: task.toml, instruction.md, environment/, tests/ and
// solution/. rollbench's own convention is environment/repo.tar.gz: the
// workdir's content, with its .git, for sandboxes that have no image.
type harbor struct {
	folder      fs.FS
	verifierEnv map[string]string
	solutionEnv map[string]string
	archive     bool
	roles
	// solutionMissing is a variable of this machine that only the solution needs.
	solutionMissing error
}

// loadHarbor reads a task folder. Everything that can be wrong with a task is
// found here, before any sandbox is opened for it.
func loadHarbor(folder fs.FS, id, origin string, o Options) (Instance, error) {
	in := Instance{ID: id, Format: "harbor", Origin: origin, Network: o.Network}
	m, err := in.readTexts(folder)
	if err != nil {
		return Instance{}, err
	}
	if err := in.takeLimits(&m); err != nil {
		return Instance{}, err
	}
	kind := &harbor{folder: folder, archive: exists(folder, repoArchive)}
	in.kind = kind
	if err := kind.environments(&in, &m, o); err != nil {
		return Instance{}, err
	}
	if err := kind.takeRoles(&in, &m, o); err != nil {
		return Instance{}, err
	}
	if err := kind.image(&in, &m, o); err != nil {
		return Instance{}, err
	}
	if in.LocalOK && !kind.archive {
		return Instance{}, fmt.Errorf("task.toml: metadata.rollbench.local needs %s: a local sandbox has no image to take the repository from", repoArchive)
	}
	in.Reference, err = harborReference(folder, kind)
	return in, err
}

// readTexts takes the instruction and what task.toml says beside limits.
func (in *Instance) readTexts(folder fs.FS) (m manifest, err error) {
	text, err := readText(folder, "task.toml")
	if err != nil {
		return m, err
	}
	if m, in.Warnings, err = parseManifest(text); err != nil {
		return m, err
	}
	if in.Instruction, err = readText(folder, "instruction.md"); err != nil {
		return m, err
	}
	if strings.TrimSpace(in.Instruction) == "" {
		return m, errors.New("instruction.md is empty; write what the agent has to do")
	}
	in.Instruction = withoutCanary(in.Instruction)
	if !m.separate() && !exists(folder, "tests/test.sh") {
		return m, errors.New("tests/test.sh is missing; it must write the reward to /logs/verifier/reward.txt")
	}
	own := m.Metadata.Rollbench
	in.LocalOK, in.Needs, in.TestCommand = own.Local, own.Needs, own.TestCommand
	if !m.saysNetwork() && !in.Network {
		in.Warnings = append(in.Warnings, "task.toml has no environment.network_mode: run without network, where Harbor gives one; set tasks.network = true to do so, too")
	}
	in.Network = m.policyNetwork(in.Network)
	return m, nil
}

// takeLimits leaves 0 where the task is silent and somebody else has a default.
func (in *Instance) takeLimits(m *manifest) (err error) {
	in.AgentLimit = seconds(m.Agent.Timeout, 0)
	in.VerifyLimit = seconds(m.Verifier.Timeout, defaultVerifyLimit)
	in.BuildLimit = seconds(m.Environment.BuildTimeout, defaultBuildLimit)
	in.CPUs, in.MemoryMB, in.DiskMB, err = m.Environment.limits("environment")
	return err
}

// environments resolves the three env tables.
func (h *harbor) environments(in *Instance, m *manifest, o Options) error {
	for _, t := range []struct {
		table string
		env   map[string]string
		into  *map[string]string
	}{
		{"environment.env", m.Environment.Env, &in.Env},
		{"verifier.env", m.Verifier.Env, &h.verifierEnv},
		{"solution.env", m.Solution.Env, &h.solutionEnv},
	} {
		env, taken, err := expandEnv(t.table, t.env, o.Getenv)
		if err != nil && t.table == "solution.env" { // no policy needs it
			h.solutionMissing = err
			continue
		}
		if err != nil {
			return err
		}
		*t.into = env
		in.Warnings = append(in.Warnings, taken...)
	}
	return nil
}

// image decides what the policy's sandbox runs: what a compose file builds,
// docker_image, else the Dockerfile.
func (h *harbor) image(in *Instance, m *manifest, o Options) error {
	t, err := harborCompose(in, h.folder, m, o)
	if err != nil {
		return err
	}
	dockerfile, found, err := t.image(in, "environment", m.Environment.Image, o)
	if err != nil {
		return err
	}
	if !found && !in.LocalOK {
		return errors.New("environment/Dockerfile is missing and task.toml has no environment.docker_image; one of them must say what to run")
	}
	given := m.Environment.Workdir
	if given == "" && path.IsAbs(t.own.Workdir) {
		given = t.own.Workdir
	}
	if in.Workdir, err = h.workdir(in, given, dockerfile); err != nil {
		return err
	}
	h.upload = m.Environment.Image != "" && t.project == nil && !h.archive && exists(h.folder, "environment") && !exists(h.folder, "environment/Dockerfile")
	return t.take(in, o)
}

// harborCompose reads environment/docker-compose.yaml, which Harbor lays over a base
// of its own (src/harbor/environments/docker): main, built from environment/, with
// the log folders, and these variables.
func harborCompose(in *Instance, folder fs.FS, m *manifest, o Options) (*together, error) {
	vars := map[string]string{
		"MAIN_IMAGE_NAME": mainImage, "PREBUILT_IMAGE_NAME": m.Environment.Image, "CONTEXT_DIR": ".",
		"CPUS": fmt.Sprint(cmp.Or(in.CPUs, 1)), "MEMORY": fmt.Sprintf("%dM", cmp.Or(in.MemoryMB, 2048)), // Harbor's
	}
	logs := map[string]string{"verifier": "/logs/verifier", "agent": "/logs/agent", "artifacts": "/logs/artifacts"}
	for key, name := range map[string]string{"VERIFIER_LOGS": "verifier", "AGENT_LOGS": "agent", "ARTIFACTS": "artifacts"} {
		vars["HOST_"+key+"_PATH"], vars["ENV_"+key+"_PATH"] = hostLogs+"/"+name, logs[name]
	}
	maps.Copy(vars, in.Env)
	return readCompose(folder, "environment", compose.Options{Main: mainService, AddMain: true, Vars: vars, Getenv: o.Getenv}, logs)
}

// workdir is task.toml's, else the image's own: "" where the Dockerfile does not tell
// it. A WORKDIR with a variable in it cannot be told from here, nor that of FROM. A
// patch needs a folder below / in any case, and so does a local sandbox.
func (h *harbor) workdir(in *Instance, given, dockerfile string) (string, error) {
	if given != "" {
		if given = path.Clean(given); given == "/" && h.graded == ByPatch {
			return "", errors.New(`task.toml: environment.workdir is "/"; it must be a folder below it, or nothing can be told of what was changed`)
		}
		return given, nil
	}
	found := lastWorkdir(dockerfile)
	if found == "/" && h.graded == ByPatch {
		found = ""
	}
	if found == "" && in.LocalOK {
		in.Warnings = append(in.Warnings, fmt.Sprintf("task.toml has no environment.workdir and the Dockerfile no usable WORKDIR: %s is used", defaultWorkdir))
		found = defaultWorkdir
	}
	return found, nil
}

// lastWorkdir is where the last stage of a Dockerfile ends, "" when it does not say.
func lastWorkdir(dockerfile string) string {
	found := ""
	for line := range strings.Lines(dockerfile) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch dir := strings.Trim(strings.TrimSpace(rest), `"`); {
		case strings.EqualFold(word, "FROM"):
			found = ""
		case !strings.EqualFold(word, "WORKDIR") || strings.Contains(dir, "$"):
		case path.IsAbs(dir):
			found = path.Clean(dir)
		case found != "":
			found = path.Join(found, dir)
		}
	}
	return found
}

// harborReference finds the solution: a diff beside solve.sh, a diff in a
// heredoc within it, else the script itself.
func harborReference(folder fs.FS, kind *harbor) (Reference, error) {
	var ref Reference
	if kind.archive {
		ref.tree = kind.files
	}
	for _, pattern := range []string{"solution/*.patch", "solution/*.diff"} {
		found, err := fs.Glob(folder, pattern)
		if err != nil {
			return ref, err
		}
		slices.Sort(found)
		for _, file := range found {
			patch, err := fs.ReadFile(folder, file)
			if err != nil {
				return ref, err
			}
			ref.Patch = append(ref.Patch, patch...)
		}
		if len(ref.Patch) > 0 {
			return ref, nil
		}
	}
	if !exists(folder, "solution/solve.sh") {
		return ref, nil
	}
	script, err := fs.ReadFile(folder, "solution/solve.sh")
	if err != nil {
		return ref, err
	}
	if patch := heredocDiff(string(script)); patch != "" {
		ref.Patch = []byte(patch) // the script stays: it may apply the diff in its own way
	}
	ref.Script = script
	return ref, nil
}

func readText(folder fs.FS, name string) (string, error) {
	data, err := fs.ReadFile(folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is missing", name)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return string(data), nil
}

func exists(folder fs.FS, name string) bool {
	_, err := fs.Stat(folder, name)
	return err == nil
}

// lay unpacks the archive where the image does not already hold the repository.
func (h *harbor) lay(ctx context.Context, in *Instance, sb sandbox.Sandbox) (string, error) {
	if !h.archive {
		return "", nil
	}
	// A relative path is taken from the workdir, however the sandbox maps it.
	_, err := sb.Stat(ctx, ".git")
	if err == nil || !errors.Is(err, sandbox.ErrNotExist) {
		return "", err
	}
	tree, err := h.open()
	if err != nil {
		return "", err
	}
	err = sb.CopyIn(ctx, sb.Workdir(), tree)
	if closeErr := tree.Close(); err == nil {
		err = closeErr
	}
	return "", err
}

// canaryLine marks benchmark data, so that it can be found in training data. Harbor
// keeps it from the policy.
var canaryLine = regexp.MustCompile(`(?i)^(<!--.*canary.*-->|#.*canary.*)$`)

// withoutCanary is an instruction without the marks that it begins with, and the blank
// lines after them.
func withoutCanary(text string) string {
	for {
		line, rest, more := strings.Cut(text, "\n")
		if !canaryLine.MatchString(strings.TrimSpace(line)) {
			break
		}
		if text = rest; !more {
			break
		}
	}
	return strings.TrimLeft(text, "\r\n")
}
