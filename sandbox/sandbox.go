// Package sandbox is a place to run commands in: a container, or a contained
// folder of this machine. It knows nothing of trajectories.
//
// In: a Spec. Out: a Sandbox, whose failures are either the command's own
// (a Result with an exit code) or ErrLost (the place itself is gone, and every
// later call answers ErrLost at once). The implementations are sandbox/docker
// and sandbox/local; sandbox/sandboxtest is the suite both pass.
package sandbox

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"
)

// ErrLost says that the sandbox no longer exists. It is terminal: callers stop
// using the sandbox instead of trying the next command.
var ErrLost = errors.New("sandbox lost")

// ErrNotExist is returned (wrapped) by file operations on a missing path.
var ErrNotExist = fs.ErrNotExist

// Kind names an implementation.
type Kind string

// The kinds of sandbox.
const (
	Docker Kind = "docker"
	Local  Kind = "local"
)

// Spec says what to open. The zero value of a limit means the provider's
// default, never "unlimited".
type Spec struct {
	Name   string            // human-readable, unique within a run: "flask-4045.2.a1"
	Labels map[string]string // run, trajectory, …: the provider adds its own owner labels
	// Image is the image to run. Build, when set, says how to make it if it is absent.
	Image string
	Build *Build
	// Workdir is where commands start, and is created when absent.
	Workdir  string
	Env      map[string]string
	Network  bool // default: none
	CPUs     float64
	MemoryMB int
	Pids     int
	DiskMB   int
	// Progress receives one line at a time while an image is pulled or built.
	Progress func(string)
}

// Build is an image build context.
type Build struct {
	// Context yields the build context as a tar stream with a Dockerfile at its root.
	Context func() (io.ReadCloser, error)
	Args    map[string]string
	Timeout time.Duration
}

// Provider opens sandboxes of one kind and cleans up after dead owners.
type Provider interface {
	Kind() Kind
	// HasImage reports whether an image is present without pulling or building.
	// A provider without images answers false.
	HasImage(ctx context.Context, image string) (bool, error)
	// EnsureImage builds or pulls the spec's image when it is absent. A
	// provider without images does nothing.
	EnsureImage(ctx context.Context, spec Spec) error
	Open(ctx context.Context, spec Spec) (Sandbox, error)
	// Reap removes what owners that no longer live left behind (and only that)
	// and names each thing removed.
	Reap(ctx context.Context) ([]string, error)
	// Check says whether this machine can open such sandboxes.
	Check(ctx context.Context) Report
	Close() error
}

// Report is what a provider can do here, in words for the doctor.
type Report struct {
	OK        bool
	Detail    string // "docker 20.10.24, API 1.41, 12 images" or why not
	Fix       string // one line, when not OK
	Isolation string // how much it isolates: "bubblewrap: own root, no network, pids 256, memory 1024 MB"
	// MachineMB is the memory of the machine that the sandboxes are on, 0 when it is
	// not known; SandboxMB that of one sandbox whose Spec sets none.
	MachineMB, SandboxMB int
}

// Command is one process tree to run to its end.
type Command struct {
	// Argv is executed without a shell. Script, when Argv is empty, is run by
	// bash where present, else sh.
	Argv   []string
	Script string
	Dir    string // "" means the sandbox's workdir
	Env    map[string]string
	Stdin  []byte
	// Timeout is the hard limit (0: only ctx limits it). Idle is the limit
	// without any output (0: none). At either, and when ctx ends, the whole
	// process tree is killed inside the sandbox.
	Timeout time.Duration
	Idle    time.Duration
	// MaxOutput bounds Result.Output in bytes; head and tail halves are kept.
	// 0 means DefaultMaxOutput.
	MaxOutput int
	// OnOutput sees every piece of output as it comes. It must not block.
	OnOutput func([]byte)
}

// DefaultMaxOutput is the output kept of one command: 1 MiB.
const DefaultMaxOutput = 1 << 20

// End says how a command ended.
type End string

// The ends of a command.
const (
	Exited    End = "exited"
	TimedOut  End = "timeout"   // Command.Timeout struck
	IdledOut  End = "idle"      // Command.Idle struck
	Cancelled End = "cancelled" // the caller's ctx ended
)

// Result is what a command did. Output holds stdout and stderr in the order
// they arrived, cut in the middle when longer than MaxOutput.
type Result struct {
	Output   []byte
	Head     int   // length of the head in Output when Dropped > 0
	Dropped  int64 // bytes cut between head and tail
	ExitCode int   // -1 unless End is Exited; 128+n when killed by signal n
	End      End
	Wall     time.Duration
}

// Sandbox is one open place. Methods may be called concurrently. File paths
// are absolute paths inside the sandbox; a relative one is taken from Workdir.
type Sandbox interface {
	Kind() Kind
	ID() string      // container id, or the folder's name
	Workdir() string // as seen by commands
	// Path maps a path of the specification ("/tests", "/logs/verifier") to the
	// path commands see. It is the identity except in an uncontained local sandbox.
	Path(p string) string
	// Exec runs a command to its end. A non-zero exit is not an error.
	Exec(ctx context.Context, c Command) (Result, error)
	// Shell starts a long-lived bash whose directory and environment persist.
	Shell(ctx context.Context) (Shell, error)
	ReadFile(ctx context.Context, path string) ([]byte, error)
	// WriteFile replaces a file, creating parent folders. mode 0 keeps the mode
	// of an existing file and means 0644 for a new one.
	WriteFile(ctx context.Context, path string, data []byte, mode fs.FileMode) error
	Stat(ctx context.Context, path string) (fs.FileInfo, error)
	ReadDir(ctx context.Context, path string) ([]fs.FileInfo, error)
	// CopyIn unpacks a tar stream below dst; entries may not leave dst.
	CopyIn(ctx context.Context, dst string, tar io.Reader) error
	// CopyOut packs path (file or folder) as a tar stream.
	CopyOut(ctx context.Context, path string) (io.ReadCloser, error)
	// Close kills everything in it and removes it. It is safe to call twice.
	Close() error
}

// ErrNoReset says that a sandbox, as it is, cannot be made like new: open another.
var ErrNoReset = errors.New("sandbox cannot be reset")

// Resetter is a sandbox that can be made as if it had just been opened. Kinds for
// which that cannot be shown to be true do not implement it.
type Resetter interface {
	// Reset kills every process, removes every file that was made or changed and
	// gives the sandbox the identity (Name, Labels) and start of spec; ID may be
	// another from then on. Commands that run end with ErrLost, and so does
	// whatever was got from the sandbox before, such as a Shell. After an error the
	// sandbox must be closed.
	Reset(ctx context.Context, spec Spec) error
}

// Sweeper is a sandbox that can end whatever commands left running.
type Sweeper interface {
	// Sweep kills every process in the sandbox but its own init, also those of open
	// shells, and returns when they are gone. Files stay as they are.
	Sweep(ctx context.Context) error
}

// Shell is one long-lived bash in a sandbox. One command runs at a time.
type Shell interface {
	// Run feeds the command's Script to the shell and waits for its end. Argv,
	// Dir and Env are ignored: the shell has its own. At a limit the command's
	// process tree is killed inside the sandbox and the shell stays usable, or
	// is replaced by a fresh one in the same directory; Result.End says which
	// limit struck. Result.Dir is unused; see Dir.
	Run(ctx context.Context, c Command) (Result, error)
	// Dir is the shell's working directory after the last command.
	Dir() string
	Close() error
}
