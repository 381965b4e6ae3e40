package compose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// reader reads one service. The first thing that is wrong stays.
type reader struct {
	p    *project
	file string
	s    *Service
	err  error
}

func (r *reader) fail(n *node, key, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: line %d: service %s: %s: %w", r.file, n.line, r.s.Name, key, fmt.Errorf(format, args...))
	}
}

func (r *reader) warn(n *node, key, text string) {
	r.p.warn(fmt.Sprintf("%s: line %d: service %s: %s: %s", r.file, n.line, r.s.Name, key, text))
}

// service reads one; nil when it belongs to a profile.
func (p *project) service(name string) (*Service, error) {
	e, err := p.resolved(p.found[name], name, 0)
	if err != nil {
		return nil, err
	}
	r := &reader{p: p, file: e.file, s: &Service{Name: name, Names: []string{name}, Env: map[string]string{}}}
	if n := e.n.get("profiles"); n != nil && len(r.strings(n, "profiles")) > 0 {
		r.warn(n, "profiles", "it is of a profile, and not started")
		return nil, r.err
	}
	// The order matters where one key writes over another.
	for _, key := range slices.SortedFunc(slices.Values(e.n.keys), func(a, b string) int {
		return cmp.Or(cmp.Compare(slices.Index(first, b), slices.Index(first, a)), cmp.Compare(a, b))
	}) {
		n := e.n.get(key)
		if n == nil || strings.HasPrefix(key, "x-") {
			continue
		}
		read := keys[key]
		if read == nil {
			r.fail(n, key, "unknown key")
			break
		}
		read(r, key, n)
	}
	return r.s, r.err
}

// first are keys that others write over: env_file, and the limits of deploy.
var first = []string{"deploy", "env_file"}

// text of a scalar.
func (r *reader) text(n *node, key string) string {
	if n.kind != yaml.ScalarNode {
		r.fail(n, key, "it must be one value")
	}
	return n.text
}

func (r *reader) yes(n *node, key string) bool {
	switch strings.ToLower(r.text(n, key)) {
	case "true", "yes", "on":
		return true
	case "false", "no", "off":
	default:
		r.fail(n, key, "it must be true or false")
	}
	return false
}

// strings of a list, or of one value.
func (r *reader) strings(n *node, key string) []string {
	if n.kind == yaml.ScalarNode {
		return []string{n.text}
	}
	if n.kind != yaml.SequenceNode {
		r.fail(n, key, "it must be a list")
	}
	var out []string
	for _, item := range n.items {
		out = append(out, r.text(item, key))
	}
	return out
}

// pairs of a map, or of a list of KEY=VALUE. A key without a value has this
// machine's, if there is one.
func (r *reader) pairs(n *node, key string, into map[string]string) {
	if n = pairs(n); n.kind != yaml.MappingNode {
		r.fail(n, key, "it must be a map, or a list of KEY=VALUE")
		return
	}
	for _, k := range n.keys {
		v := n.fields[k]
		if v.kind == 0 {
			if value, ok := r.p.look(k); ok {
				into[k] = value
			}
			continue
		}
		into[k] = r.text(v, key)
	}
}

// command is a list, or a line that is split as a shell does.
func (r *reader) command(n *node, key string) []string {
	if n.kind != yaml.ScalarNode {
		return r.strings(n, key)
	}
	out, err := words(n.text)
	if err != nil {
		r.fail(n, key, "%v", err)
	}
	return out
}

func (r *reader) number(n *node, key string, low, high float64) float64 {
	x, err := strconv.ParseFloat(r.text(n, key), 64)
	if err != nil || math.IsNaN(x) || x < low || x > high {
		r.fail(n, key, "%q must be a number from %v to %v", short(n.text), low, high)
	}
	return x
}

func (r *reader) megabytes(n *node, key string) int {
	mb, err := megabytes(r.text(n, key))
	if err != nil {
		r.fail(n, key, "%v", err)
	}
	return mb
}

// only checks the keys of a map: what is not read must be known.
func (r *reader) only(n *node, key string, known ...string) bool {
	if n.kind != yaml.MappingNode {
		r.fail(n, key, "it must be a map")
		return false
	}
	for _, k := range n.keys {
		if n.get(k) != nil && !slices.Contains(known, k) && !strings.HasPrefix(k, "x-") {
			r.fail(n.fields[k], key+"."+k, "it is not supported")
			return false
		}
	}
	return true
}

func (r *reader) envFile(key string, n *node) {
	items := n.items
	if n.kind != yaml.SequenceNode {
		items = []*node{n}
	}
	for _, item := range items {
		name, needed := item, true
		if item.kind == yaml.MappingNode {
			if !r.only(item, key, "path", "required") {
				return
			}
			if name = item.get("path"); name == nil {
				r.fail(item, key, "it names no path")
				return
			}
			if q := item.get("required"); q != nil {
				needed = r.yes(q, key)
			}
		}
		file, err := r.p.local(r.file, r.text(name, key))
		var data string
		if err == nil {
			data, err = r.p.readText(file)
		}
		if err != nil && !needed && isMissing(err) {
			continue
		}
		if err == nil {
			err = r.p.envFile(file, data, func(k, v string, has bool) {
				if !has {
					v, has = r.p.look(k)
				}
				if has {
					r.s.Env[k] = v
				}
			})
		}
		if err != nil {
			r.fail(item, key, "%v", err)
			return
		}
	}
}

