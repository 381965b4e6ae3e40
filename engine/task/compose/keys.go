package compose

import (
	"net/netip"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// keys of a service, and what is done with each.
var keys = map[string]func(r *reader, key string, n *node){
	"image":       func(r *reader, key string, n *node) { r.s.Image = r.text(n, key) },
	"build":       (*reader).build,
	"command":     func(r *reader, key string, n *node) { r.s.Command = r.command(n, key) },
	"entrypoint":  func(r *reader, key string, n *node) { r.s.Entrypoint = r.command(n, key) },
	"environment": func(r *reader, key string, n *node) { r.pairs(n, key, r.s.Env) },
	"env_file":    (*reader).envFile,
	"working_dir": func(r *reader, key string, n *node) { r.s.Workdir = r.text(n, key) },
	"user":        func(r *reader, key string, n *node) { r.s.User = r.text(n, key) },
	"volumes":     (*reader).mounts,
	"tmpfs":       (*reader).tmpfs,
	"ports":       (*reader).ports,
	"expose":      (*reader).ports,
	"healthcheck": (*reader).health,
	"depends_on":  (*reader).depends,
	"extra_hosts": (*reader).hosts,
	"networks":    (*reader).networks,
	"links":       (*reader).links,
	"deploy":      (*reader).deploy,
	"restart":     (*reader).restart,
	"cpus":        cpus,
	"mem_limit":   memory,
	"pids_limit":  pids,
	"shm_size":    func(r *reader, key string, n *node) { r.s.SharedMB = r.megabytes(n, key) },
	"read_only":   func(r *reader, key string, n *node) { r.s.ReadOnly = r.yes(n, key) },

	"container_name": (*reader).alsoNamed,
	"hostname":       (*reader).alsoNamed,
	"network_mode":   (*reader).networkMode,
	"scale":          (*reader).scale,
	"cap_add":        (*reader).capabilities,
	"security_opt":   (*reader).security,

	"extends": quiet, "profiles": quiet, "labels": quiet, "annotations": quiet, "logging": quiet, "attach": quiet,
	"stdin_open": quiet, "tty": quiet, "init": quiet, "pull_policy": quiet, "stop_grace_period": quiet, "stop_signal": quiet,
	"mem_reservation": quiet, "develop": quiet, "cap_drop": quiet, "oom_score_adj": quiet, "domainname": quiet,

	"dns": ignored, "dns_search": ignored, "dns_opt": ignored, "ulimits": ignored, "sysctls": ignored, "platform": ignored,
	"memswap_limit": ignored, "mem_swappiness": ignored, "cpu_shares": ignored, "cpu_quota": ignored, "cpu_period": ignored,
	"cpuset": ignored, "cpu_count": ignored, "cpu_percent": ignored, "blkio_config": ignored, "oom_kill_disable": ignored,
	"group_add": ignored, "mac_address": ignored, "storage_opt": ignored, "external_links": ignored,

	"privileged": refusedWhenTrue, "use_api_socket": refusedWhenTrue,
	"devices": refused, "device_cgroup_rules": refused, "gpus": refused, "cgroup": refused, "cgroup_parent": refused,
	"pid": refused, "ipc": refused, "uts": refused, "userns_mode": refused, "runtime": refused, "isolation": refused,
	"volumes_from": refused, "credential_spec": refused, "cpu_rt_runtime": refused, "cpu_rt_period": refused,
	"secrets": refused, "configs": refused, "provider": refused, "models": refused, "post_start": refused, "pre_stop": refused,
	"label_file": refused,
}

func quiet(*reader, string, *node) {}

func ignored(r *reader, key string, n *node) { r.warn(n, key, "it is ignored") }

func refused(r *reader, key string, n *node) {
	r.fail(n, key, "it is not supported: a companion has no more than its files and the sandbox's network; remove it")
}

func refusedWhenTrue(r *reader, key string, n *node) {
	if r.yes(n, key) {
		r.fail(n, key, "it is refused: it would open this machine to the task; remove it")
	}
}

func cpus(r *reader, key string, n *node)   { r.s.CPUs = r.number(n, key, 0, 1024) }
func memory(r *reader, key string, n *node) { r.s.MemoryMB = r.megabytes(n, key) }
func pids(r *reader, key string, n *node) {
	r.s.Pids = max(int(r.number(n, key, -1, 1<<20)), 0) // -1 is no limit: the default is kept
}

// alsoNamed: others may find the service by it.
func (r *reader) alsoNamed(key string, n *node) { r.addName(n, key, r.text(n, key)) }

func (r *reader) addName(n *node, key, name string) {
	if !validName(name) {
		r.fail(n, key, "%q is no name of a host", short(name))
		return
	}
	if !slices.Contains(r.s.Names, name) {
		r.s.Names = append(r.s.Names, name)
	}
}

// networks: all services of a sandbox share one, so that only the aliases count.
// That services in different networks see one another here is told by settle.
func (r *reader) networks(key string, n *node) {
	if n.kind == yaml.SequenceNode {
		r.strings(n, key)
		return
	}
	if n.kind != yaml.MappingNode {
		r.fail(n, key, "it must be a list or a map")
		return
	}
	for _, name := range n.keys {
		if aliases := n.fields[name].get("aliases"); aliases != nil {
			for _, alias := range r.strings(aliases, key) {
				r.addName(aliases, key, alias)
			}
		}
		for _, k := range []string{"ipv4_address", "ipv6_address"} {
			if t := n.fields[name].get(k); t != nil {
				r.warn(t, key+"."+k, "it is ignored: all services have the sandbox's address")
			}
		}
	}
}

// links name services once more.
func (r *reader) links(key string, n *node) {
	for _, link := range r.strings(n, key) {
		service, alias, has := strings.Cut(link, ":")
		if _, there := r.p.found[service]; !there {
			r.fail(n, key, "there is no service %q", short(service))
			return
		}
		if has {
			r.addName(n, key, alias) // all names mean the same address
		}
		r.s.After = append(r.s.After, Dependency{service, "service_started"})
	}
}

func (r *reader) networkMode(key string, n *node) {
	mode := r.text(n, key)
	of, isService := strings.CutPrefix(mode, "service:")
	switch {
	case mode == "none":
		r.s.NoNetwork = true
	case mode == "bridge" || mode == "default" || mode == "":
	case isService:
		if _, there := r.p.found[of]; !there {
			r.fail(n, key, "there is no service %q", short(of))
		}
	default:
		r.fail(n, key, "%q is refused: it would open this machine to the task; remove it", short(mode))
	}
}

func (r *reader) scale(key string, n *node) {
	if r.text(n, key) != "1" {
		r.fail(n, key, "a service is one container here")
	}
}

// allowed are the capabilities that companions have.
var allowed = []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "NET_BIND_SERVICE", "SYS_CHROOT", "AUDIT_WRITE", "SYS_PTRACE"}

