package task

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
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

// mainImage stands for the task's own image in compose files.
const mainImage = "rollbench-main-image"

// hostLogs stands for the folders in which a harness keeps logs; a folder below it is
// a volume that the services share.
const hostLogs = "/rollbench-logs"

// together is a task's compose file; without one its own is empty and project nil.
type together struct {
	folder  fs.FS
	file    string
	own     compose.Service // the container that the policy works in
	project *compose.Project
	// logs are where the sandbox has the log folders, by their names below hostLogs.
	logs map[string]string
}

// readCompose reads the compose file that is in dir, if there is one.
func readCompose(folder fs.FS, dir string, o compose.Options, logs map[string]string) (*together, error) {
	t := &together{folder: folder, logs: logs}
	sub, err := fs.Sub(folder, dir)
	if err != nil {
		return nil, err
	}
	name, err := compose.Find(sub)
	if err != nil || name == "" {
		return t, err
	}
	t.file, o.Logs = path.Join(dir, name), []string{hostLogs}
	if t.project, err = compose.Load(folder, t.file, o); err != nil {
		return nil, err
	}
	if t.own = *t.project.Main; t.own.Image == mainImage {
		t.own.Image = ""
	}
	return t, nil
}

// image decides what the sandbox runs: what the compose file builds, else the given
// image, else what the folder's Dockerfile builds, else the compose file's image.
// It reports the Dockerfile's text, and whether there is anything to run.
func (t *together) image(in *Instance, dir, given string, o Options) (dockerfile string, found bool, err error) {
	b := cmp.Or(t.own.Build, &compose.Build{Context: dir, Dockerfile: "Dockerfile"})
	if secret(b.Context) {
		return "", false, fmt.Errorf("%s: service %s: build.context: %s would show the policy what it is judged by", t.file, t.own.Name, b.Context)
	}
	if file := path.Join(b.Context, b.Dockerfile); exists(t.folder, file) {
		if dockerfile, err = readText(t.folder, file); err != nil {
			return "", false, err
		}
	}
	switch {
	case t.own.Build == nil && given != "":
		in.Image = given
	case dockerfile != "":
		in.Image, in.Build, err = built(t.folder, in.ID, b, in.BuildLimit, o)
	default:
		in.Image = t.own.Image
	}
	return dockerfile, in.Image != "", err
}

// built names an image and says how to build it.
func built(folder fs.FS, name string, b *compose.Build, limit time.Duration, o Options) (string, *sandbox.Build, error) {
	context, err := buildContext(folder, b.Context)
	if err != nil {
		return "", nil, err
	}
	args := maps.Clone(b.Args)
	if args == nil {
		args = map[string]string{}
	}
	maps.Copy(args, o.BuildArgs)
	hashed, made := args, &sandbox.Build{Context: func() (io.ReadCloser, error) { return tarFolder(context), nil }, Args: args, Timeout: limit}
	if b.Dockerfile != "Dockerfile" || b.Target != "" {
		made.Dockerfile, made.Target = b.Dockerfile, b.Target
		hashed = maps.Clone(args)
		hashed["\x00"] = b.Dockerfile + "\x00" + b.Target
	}
	tag, err := environmentTag(name, context, hashed)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", b.Context, err)
	}
	return tag, made, nil
}

// secret says whether a path of a task shows the policy what it is judged by.
func secret(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return slices.Contains([]string{"tests", "run-tests.sh", "solution", "solution.sh", "solution.yaml"}, top)
}

// buildContext is a folder of the task as an image is built of it: the policy could
// read there what else is copied into the image by a COPY of everything.
func buildContext(folder fs.FS, dir string) (fs.FS, error) {
	if dir == "." {
		return &subset{folder, func(name string) bool { return !secret(name) }}, nil
	}
	return fs.Sub(folder, dir)
}

