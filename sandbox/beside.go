package sandbox

import (
	"io"
	"strconv"
	"time"
)

// Beside are companions of a sandbox: services that run in containers of their own,
// in its network namespace, from before Open returns until Close.
type Beside struct {
	// Key tells one from another: equal keys mean equal companions.
	Key string
	// Companions in the order in which they start.
	Companions []Companion
	// Hosts are further names, "NAME:ADDRESS", known to all of them.
	Hosts []string
	// Shared are names of volumes that live as long as the sandbox.
	Shared []string

	// What the sandbox itself has of it. After, Health: Open waits for these, too.
	Names  []string // its own in the network; companions have theirs
	User   string   // in the place of the image's own (see Spec.User, ImageUser); "" is that one
	Files  []File
	Mounts []Volume
	Tmpfs  []Tmpfs
	Start  *Program
	After  []Dependency
	Health *Health
	// SharedMB is the size of /dev/shm; 0: the engine's default.
	SharedMB int
}

// Program is what a container runs: nil slices are the image's.
type Program struct{ Entrypoint, Command []string }

// Companion is one service. Zero limits are the provider's defaults.
type Companion struct {
	Name  string
	Names []string // hosts by which it is found, all of them the loopback address
	Image string
	Build *Build
	Program
	Env      map[string]string
	Workdir  string
	User     string
	Files    []File
	Mounts   []Volume
	Tmpfs    []Tmpfs
	After    []Dependency
	Health   *Health
	Restart  string // no, always, unless-stopped, on-failure[:N]
	CPUs     float64
	MemoryMB int
	Pids     int
	SharedMB int
	// Alone: it has no network at all, not even the sandbox's.
	Alone    bool
	ReadOnly bool // its root
}

// File is a folder or file that is copied in before a container starts.
type File struct {
	Target string // absolute
	// Tar yields the content: names below Target, or ".", when Target is a file.
	Tar func() (io.ReadCloser, error)
	// One: Target is a file, and its tar holds one entry.
	One bool
}

// Volume is one of Beside.Shared at a place; an unnamed one is the container's own.
type Volume struct {
	Name     string
	Target   string
	ReadOnly bool
}

// Tmpfs is memory shown as a folder. Size 0: half of the machine's, within the
// container's memory limit.
type Tmpfs struct {
	Target string
	SizeMB int
}

// Dependency is how far another service (by name; the sandbox's own is "") must have
// come.
type Dependency struct {
	Service string
	Until   Until
}

// Until is a stage of a companion.
type Until string

// The stages that can be waited for.
const (
	Started   Until = "started"
	Healthy   Until = "healthy"
	Completed Until = "completed" // with exit code 0
)

// Health is how it is told that a service can be used. What is zero is the
// image's, else the engine's default.
type Health struct {
	// Test is NONE, CMD and arguments, or CMD-SHELL and a line; exit code 0 is healthy.
	Test                           []string
	Interval, Timeout, StartPeriod time.Duration
	Retries                        int
}

// String is the key, for comparisons of specs.
func (b *Beside) String() string {
	if b == nil {
		return "alone"
	}
	return strconv.Quote(b.Key)
}

// MemoryMB is what companions may take together, each with no limit of its own
// taking otherwise.
func (b *Beside) MemoryMB(otherwise int) (mb int) {
	if b == nil {
		return 0
	}
	for _, c := range b.Companions {
		if c.MemoryMB > 0 {
			mb += c.MemoryMB
			continue
		}
		mb += otherwise
	}
	return mb
}
