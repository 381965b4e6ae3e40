package task

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// manifest is task.toml. Fields of type any are accepted and not used; those
// that would change a result are warned of by notHonoured.
type manifest struct {
	Version       any `toml:"version"`
	SchemaVersion any `toml:"schema_version"`
	Source        any `toml:"source"`
	Artifacts     any `toml:"artifacts"`
	Steps         any `toml:"steps"`
	Task          struct {
		Name        any `toml:"name"`
		Description any `toml:"description"`
		Authors     any `toml:"authors"`
		Keywords    any `toml:"keywords"`
	} `toml:"task"`
	Metadata struct {
		Rollbench struct {
			Local       bool     `toml:"local"`
			Needs       []string `toml:"needs"`
			TestCommand string   `toml:"test_command"`
		} `toml:"rollbench"`
	} `toml:"metadata"`
	Agent struct {
		Timeout     *float64 `toml:"timeout_sec"`
		NetworkMode any      `toml:"network_mode"`
		User        any      `toml:"user"`
	} `toml:"agent"`
	Verifier struct {
		Timeout     *float64          `toml:"timeout_sec"`
		Env         map[string]string `toml:"env"`
		User        any               `toml:"user"`
		Mode        any               `toml:"environment_mode"`
		Collect     any               `toml:"collect"`
		Environment any               `toml:"environment"`
	} `toml:"verifier"`
	Solution struct {
		Env map[string]string `toml:"env"`
	} `toml:"solution"`
	Environment struct {
		BuildTimeout *float64          `toml:"build_timeout_sec"`
		Image        string            `toml:"docker_image"`
		CPUs         *float64          `toml:"cpus"`
		MemoryMB     *int              `toml:"memory_mb"`
		StorageMB    *int              `toml:"storage_mb"`
		Memory       *string           `toml:"memory"`
		Storage      *string           `toml:"storage"`
		GPUs         int               `toml:"gpus"`
		GPUTypes     any               `toml:"gpu_types"`
		Internet     *bool             `toml:"allow_internet"`
		NetworkMode  string            `toml:"network_mode"`
		AllowedHosts any               `toml:"allowed_hosts"`
		Workdir      string            `toml:"workdir"`
		Env          map[string]string `toml:"env"`
		Healthcheck  any               `toml:"healthcheck"`
		MCPServers   any               `toml:"mcp_servers"`
		SkillsDir    any               `toml:"skills_dir"`
	} `toml:"environment"`
}

// opaque tables are accepted as a whole, whatever they hold.
var opaque = []string{"artifacts", "source", "task.authors", "verifier.collect", "verifier.environment.", "environment.healthcheck", "environment.mcp_servers"}

// parseManifest reads task.toml. Keys nobody knows become warnings, except in
// [metadata], which is free, and in [metadata.rollbench], which is ours.
func parseManifest(text string) (m manifest, warnings []string, err error) {
	meta, err := toml.Decode(text, &m)
	if err != nil {
		return m, nil, tomlError(err)
	}
	if m.Steps != nil {
		return m, nil, errors.New("task.toml: [[steps]]: tasks of several steps are not supported; split it into tasks of one step")
	}
	for _, key := range meta.Undecoded() {
		switch {
		case len(key) > 2 && key[0] == "metadata" && key[1] == "rollbench":
			return m, nil, fmt.Errorf("task.toml: unknown key %q; [metadata.rollbench] has local, needs and test_command", key.String())
		case key[0] == "metadata" || slices.ContainsFunc(opaque, func(top string) bool { return strings.HasPrefix(key.String(), top) }):
		default:
			warnings = append(warnings, fmt.Sprintf("task.toml: unknown key %q is ignored", key.String()))
		}
	}
	return m, append(warnings, m.notHonoured()...), m.check()
}

// tomlError puts the decoder's finding on one line that names line and key.
func tomlError(err error) error {
	var parse toml.ParseError
	if errors.As(err, &parse) {
		key := ""
		if parse.LastKey != "" {
			key = fmt.Sprintf("key %q: ", parse.LastKey)
		}
		return fmt.Errorf("task.toml: line %d: %s%s", parse.Position.Line, key, firstLine(parse.Message))
	}
	if m := wrongType.FindStringSubmatch(firstLine(err.Error())); m != nil {
		return fmt.Errorf("task.toml: line %s: key %q: the value is a %s; it must be a %s", m[1], m[2], m[3], m[4])
	}
	return fmt.Errorf("task.toml: %s", firstLine(strings.TrimPrefix(err.Error(), "toml: ")))
}

// wrongType takes the decoder's message for a value of another type apart.
var wrongType = regexp.MustCompile(`^toml: line (\d+) \(last key "(.*)"\): incompatible types: TOML value has type (\w+); destination has type (\w+)`)