// take what the compose file says beside the image; the image is known by now.
func (t *together) take(in *Instance, o Options) error {
	if t.project == nil {
		return nil
	}
	in.Warnings = append(in.Warnings, t.project.Warnings...)
	own := &t.own
	env := own.Env
	maps.Copy(env, in.Env)
	in.Env = env
	in.CPUs, in.MemoryMB = cmp.Or(own.CPUs, in.CPUs), cmp.Or(own.MemoryMB, in.MemoryMB)
	in.Network = in.Network && !own.NoNetwork
	if own.ReadOnly {
		in.Warnings = append(in.Warnings, t.file+": service "+own.Name+": read_only is ignored: the policy works in it")
	}
	if len(t.project.Companions) > 0 && in.LocalOK {
		return fmt.Errorf("task.toml: metadata.rollbench.local cannot be with %s: a local sandbox has no companions", t.file)
	}
	b := &sandbox.Beside{Key: in.Origin + " " + in.ID, Names: own.Names, User: own.User, SharedMB: own.SharedMB,
		Start: startOf(own), Health: healthOf(own.Health), After: t.after(own)}
	f := &folders{together: t, b: b, readers: map[string]int{}, written: map[string]bool{}, seeded: map[string]bool{}, logged: map[string]bool{}}
	for _, s := range append([]*compose.Service{own}, t.project.Companions...) {
		f.count(s)
	}
	var err error
	if b.Files, b.Mounts, b.Tmpfs, err = f.of(own); err != nil {
		return err
	}
	b.Hosts = append(b.Hosts, own.Hosts...)
	for _, s := range t.project.Companions {
		c, err := t.companion(in, s, o)
		if err != nil {
			return err
		}
		if c.Files, c.Mounts, c.Tmpfs, err = f.of(s); err != nil {
			return err
		}
		b.Companions, b.Hosts = append(b.Companions, c), append(b.Hosts, s.Hosts...)
	}
	slices.Sort(b.Hosts)
	b.Hosts = slices.Compact(b.Hosts)
	if len(b.Companions)+len(b.Files)+len(b.Mounts)+len(b.Tmpfs)+len(b.Hosts)+b.SharedMB > 0 || b.Start != nil || b.Health != nil || b.User != "" {
		in.Beside = b
	}
	return nil
}

func (t *together) companion(in *Instance, s *compose.Service, o Options) (c sandbox.Companion, err error) {
	c = sandbox.Companion{Name: s.Name, Names: s.Names, Image: s.Image, Program: sandbox.Program{Entrypoint: s.Entrypoint, Command: s.Command},
		Env: s.Env, Workdir: s.Workdir, User: s.User, After: t.after(s), Health: healthOf(s.Health), Restart: s.Restart,
		CPUs: s.CPUs, MemoryMB: s.MemoryMB, Pids: s.Pids, SharedMB: s.SharedMB, Alone: s.NoNetwork, ReadOnly: s.ReadOnly}
	switch {
	case s.Image == mainImage:
		c.Image, c.Build = in.Image, in.Build
	case s.Build != nil:
		if c.Image, c.Build, err = built(t.folder, in.ID+"-"+s.Name, s.Build, in.BuildLimit, o); err != nil {
			err = fmt.Errorf("%s: service %s: build: %w", t.file, s.Name, err)
		}
	}
	return c, err
}

// after is what a service waits for; the sandbox's own is nameless.
func (t *together) after(s *compose.Service) []sandbox.Dependency {
	stages := map[string]sandbox.Until{"service_started": sandbox.Started, "service_healthy": sandbox.Healthy, "service_completed_successfully": sandbox.Completed}
	var out []sandbox.Dependency
	for _, d := range s.After {
		name := d.Service
		if name == t.own.Name {
			name = ""
		}
		out = append(out, sandbox.Dependency{Service: name, Until: stages[d.Until]})
	}
	return out
}

func healthOf(h *compose.Health) *sandbox.Health {
	if h == nil {
		return nil
	}
	out := sandbox.Health(*h)
	return &out
}

// sleeper is a command that only keeps a container alive, which the sandbox's own
// main process does.
var sleeper = regexp.MustCompile(`^((\S*/)?(ba)?sh -l?c )?(exec )?((\S*/)?sleep (infinity|inf|\d+[smhd]?)|tail -[fF] /dev/null|while (true|:); *do sleep \d+[smhd]?; *done;?)$|^(\S*/)?(ba)?sh$`)

// startOf is what the sandbox's own service runs beside the policy's commands.
func startOf(own *compose.Service) *sandbox.Program {
	idle := sleeper.MatchString(strings.Join(own.Command, " "))
	switch {
	case len(own.Entrypoint) > 0 && sleeper.MatchString(strings.Join(slices.Concat(own.Entrypoint, own.Command), " ")):
	case len(own.Entrypoint) > 0, len(own.Command) > 0 && !idle:
		return &sandbox.Program{Entrypoint: own.Entrypoint, Command: own.Command}
	}
	return nil
}

