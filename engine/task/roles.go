package task

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// What task.toml says of the policy's and the verifier's roles: users, networks,
// environments, and what is handed from one to the other.

// collectTable is one of [[verifier.collect]].
type collectTable struct {
	Command string   `toml:"command"`
	Service string   `toml:"service"`
	Timeout *float64 `toml:"timeout_sec"`
	User    any      `toml:"user"`
}

// separate says whether the verifier has an environment of its own. As in Harbor, to
// describe one is to want one.
func (m *manifest) separate() bool {
	return m.Verifier.Mode == "separate" || m.Verifier.Mode == "" && m.Verifier.Environment != nil
}

// checkPlaces refuses what no sandbox could be opened with, or what would be graded
// otherwise than the task means it.
func (m *manifest) checkPlaces() error {
	v := &m.Verifier
	switch {
	case v.Mode != "" && v.Mode != "shared" && v.Mode != "separate":
		return fmt.Errorf("task.toml: verifier.environment_mode is %q; it must be shared or separate", v.Mode)
	case v.Mode == "shared" && v.Environment != nil:
		return errors.New(`task.toml: verifier.environment_mode is "shared", and there is a [verifier.environment]; leave one of them out`)
	}
	for key, mode := range map[string]string{"agent": m.Agent.NetworkMode, "verifier": v.NetworkMode} {
		if err := checkNetwork(key, mode); err != nil {
			return err
		}
	}
	if err := m.Environment.checkPlace("environment"); err != nil {
		return err
	}
	if v.Environment != nil {
		if err := v.Environment.checkPlace("verifier.environment"); err != nil {
			return err
		}
	}
	for i, c := range v.Collect {
		switch {
		case strings.TrimSpace(c.Command) == "":
			return fmt.Errorf("task.toml: verifier.collect, number %d: command is missing", i+1)
		case c.Service != "" && c.Service != mainService:
			return fmt.Errorf("task.toml: verifier.collect, number %d: service is %q; only what runs in %q can be collected from", i+1, c.Service, mainService)
		}
		if err := checkSeconds(fmt.Sprintf("verifier.collect, number %d: timeout_sec", i+1), c.Timeout); err != nil {
			return err
		}
	}
	return nil
}

func (e *environmentTable) checkPlace(table string) error {
	if err := checkNetwork(table, e.NetworkMode); err != nil {
		return err
	}
	if os := strings.ToLower(e.OS); os != "" && os != "linux" {
		return fmt.Errorf("task.toml: %s.os is %q; sandboxes are Linux", table, e.OS)
	}
	if e.Workdir != "" && !path.IsAbs(e.Workdir) {
		return fmt.Errorf("task.toml: %s.workdir is %q; it must be an absolute path", table, e.Workdir)
	}
	for key, value := range map[string]*float64{"build_timeout_sec": e.BuildTimeout, "cpus": e.CPUs} {
		if err := checkSeconds(table+"."+key, value); err != nil {
			return err
		}
	}
	for key, value := range map[string]*int{"memory_mb": e.MemoryMB, "storage_mb": e.StorageMB} {
		if value != nil && *value <= 0 {
			return fmt.Errorf("task.toml: %s.%s is %d; it must be more than 0", table, key, *value)
		}
	}
	if e.Healthcheck != nil {
		return e.Healthcheck.check(table)
	}
	return nil
}

func checkNetwork(table, mode string) error {
	switch mode {
	case "", "public", "no-network", "allowlist":
		return nil
	}
	return fmt.Errorf("task.toml: %s.network_mode is %q; it must be public, no-network or allowlist", table, mode)
}

// network the table asks for, in so many words; otherwise is for a table without a word.
func (e *environmentTable) network(otherwise bool) bool {
	switch {
	case e.NetworkMode != "":
		return e.NetworkMode == "public"
	case e.Internet != nil:
		return *e.Internet
	}
	return otherwise
}

// policyMode is the policy's network mode: its own word, else its environment's.
func (m *manifest) policyMode() string {
	if m.Agent.NetworkMode != "" {
		return m.Agent.NetworkMode
	}
	return m.Environment.NetworkMode
}

// saysNetwork reports whether the task has a word about the policy's network.
func (m *manifest) saysNetwork() bool {
	return m.policyMode() != "" || m.Environment.Internet != nil
}

// policyNetwork is on only when the task asks for it, or otherwise says so of a task
// without a word.
func (m *manifest) policyNetwork(otherwise bool) bool {
	if m.Agent.NetworkMode != "" {
		return m.Agent.NetworkMode == "public"
	}
	return m.Environment.network(otherwise)
}

// verifierNetwork is that of a separate verifier.
func (m *manifest) verifierNetwork(otherwise bool) bool {
	e := &m.Environment
	if m.Verifier.Environment != nil {
		e = m.Verifier.Environment
	}
	if m.Verifier.NetworkMode != "" {
		return m.Verifier.NetworkMode == "public"
	}
	return e.network(otherwise)
}

// userName of a key that holds a name or a uid.
func userName(key string, v any) (string, error) {
	switch u := v.(type) {
	case nil:
		return "", nil
	case int64:
		if u >= 0 {
			return fmt.Sprint(u), nil
		}
	case string:
		if u != "" && !strings.ContainsAny(u, " \t\n()") {
			return u, nil
		}
	}
	return "", fmt.Errorf("task.toml: %s is %v; it must be a user's name or uid", key, v)
}

// mainService is what Harbor calls the policy's container.
const mainService = "main"

// artifactKeys are those of an entry of artifacts.
var artifactKeys = []string{"source", "destination", "exclude", "service"}

// artifacts that the task declares, with the folder that needs no declaration first.
// destination is Harbor's own place for them on the host.
func (m *manifest) artifacts() ([]artifact, error) {
	var out []artifact
	for i, entry := range m.Artifacts {
		a, err := artifactOf(entry)
		if err != nil {
			return nil, fmt.Errorf("task.toml: artifacts, number %d: %w", i+1, err)
		}
		out = append(out, a)
	}
	if !slices.ContainsFunc(out, func(a artifact) bool { return a.source == artifactsDir }) {
		out = slices.Insert(out, 0, artifact{source: artifactsDir})
	}
	return out, nil
}

func artifactOf(entry any) (a artifact, err error) {
	table := map[string]any{}
	switch e := entry.(type) {
	case string:
		table["source"] = e
	case map[string]any:
		table = e
	default:
		return a, fmt.Errorf("%v is neither a path nor a table {source = …}", entry)
	}
	for key := range table {
		if !slices.Contains(artifactKeys, key) {
			return a, fmt.Errorf("unknown key %q; there are %s", key, strings.Join(artifactKeys, ", "))
		}
	}
	if service, given := table["service"]; given && service != mainService {
		return a, fmt.Errorf("service is %v; only the files of %q can be collected", service, mainService)
	}
	source, _ := table["source"].(string)
	if a.source = path.Join("/", source); source == "" || a.source == "/" || slices.Contains(strings.Split(source, "/"), "..") {
		return a, fmt.Errorf("source is %v; it must be a path below /, without ..", table["source"])
	}
	list, isList := table["exclude"].([]any)
	if _, given := table["exclude"]; given && !isList {
		return a, errors.New("exclude must be a list of patterns")
	}
	for _, one := range list {
		pattern, _ := one.(string)
		if pattern == "" {
			return a, fmt.Errorf("exclude has %v; it must hold patterns", one)
		}
		a.exclude = append(a.exclude, pattern)
	}
	return a, nil
}
