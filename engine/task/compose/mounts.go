package compose

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// within says whether a clean path is dir or below it.
func within(name, dir string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

// mounts of volumes, in the short or the long form.
func (r *reader) mounts(key string, n *node) {
	if n.kind != yaml.SequenceNode {
		r.fail(n, key, "it must be a list")
		return
	}
	for _, item := range n.items {
		if item.kind == yaml.MappingNode {
			r.longMount(item, key)
			continue
		}
		r.shortMount(item, key)
	}
}

// shortMount is [SOURCE:]TARGET[:MODE].
func (r *reader) shortMount(n *node, key string) {
	parts := strings.Split(r.text(n, key), ":")
	m := Mount{Target: parts[0]}
	kind := Volume
	switch len(parts) {
	case 1:
	case 2, 3:
		m.Source, m.Target = parts[0], parts[1]
		if len(parts) == 3 {
			m.ReadOnly = slices.Contains(strings.Split(parts[2], ","), "ro")
		}
		if m.Source == "" || strings.ContainsAny(m.Source[:1], "./~") {
			kind = Files
		}
	default:
		r.fail(n, key, "%q is not SOURCE:TARGET", short(n.text))
		return
	}
	r.mount(n, key, kind, m)
}

func (r *reader) longMount(n *node, key string) {
	if !r.only(n, key, "type", "source", "target", "read_only", "consistency", "bind", "volume", "tmpfs") {
		return
	}
	m, kind := Mount{}, Volume
	for _, k := range n.keys {
		t := n.get(k)
		if t == nil {
			continue
		}
		switch k {
		case "type":
			switch name := r.text(t, key); name {
			case "bind":
				kind = Files
			case "volume", "tmpfs":
				kind = Kind(name)
			default:
				r.fail(t, key, "type %q is not supported; there are volume, bind and tmpfs", short(name))
			}
		case "source":
			m.Source = r.text(t, key)
		case "target":
			m.Target = r.text(t, key)
		case "read_only":
			m.ReadOnly = r.yes(t, key)
		case "bind":
			r.only(t, key+".bind", "create_host_path", "selinux", "propagation")
		case "volume":
			r.only(t, key+".volume", "nocopy", "labels")
		case "tmpfs":
			if r.only(t, key+".tmpfs", "size", "mode"); t.get("size") != nil {
				m.SizeMB = r.megabytes(t.get("size"), key)
			}
		}
	}
	r.mount(n, key, kind, m)
}

// mount checks source and target, and adds the mount.
func (r *reader) mount(n *node, key string, kind Kind, m Mount) {
	m.Kind = kind
	if m.Target = path.Clean(m.Target); !path.IsAbs(m.Target) || m.Target == "/" || slices.ContainsFunc([]string{"/proc", "/sys", "/dev"}, func(dir string) bool { return within(m.Target, dir) && m.Target != "/dev/shm" }) {
		r.fail(n, key, "nothing can be shown at %q; name an absolute path", short(m.Target))
		return
	}
	isLog := func(prefix string) bool { return within(path.Clean(m.Source), prefix) }
	switch {
	case kind == Tmpfs:
		m.Source = ""
	case kind == Files && slices.ContainsFunc(r.p.options.Logs, isLog):
		m.Kind, m.Source = Logs, path.Clean(m.Source)
	case kind == Files:
		file, err := r.p.local(r.file, m.Source)
		if err != nil {
			r.fail(n, key, "%s is refused: only what is in the task's folder can be shown, and a copy of it: %w", short(m.Source), err)
			return
		}
		m.Source = file
	case m.Source != "":
		if _, there := r.p.volumes[m.Source]; !there {
			r.fail(n, key, "there is no volume %q; name it under volumes at the end of the file", short(m.Source))
			return
		}
	}
	r.addMount(m)
}

// addMount replaces one at the same place.
func (r *reader) addMount(m Mount) {
	r.s.Mounts = append(slices.DeleteFunc(r.s.Mounts, func(old Mount) bool { return old.Target == m.Target }), m)
}

// tmpfs: PATH or PATH:OPTIONS, of which the size counts.
func (r *reader) tmpfs(key string, n *node) {
	for _, entry := range r.strings(n, key) {
		target, options, _ := strings.Cut(entry, ":")
		m := Mount{Target: target}
		for option := range strings.SplitSeq(options, ",") {
			if size, ok := strings.CutPrefix(option, "size="); ok {
				mb, err := megabytes(size)
				if err != nil {
					r.fail(n, key, "%v", err)
					return
				}
				m.SizeMB = mb
			}
		}
		r.mount(n, key, Tmpfs, m)
	}
}