func (r *reader) capabilities(key string, n *node) {
	for _, c := range r.strings(n, key) {
		if !slices.Contains(allowed, strings.TrimPrefix(strings.ToUpper(c), "CAP_")) {
			r.fail(n, key, "%s is refused: it would open this machine to the task; remove it", short(c))
		}
	}
}

func (r *reader) security(key string, n *node) {
	for _, option := range r.strings(n, key) {
		if option != "no-new-privileges" && option != "no-new-privileges:true" {
			r.fail(n, key, "%s is refused: it would open this machine to the task; remove it", short(option))
		}
	}
}

func (r *reader) restart(key string, n *node) {
	policy := r.text(n, key)
	kind, count, has := strings.Cut(policy, ":")
	if !slices.Contains([]string{"no", "false", "always", "unless-stopped", "on-failure"}, kind) || has && (kind != "on-failure" || strings.Trim(count, "0123456789") != "" || count == "" || len(count) > 4) {
		r.fail(n, key, "%q is none; there are no, always, unless-stopped and on-failure[:N]", short(policy))
	}
	if kind == "false" {
		policy = "no"
	}
	r.s.Restart = policy
}

// ports in the short or the long form; nothing is published.
func (r *reader) ports(key string, n *node) {
	items := n.items
	if n.kind != yaml.SequenceNode {
		items = []*node{n}
	}
	for _, item := range items {
		text := item.text
		if item.kind == yaml.MappingNode {
			t := item.get("target")
			if t == nil {
				r.fail(item, key, "it names no target")
				return
			}
			text = r.text(t, key)
			if protocol := item.get("protocol"); protocol != nil {
				text += "/" + r.text(protocol, key)
			}
		}
		list, err := ports(text)
		if err != nil {
			r.fail(item, key, "%v", err)
			return
		}
		for _, port := range list {
			if !slices.Contains(r.s.Ports, port) {
				r.s.Ports = append(r.s.Ports, port)
			}
		}
	}
}

// hosts: "NAME:ADDRESS", "NAME=ADDRESS" or a map.
func (r *reader) hosts(key string, n *node) {
	each := func(n *node, name, address string) {
		switch {
		case address == "host-gateway":
			r.warn(n, key, name+" is left out: a sandbox has no way to this machine")
			return
		case !validName(name):
			r.fail(n, key, "%q is no name of a host", short(name))
			return
		}
		if _, err := netip.ParseAddr(strings.Trim(address, "[]")); err != nil {
			r.fail(n, key, "%q is no address", short(address))
			return
		}
		r.s.Hosts = append(r.s.Hosts, name+":"+strings.Trim(address, "[]"))
	}
	if n.kind == yaml.MappingNode {
		for _, name := range n.keys {
			for _, address := range r.strings(n.fields[name], key) {
				each(n.fields[name], name, address)
			}
		}
		return
	}
	for _, entry := range r.strings(n, key) {
		if i := strings.IndexAny(entry, "=:"); i >= 0 {
			each(n, entry[:i], entry[i+1:])
			continue
		}
		r.fail(n, key, "%q is not NAME:ADDRESS", short(entry))
	}
}
