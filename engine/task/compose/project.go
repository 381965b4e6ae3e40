package compose

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// How much a task may ask for.
const (
	maxServices = 32
	maxIncludes = 8 // files in one another, and services that extend one another
)

// project is a Project that is being read.
type project struct {
	task    fs.FS
	options Options
	dotEnv  map[string]string

	names    []string // of services, in the order of the files
	found    map[string]entry
	volumes  map[string]*node
	files    int
	warnings []string
	said     map[string]bool // warnings that were given
	filled   variables
}

// entry is a service as it stands in a file.
type entry struct {
	file string
	n    *node
}

func (p *project) warn(text string) {
	if !p.said[text] {
		p.said[text] = true
		p.warnings = append(p.warnings, text)
	}
}

// readDotEnv reads the file .env beside the compose file, which is optional.
func (p *project) readDotEnv(file string) error {
	p.dotEnv, p.found, p.volumes = map[string]string{}, map[string]entry{}, map[string]*node{}
	p.filled = variables{look: p.look, unset: func(name string) {
		p.warn(fmt.Sprintf("%s: variable %s is not set: it is empty", file, name))
	}}
	name := path.Join(path.Dir(file), ".env")
	data, err := p.readText(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return p.envFile(name, data, func(key, value string, has bool) {
		if has {
			p.dotEnv[key] = value
		}
	})
}

func (p *project) envFile(name, data string, each func(key, value string, has bool)) error {
	err := dotEnv(data, func(text string) (string, error) { return p.filled.expand(text, 0) }, each)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// look up a variable: the harness's, this machine's, the file's .env. One that is
// taken from this machine is named.
func (p *project) look(name string) (string, bool) {
	if value, ok := p.options.Vars[name]; ok {
		return value, true
	}
	if p.options.Getenv != nil {
		if value, ok := p.options.Getenv(name); ok {
			p.warn("the compose file takes " + name + " from this machine's environment")
			return value, true
		}
	}
	value, ok := p.dotEnv[name]
	return value, ok
}

// readText of a file inside of the task's folder. Links are not followed: they
// could lead out of it.
func (p *project) readText(name string) (string, error) {
	if err := p.inside(name); err != nil {
		return "", err
	}
	info, err := fs.Stat(p.task, name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("it has %d bytes; %d are read at most", info.Size(), maxFile)
	}
	var data []byte
	if err == nil {
		data, err = fs.ReadFile(p.task, name)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return string(data), nil
}

// inside refuses names that lead out of the task's folder, by .. or by a link.
func (p *project) inside(name string) error {
	if !fs.ValidPath(name) {
		return fmt.Errorf("%s is outside of the task's folder", name)
	}
	for at := name; at != "."; at = path.Dir(at) {
		info, err := fs.Lstat(p.task, at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a link; links are not followed, replace it by what it leads to", at)
		}
	}
	return nil
}

// readFile adds the services and volumes of a file, and of those that it includes.
func (p *project) readFile(file string, depth int) error {
	if p.files++; depth > maxIncludes || p.files > 4*maxIncludes {
		return fmt.Errorf("%s: it includes too many files, or itself", file)
	}
	text, err := p.readText(file)
	if err != nil {
		return err
	}
	top, err := parse(file, []byte(text))
	if err != nil {
		return err
	}
	for _, key := range top.keys {
		n := top.fields[key]
		switch {
		case strings.HasPrefix(key, "x-") || n.kind == 0:
			continue
		case key == "version" || key == "name":
			continue
		case key == "services" || key == "volumes" || key == "networks" || key == "include":
			err = p.filled.fill(file, n)
		case key == "secrets" || key == "configs":
			err = fmt.Errorf("%s: line %d: %s are not supported; show the file by volumes, or give the value by environment", file, n.line, key)
		default:
			err = fmt.Errorf("%s: line %d: unknown key %q; a compose file has services, volumes, networks and include", file, n.line, key)
		}
		if err != nil {
			return err
		}
	}
	if err := p.include(file, top.get("include"), depth); err != nil {
		return err
	}
	if err := p.takeVolumes(file, top.get("volumes")); err != nil {
		return err
	}
	return p.takeServices(file, top)
}

func (p *project) takeServices(file string, top *node) error {
	services := top.get("services")
	if services == nil && top.get("include") != nil {
		return nil
	}
	if services == nil || services.kind != yaml.MappingNode {
		return fmt.Errorf("%s: it has no services", file)
	}
	for _, name := range services.keys {
		n := services.fields[name]
		switch {
		case n.kind == 0:
			n = &node{kind: yaml.MappingNode, line: n.line}
		case n.kind != yaml.MappingNode:
			return fmt.Errorf("%s: line %d: service %s must be a map", file, n.line, name)
		}
		if !validName(name) {
			return fmt.Errorf("%s: line %d: service %q: a name has letters, digits, ., _ and -", file, n.line, name)
		}
		if _, twice := p.found[name]; twice {
			return fmt.Errorf("%s: line %d: service %s is there twice", file, n.line, name)
		}
		if len(p.names) == maxServices {
			return fmt.Errorf("%s: line %d: it has more than %d services", file, n.line, maxServices)
		}
		p.names = append(p.names, name)
		p.found[name] = entry{file, n}
	}
	return nil
}

func validName(name string) bool {
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-') {
			return false
		}
	}
	return name != "" && len(name) <= 63
}

// include: the short form is a path or a list of them, the long one has path.
func (p *project) include(file string, n *node, depth int) error {
	if n == nil {
		return nil
	}
	items := n.items
	if n.kind != yaml.SequenceNode {
		items = []*node{n}
	}
	for _, item := range items {
		if item.kind == yaml.MappingNode {
			for _, key := range item.keys {
				if key != "path" {
					return fmt.Errorf("%s: line %d: include: %s is not supported; include by path alone", file, item.line, key)
				}
			}
			item = item.get("path")
		}
		if item == nil || item.kind != yaml.ScalarNode {
			return fmt.Errorf("%s: line %d: include takes paths, each with one file", file, n.line)
		}
		name, err := p.local(file, item.text)
		if err == nil {
			err = p.readFile(name, depth+1)
		}
		if err != nil {
			return fmt.Errorf("%s: line %d: include: %w", file, item.line, err)
		}
	}
	return nil
}

// local is a path that a file speaks of, inside of the task's folder.
func (p *project) local(file, name string) (string, error) {
	if name == "" || path.IsAbs(name) || strings.HasPrefix(name, "~") || strings.Contains(name, "://") || strings.Contains(name, `\`) {
		return "", fmt.Errorf("%q is no path relative to the compose file", name)
	}
	full := path.Join(path.Dir(file), name)
	return full, p.inside(full)
}

// takeVolumes: a volume lives as long as the sandbox, and is the engine's own.
func (p *project) takeVolumes(file string, n *node) error {
	if n == nil {
		return nil
	}
	if n.kind != yaml.MappingNode {
		return fmt.Errorf("%s: line %d: volumes must be a map", file, n.line)
	}
	for _, name := range n.keys {
		v := n.fields[name]
		for _, key := range v.keys {
			switch value := v.get(key); {
			case value == nil || key == "labels" || key == "name" || strings.HasPrefix(key, "x-"):
			case key == "driver" && value.text == "local", key == "external" && value.text == "false", key == "driver_opts" && len(value.keys) == 0:
			default:
				return fmt.Errorf("%s: line %d: volume %s: %s is refused: a volume lives as long as its sandbox, and leads nowhere else", file, value.line, name, key)
			}
		}
		p.volumes[name] = v
	}
	return nil
}

// resolved is a service with what it extends laid under it.
func (p *project) resolved(e entry, name string, depth int) (entry, error) {
	n := e.n.get("extends")
	if n == nil {
		return e, nil
	}
	fail := func(err error) (entry, error) {
		return e, fmt.Errorf("%s: line %d: service %s: extends: %w", e.file, n.line, name, err)
	}
	if depth > maxIncludes {
		return fail(errors.New("services extend one another without end"))
	}
	base, of := e, n.text
	if n.kind == yaml.MappingNode {
		service, file := n.get("service"), n.get("file")
		if service == nil {
			return fail(errors.New("it names no service"))
		}
		of = service.text
		if file != nil {
			other, err := p.otherFile(e.file, file.text)
			if err != nil {
				return fail(err)
			}
			base, of = entry{other.file, other.n.get("services").get(of)}, service.text
		} else {
			base = p.found[of]
		}
	} else {
		base = p.found[of]
	}
	if base.n == nil || base.n.kind != yaml.MappingNode {
		return fail(fmt.Errorf("there is no service %q", of))
	}
	if base.file != e.file && path.Dir(base.file) != path.Dir(e.file) {
		return fail(fmt.Errorf("%s is in another folder, where its paths mean other files; put it beside this one", base.file))
	}
	base, err := p.resolved(base, of, depth+1)
	if err != nil {
		return e, err
	}
	over := &node{kind: yaml.MappingNode, line: e.n.line, fields: maps.Clone(e.n.fields), keys: slices.Clone(e.n.keys)}
	under := &node{kind: yaml.MappingNode, line: base.n.line, fields: maps.Clone(base.n.fields), keys: slices.Clone(base.n.keys)}
	delete(over.fields, "extends")
	over.keys = slices.DeleteFunc(over.keys, func(k string) bool { return k == "extends" })
	return entry{e.file, merge("", under, over)}, nil
}

// otherFile is one that a service extends another of.
func (p *project) otherFile(file, name string) (entry, error) {
	name, err := p.local(file, name)
	if err != nil {
		return entry{}, err
	}
	text, err := p.readText(name)
	if err != nil {
		return entry{}, err
	}
	top, err := parse(name, []byte(text))
	if err != nil {
		return entry{}, err
	}
	if services := top.get("services"); services != nil {
		err = p.filled.fill(name, services)
	}
	return entry{name, top}, err
}