// notHonoured warns of keys that are understood and have no effect here.
func (m *manifest) notHonoured() []string {
	var out []string
	warn := func(set bool, text string) {
		if set {
			out = append(out, "task.toml: "+text)
		}
	}
	e := &m.Environment
	warn(m.Artifacts != nil, "artifacts are not collected")
	warn(m.Agent.NetworkMode != nil, "agent.network_mode is ignored; environment.network_mode decides")
	warn(m.Agent.User != nil, "agent.user is ignored; the sandbox's user runs the agent")
	warn(m.Verifier.User != nil, "verifier.user is ignored; the sandbox's user runs the tests")
	warn(m.Verifier.Mode != nil, "verifier.environment_mode is ignored; the verifier always has a fresh sandbox with the patch applied")
	warn(m.Verifier.Collect != nil, "verifier.collect is ignored")
	warn(m.Verifier.Environment != nil, "verifier.environment is ignored; the verifier runs in the task's own environment")
	warn(e.GPUs > 0, "environment.gpus is ignored; sandboxes have no GPU")
	warn(e.Healthcheck != nil, "environment.healthcheck is ignored")
	warn(e.MCPServers != nil, "environment.mcp_servers is ignored")
	warn(e.SkillsDir != nil, "environment.skills_dir is ignored")
	warn(e.NetworkMode == "allowlist", `environment.network_mode "allowlist" is run without network; hosts cannot be allowed one by one`)
	return out
}

// check refuses values that no sandbox could be opened with.
func (m *manifest) check() error {
	e := &m.Environment
	for _, one := range []struct {
		key   string
		value *float64
	}{
		{"agent.timeout_sec", m.Agent.Timeout}, {"verifier.timeout_sec", m.Verifier.Timeout},
		{"environment.build_timeout_sec", e.BuildTimeout}, {"environment.cpus", e.CPUs},
	} {
		if one.value != nil && (!(*one.value > 0) || *one.value > 1e6) { // NaN fails the first
			return fmt.Errorf("task.toml: %s is %v; it must be more than 0 and at most 1000000", one.key, *one.value)
		}
	}
	for _, one := range []struct {
		key   string
		value *int
	}{{"environment.memory_mb", e.MemoryMB}, {"environment.storage_mb", e.StorageMB}} {
		if one.value != nil && *one.value <= 0 {
			return fmt.Errorf("task.toml: %s is %d; it must be more than 0", one.key, *one.value)
		}
	}
	switch e.NetworkMode {
	case "", "public", "no-network", "allowlist":
	default:
		return fmt.Errorf("task.toml: environment.network_mode is %q; it must be public, no-network or allowlist", e.NetworkMode)
	}
	if e.Workdir != "" && (!path.IsAbs(e.Workdir) || path.Clean(e.Workdir) == "/") {
		return fmt.Errorf("task.toml: environment.workdir is %q; it must be an absolute path below /", e.Workdir)
	}
	return nil
}

// network is on only when the task asks for it in so many words.
func (m *manifest) network() bool {
	e := &m.Environment
	if e.NetworkMode != "" {
		return e.NetworkMode == "public"
	}
	return e.Internet != nil && *e.Internet
}

// saysNetwork reports whether the task has a word about its network.
func (m *manifest) saysNetwork() bool {
	return m.Environment.NetworkMode != "" || m.Environment.Internet != nil
}

// sizeMB takes the megabytes, else the old spelling ("2G"), else 0.
func sizeMB(key string, mb *int, old *string) (int, error) {
	if mb != nil {
		return *mb, nil
	}
	if old == nil {
		return 0, nil
	}
	text := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(strings.TrimSpace(*old)), "B"), "I")
	units := map[string]float64{"K": 1.0 / 1024, "M": 1, "G": 1024, "T": 1024 * 1024}
	for unit, factor := range units {
		number, found := strings.CutSuffix(text, unit)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err == nil && n > 0 && n*factor >= 1 && n*factor < 1e9 {
			return int(n * factor), nil
		}
	}
	return 0, fmt.Errorf(`task.toml: %s is %q; write a size such as "2G" or use %s_mb`, key, *old, key)
}

func seconds(v *float64, otherwise time.Duration) time.Duration {
	if v == nil {
		return otherwise
	}
	return time.Duration(*v * float64(time.Second))
}

// expandEnv resolves ${VAR} and ${VAR:-default} from this machine's
// environment and names every variable that a task took from it.
func expandEnv(table string, env map[string]string, getenv func(string) (string, bool)) (map[string]string, []string, error) {
	out := map[string]string{}
	var taken []string
	for _, key := range slices.Sorted(maps.Keys(env)) {
		value, used, err := expand(env[key], getenv)
		if err != nil {
			return nil, nil, fmt.Errorf("task.toml: %s.%s: %w", table, key, err)
		}
		for _, name := range used {
			taken = append(taken, fmt.Sprintf("task.toml: %s.%s takes %s from this machine's environment", table, key, name))
		}
		out[key] = value
	}
	return out, taken, nil
}

// expand resolves one value. An empty variable counts as unset where there is a
// default, as in a shell.
func expand(value string, getenv func(string) (string, bool)) (string, []string, error) {
	var out strings.Builder
	var used []string
	for {
		before, rest, found := strings.Cut(value, "${")
		out.WriteString(before)
		if !found {
			return out.String(), used, nil
		}
		inside, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", nil, fmt.Errorf("%q has ${ without }", value)
		}
		name, fallback, hasFallback := strings.Cut(inside, ":-")
		if name == "" {
			return "", nil, fmt.Errorf("%q names no variable", "${"+inside+"}")
		}
		got, ok := getenv(name)
		switch {
		case ok && (got != "" || !hasFallback):
			used = append(used, name)
			out.WriteString(got)
		case hasFallback:
			out.WriteString(fallback)
		default:
			return "", nil, fmt.Errorf("variable %s is not set; export it or write ${%s:-default}", name, name)
		}
		value = after
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(line)
}