// folders gives services their mounts. A folder of the task that several services
// have and one of them may write to becomes a volume, filled by the first.
type folders struct {
	*together
	b       *sandbox.Beside
	readers map[string]int
	written map[string]bool
	seeded  map[string]bool
	logged  map[string]bool // log folders that a companion has
}

func (f *folders) count(s *compose.Service) {
	for _, m := range s.Mounts {
		f.readers[m.Source]++
		f.written[m.Source] = f.written[m.Source] || !m.ReadOnly
		if m.Kind == compose.Logs && s.Name != f.own.Name {
			f.logged[path.Base(m.Source)] = true
		}
	}
}

// of a service: what is copied into it, what it shares, and its memory folders.
func (f *folders) of(s *compose.Service) (files []sandbox.File, mounts []sandbox.Volume, tmpfs []sandbox.Tmpfs, err error) {
	for _, m := range s.Mounts {
		switch m.Kind {
		case compose.Tmpfs:
			tmpfs = append(tmpfs, sandbox.Tmpfs{Target: m.Target, SizeMB: m.SizeMB})
		case compose.Volume:
			mounts = append(mounts, f.share(m.Source, m))
		case compose.Logs:
			if name := path.Base(m.Source); s.Name != f.own.Name {
				mounts = append(mounts, f.share("logs-"+name, m))
			}
		case compose.Files:
			file, err := f.copied(s, m)
			if err != nil {
				return nil, nil, nil, fmt.Errorf("%s: service %s: volumes: %w", f.together.file, s.Name, err)
			}
			if f.readers[m.Source] > 1 && f.written[m.Source] && !file.One {
				first := !f.seeded[m.Source]
				f.seeded[m.Source] = true
				m.ReadOnly = m.ReadOnly && !first // it is filled through this mount
				mounts = append(mounts, f.share("files-"+m.Source, m))
				if !first {
					continue
				}
			}
			files = append(files, file)
		}
	}
	if s.Name == f.own.Name {
		for name, target := range f.logs {
			if f.logged[name] {
				mounts = append(mounts, f.share("logs-"+name, compose.Mount{Target: target}))
			}
		}
	}
	return files, mounts, tmpfs, nil
}

// share a volume; an unnamed one is the service's own.
func (f *folders) share(name string, m compose.Mount) sandbox.Volume {
	if name != "" && !slices.Contains(f.b.Shared, name) {
		f.b.Shared = append(f.b.Shared, name)
	}
	return sandbox.Volume{Name: name, Target: m.Target, ReadOnly: m.ReadOnly}
}

// copied is what a service is shown of the task: a copy. What is not there is an empty
// folder, as compose makes it.
func (f *folders) copied(s *compose.Service, m compose.Mount) (sandbox.File, error) {
	if s.Name == f.own.Name && (secret(m.Source) || m.Source == ".") {
		return sandbox.File{}, fmt.Errorf("%s would show the policy what it is judged by; only companions may have it", m.Source)
	}
	info, err := fs.Stat(f.folder, m.Source)
	if errors.Is(err, fs.ErrNotExist) {
		return sandbox.File{Target: m.Target, Tar: func() (io.ReadCloser, error) { return tarOne(nil, 0) }}, nil
	}
	if err != nil {
		return sandbox.File{}, err
	}
	if !info.IsDir() {
		if !info.Mode().IsRegular() {
			return sandbox.File{}, fmt.Errorf("%s is neither a file nor a folder", m.Source)
		}
		return sandbox.File{Target: m.Target, One: true, Tar: func() (io.ReadCloser, error) {
			data, err := fs.ReadFile(f.folder, m.Source)
			if err != nil {
				return nil, err
			}
			return tarOne(data, modeOf(m.Source, info))
		}}, nil
	}
	sub, err := fs.Sub(f.folder, m.Source)
	if err != nil {
		return sandbox.File{}, err
	}
	err = eachFile(sub, func(string, fs.FileMode, func() (io.ReadCloser, error)) error { return nil })
	return sandbox.File{Target: m.Target, Tar: func() (io.ReadCloser, error) { return tarFolder(sub), nil }}, err
}

// tarOne is a tar of one file, or of none where data is nil.
func tarOne(data []byte, mode fs.FileMode) (io.ReadCloser, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if data != nil {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "file", Mode: int64(mode), Size: int64(len(data))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(data); err != nil {
			return nil, err
		}
	}
	return io.NopCloser(&b), w.Close()
}
