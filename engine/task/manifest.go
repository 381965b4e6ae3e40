package task

import (
	"errors"
	"fmt"
	"maps"
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
	Version       any   `toml:"version"`
	SchemaVersion any   `toml:"schema_version"`
	Source        any   `toml:"source"`
	Artifacts     []any `toml:"artifacts"`
	Steps         []any `toml:"steps"`
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
		Timeout      *float64 `toml:"timeout_sec"`
		NetworkMode  string   `toml:"network_mode"`
		AllowedHosts any      `toml:"allowed_hosts"`
		User         any      `toml:"user"`
	} `toml:"agent"`
	Verifier struct {
		Timeout      *float64          `toml:"timeout_sec"`
		NetworkMode  string            `toml:"network_mode"`
		AllowedHosts any               `toml:"allowed_hosts"`
		Env          map[string]string `toml:"env"`
		User         any               `toml:"user"`
		Mode         string            `toml:"environment_mode"`
		Collect      []collectTable    `toml:"collect"`
		Environment  *environmentTable `toml:"environment"`
	} `toml:"verifier"`
	Solution struct {
		Env map[string]string `toml:"env"`
	} `toml:"solution"`
	Environment environmentTable `toml:"environment"`
}

// environmentTable is [environment], and [verifier.environment].
type environmentTable struct {
	BuildTimeout *float64          `toml:"build_timeout_sec"`
	Image        string            `toml:"docker_image"`
	CPUs         *float64          `toml:"cpus"`
	MemoryMB     *int              `toml:"memory_mb"`
	StorageMB    *int              `toml:"storage_mb"`
	Memory       *string           `toml:"memory"`
	Storage      *string           `toml:"storage"`
	GPUs         int               `toml:"gpus"`
	OS           string            `toml:"os"`
	TPU          any               `toml:"tpu"`
	GPUTypes     any               `toml:"gpu_types"`
	Internet     *bool             `toml:"allow_internet"`
	NetworkMode  string            `toml:"network_mode"`
	AllowedHosts any               `toml:"allowed_hosts"`
	Workdir      string            `toml:"workdir"`
	Env          map[string]string `toml:"env"`
	Healthcheck  *healthTable      `toml:"healthcheck"`
	MCPServers   []any             `toml:"mcp_servers"`
	SkillsDir    any               `toml:"skills_dir"`
}

// opaque tables are accepted as a whole, whatever they hold.
var opaque = []string{"artifacts", "source", "task.authors", "environment.mcp_servers", "verifier.environment.mcp_servers", "environment.tpu", "verifier.environment.tpu"}

// parseManifest reads task.toml. Keys nobody knows become warnings, except in
// [metadata], which is free, and in [metadata.rollbench], which is ours.
func parseManifest(text string) (m manifest, warnings []string, err error) {
	meta, err := toml.Decode(text, &m)
	if err != nil {
		return m, nil, tomlError(err)
	}
	if len(m.Steps) > 0 {
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
	warn(e.GPUs > 0, "environment.gpus is ignored; sandboxes have no GPU")
	warn(e.TPU != nil, "environment.tpu is ignored; sandboxes have no TPU")
	warn(len(e.MCPServers) > 0, "environment.mcp_servers is ignored")
	warn(e.SkillsDir != nil, "environment.skills_dir is ignored")
	warn(m.policyMode() == "allowlist", `network_mode "allowlist" is run without network; hosts cannot be allowed one by one`)
	return out
}

// check refuses values that no sandbox could be opened with.
func (m *manifest) check() error {
	if err := checkSeconds("agent.timeout_sec", m.Agent.Timeout); err != nil {
		return err
	}
	if err := checkSeconds("verifier.timeout_sec", m.Verifier.Timeout); err != nil {
		return err
	}
	return m.checkPlaces()
}

func checkSeconds(key string, value *float64) error {
	if value != nil && (!(*value > 0) || *value > 1e6) { // NaN fails the first
		return fmt.Errorf("task.toml: %s is %v; it must be more than 0 and at most 1000000", key, *value)
	}
	return nil
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