func (r *reader) depends(key string, n *node) {
	if n = pairs(n); n.kind != yaml.MappingNode {
		r.fail(n, key, "it must be a list of services, or a map")
		return
	}
	for _, name := range n.keys {
		d, v := Dependency{name, "service_started"}, n.fields[name]
		needed := true
		if v.kind != 0 {
			if !r.only(v, key, "condition", "required", "restart") {
				return
			}
			if c := v.get("condition"); c != nil {
				d.Until = r.text(c, key)
			}
			if q := v.get("required"); q != nil {
				needed = r.yes(q, key)
			}
		}
		if !slices.Contains([]string{"service_started", "service_healthy", "service_completed_successfully"}, d.Until) {
			r.fail(v, key, "condition %q is none; there are service_started, service_healthy and service_completed_successfully", short(d.Until))
			return
		}
		if _, there := r.p.found[name]; !there || r.p.found[name].n.get("profiles") != nil {
			if needed {
				r.fail(v, key, "there is no service %q that is started", name)
			}
			continue
		}
		r.s.After = append(r.s.After, d)
	}
}

func (r *reader) health(key string, n *node) {
	if !r.only(n, key, "test", "interval", "timeout", "retries", "start_period", "start_interval", "disable") {
		return
	}
	h := &Health{}
	if t := n.get("test"); t != nil {
		if h.Test = r.strings(t, key); t.kind == yaml.ScalarNode {
			h.Test = []string{"CMD-SHELL", t.text}
		}
		switch {
		case len(h.Test) == 0, !slices.Contains([]string{"NONE", "CMD", "CMD-SHELL"}, h.Test[0]), h.Test[0] != "NONE" && len(h.Test) == 1:
			r.fail(t, key, "test must be a line, or begin with CMD, CMD-SHELL or NONE and say what to run")
			return
		}
	}
	for name, into := range map[string]*time.Duration{"interval": &h.Interval, "timeout": &h.Timeout, "start_period": &h.StartPeriod} {
		if t := n.get(name); t != nil {
			d, err := duration(r.text(t, key))
			if err != nil {
				r.fail(t, key+"."+name, "%v", err)
			}
			*into = d
		}
	}
	if t := n.get("retries"); t != nil {
		h.Retries = int(r.number(t, key+".retries", 0, 10000))
	}
	if t := n.get("disable"); t != nil && r.yes(t, key) {
		h.Test = []string{"NONE"}
	}
	r.s.Health = h
}

// limits of deploy.resources.
func (r *reader) deploy(key string, n *node) {
	if !r.only(n, key, "resources", "replicas", "mode", "labels", "restart_policy", "placement", "update_config", "rollback_config", "endpoint_mode") {
		return
	}
	if t := n.get("replicas"); t != nil && r.text(t, key) != "1" {
		r.fail(t, key+".replicas", "a service is one container here")
	}
	if t := n.get("restart_policy"); t != nil {
		r.warn(t, key+".restart_policy", "it is ignored; write restart")
	}
	resources := n.get("resources")
	if resources == nil || !r.only(resources, key+".resources", "limits", "reservations") {
		return
	}
	if t := resources.get("reservations"); t != nil && t.get("devices") != nil {
		r.fail(t, key+".resources.reservations.devices", "a sandbox has no devices of the machine")
	}
	limits := resources.get("limits")
	if limits == nil || !r.only(limits, key+".resources.limits", "cpus", "memory", "pids") {
		return
	}
	for name, read := range map[string]func(*reader, string, *node){"cpus": cpus, "memory": memory, "pids": pids} {
		if t := limits.get(name); t != nil {
			read(r, key+".resources.limits."+name, t)
		}
	}
}

func (r *reader) build(key string, n *node) {
	b := &Build{Args: map[string]string{}}
	context := &node{kind: yaml.ScalarNode, line: n.line, text: "."}
	switch {
	case n.kind == yaml.ScalarNode:
		context = n
	case !r.only(n, key, "context", "dockerfile", "args", "target", "network", "pull", "no_cache", "cache_from", "cache_to", "labels", "platforms", "shm_size", "tags", "ulimits", "extra_hosts", "isolation"):
		return
	default:
		if t := n.get("context"); t != nil {
			context = t
		}
		if t := n.get("dockerfile"); t != nil {
			b.Dockerfile = r.text(t, key)
		}
		if t := n.get("target"); t != nil {
			b.Target = r.text(t, key)
		}
		if t := n.get("args"); t != nil {
			r.pairs(t, key+".args", b.Args)
		}
		for _, k := range []string{"network", "extra_hosts", "shm_size"} {
			if t := n.get(k); t != nil {
				r.warn(t, key+"."+k, "it is ignored")
			}
		}
	}
	b.Dockerfile = cmp.Or(b.Dockerfile, "Dockerfile")
	var err error
	if b.Context, err = r.p.local(r.file, r.text(context, key)); err != nil {
		r.fail(context, key+".context", "%v", err)
		return
	}
	file, err := r.p.local(b.Context+"/x", b.Dockerfile)
	if err != nil || !within(file, b.Context) {
		r.fail(n, key+".dockerfile", "%q must be a file below the context", short(b.Dockerfile))
		return
	}
	if _, err := r.p.readText(file); err != nil {
		r.fail(n, key+".dockerfile", "%v", err)
	}
	r.s.Build = b
}
