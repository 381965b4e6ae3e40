// Package compose reads a task's compose file: the container that the policy
// works in, and the companions that run beside it.
//
// In: a task's folder, the name of the compose file in it, and what its
// ${VARIABLES} mean. Out: a Project whose paths are all inside of the folder.
// Nothing else is read: no file of the machine, nothing of a network. What would
// reach the machine (privileged, host paths, devices) is refused with the line
// that asks for it; what is not honoured and does no harm is a warning. The format
// is that of compose-spec/compose-spec (spec.md).
package compose

import (
	"errors"
	"io/fs"
	"slices"
	"time"
)

// Names are what a compose file may be called; the first that is there counts.
var Names = []string{"docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml"}

// Find the compose file of a folder, "" when it has none.
func Find(folder fs.FS) (string, error) {
	for _, name := range Names {
		_, err := fs.Stat(folder, name)
		if err == nil {
			return name, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", nil
}

// Options say what a file's words mean.
type Options struct {
	// Main is the service that the policy works in.
	Main string
	// AddMain: a file without that service has companions only. Else the only
	// service of a file is the main one, whatever its name.
	AddMain bool
	// Vars are variables that the harness gives a value; the file .env beside the
	// compose file and Getenv (this machine's environment) come after them.
	Vars   map[string]string
	Getenv func(string) (string, bool)
	// Logs are prefixes of paths that stand for the harness's log folders.
	Logs []string
}

// Project is what a compose file says.
type Project struct {
	Main *Service
	// Companions in an order in which each comes after those it depends on.
	Companions []*Service
	Warnings   []string
}

// Service is one container. Zero values are what the image says, or a default.
type Service struct {
	Name       string
	Names      []string // by which others find it, its own first
	Image      string
	Build      *Build
	Entrypoint []string
	Command    []string
	Env        map[string]string
	Workdir    string
	User       string
	Mounts     []Mount
	Ports      []string // that it says it listens on: "80/tcp"
	Health     *Health
	After      []Dependency
	Hosts      []string // "NAME:ADDRESS"
	CPUs       float64
	MemoryMB   int
	Pids       int
	SharedMB   int    // of /dev/shm
	Restart    string // no, always, unless-stopped, on-failure[:N]
	NoNetwork  bool
	ReadOnly   bool // its root
}

// Build says what an image is built from. Paths are inside of the task's folder.
type Build struct {
	Context    string
	Dockerfile string // below Context
	Target     string
	Args       map[string]string
}

// Kind of a mount.
type Kind string

// The kinds of mounts.
const (
	Volume Kind = "volume" // Source names it; "" is the service's own
	Files  Kind = "files"  // Source is a path inside of the task's folder
	Tmpfs  Kind = "tmpfs"
	Logs   Kind = "logs" // Source is below one of Options.Logs
)

// Mount is something shown at Target.
type Mount struct {
	Kind     Kind
	Source   string
	Target   string
	ReadOnly bool
	SizeMB   int // of a tmpfs
}

// Health is how it is told that a service can be used. What is zero comes from
// the image, else has the engine's default.
type Health struct {
	// Test is NONE, CMD and arguments, or CMD-SHELL and a line.
	Test                           []string
	Interval, Timeout, StartPeriod time.Duration
	Retries                        int
}

// Dependency is a service that must have come so far before another starts.
type Dependency struct {
	Service string
	// Until is service_started, service_healthy or service_completed_successfully.
	Until string
}

// Load reads a compose file. Its errors name the file and, where there is one, line,
// service and key.
func Load(task fs.FS, file string, o Options) (*Project, error) {
	p := &project{task: task, options: o, said: map[string]bool{}}
	if err := p.readDotEnv(file); err != nil {
		return nil, err
	}
	if err := p.readFile(file, 0); err != nil {
		return nil, err
	}
	out := &Project{}
	for _, name := range p.names {
		s, err := p.service(name)
		if err != nil {
			return nil, err
		}
		if s == nil {
			continue // of a profile
		}
		if name == o.Main {
			out.Main = s
			continue
		}
		out.Companions = append(out.Companions, s)
	}
	if err := p.settle(file, out); err != nil {
		return nil, err
	}
	slices.Sort(p.warnings)
	out.Warnings = p.warnings
	return out, nil
}
