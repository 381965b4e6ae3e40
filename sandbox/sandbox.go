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

// ErrExhausted is the reason (wrapped, beside ErrLost) where a sandbox was lost
// because it used up what it may use as a whole: its disk, its memory.
var ErrExhausted = errors.New("resources exhausted")

// MaxCopyOut bounds what CopyOut hands over. A file that is all hole is longer than
// any disk, and takes nothing in the sandbox.
const MaxCopyOut = 256 << 20

// ErrTooLarge is returned (wrapped) for what is more than a call may take.
var ErrTooLarge = errors.New("too large")

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
	// Beside are services that run with the sandbox; nil for none. Only providers of
	// containers have them.
	Beside *Beside
	// From, when set, is the ID of a Snapshot of the same provider: its files are
	// there from the start. Image is then not looked at.
	From string
	// Mounts show folders or files of the machine, read-only.
	Mounts []Mount
	// Workdir is where commands start, and is created when absent.
	Workdir string
	// User is whom commands run as: a name, or a uid. "" is the image's own. A kind
	// without users of its own ignores it.
	User     string
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
	// Context yields the build context as a tar stream.
	Context func() (io.ReadCloser, error)
	// Dockerfile is its name in the context, "" for Dockerfile; Target the stage
	// that is built, "" for the last.
	Dockerfile, Target string
	Args               map[string]string
	Timeout            time.Duration
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
	User   string // Exec only: another than Spec.User, or ImageUser; "" is that one
	Env    map[string]string
	Stdin  []byte
	// Timeout is the hard limit (0: only ctx limits it). Idle is the limit
	// without any output (0: none). At either, and when ctx ends, the whole
	// process tree is killed inside the sandbox.
	Timeout time.Duration
	Idle    time.Duration
	// Leave has Idle not kill: a shell's command goes on and can be continued
	// (see Shell.Continue). Exec does not know it.
	Leave bool
	// MaxOutput bounds Result.Output in bytes; head and tail halves are kept.
	// 0 means DefaultMaxOutput.
	MaxOutput int
	// OnOutput sees every piece of output as it comes. It must not block.
	OnOutput func([]byte)
}

// ImageUser, as a Command's User, is whom the image says that commands run as.
const ImageUser = "(image)"

// Root, as a Command's User, may do all that the sandbox allows.
const Root = "root"

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
	// Left and Stopped are a shell's only: the command still exists.
	Left    End = "left"    // Command.Idle struck, and it was left running (Command.Leave)
	Stopped End = "stopped" // by Suspend; it is no longer the shell's command
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
	// The rest is a shell's only. Fresh: the shell itself ended, by the command
	// or with it. The next command runs in a fresh one, which has the directory and
	// the exported environment and nothing else of it.
	Fresh   bool
	NoInput string // why the command cannot be sent input; "" when it can
	Stopped []int  // pids, as seen inside, of what Suspend stopped
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
	// Walk lists every regular file below a folder, links not followed, folders of
	// the names in skip left out, in no order.
	Walk(ctx context.Context, dir string, skip []string) ([]Entry, error)
	// CopyIn unpacks a tar stream below dst; entries may not leave dst.
	CopyIn(ctx context.Context, dst string, tar io.Reader) error
	// CopyOut packs path (file or folder) as a tar stream of at most MaxCopyOut
	// bytes: more is ErrTooLarge, at once or while the stream is read.
	CopyOut(ctx context.Context, path string) (io.ReadCloser, error)
	// Close kills everything in it and removes it. It is safe to call twice.
	Close() error
}

// Sweeper is a sandbox that can end whatever commands left running.
type Sweeper interface {
	// Sweep kills every process in the sandbox but its own init, also those of open
	// shells, and returns when they are gone. Files stay as they are.
	Sweep(ctx context.Context) error
}

// ErrNoSnapshot says that a sandbox's files cannot be kept, and why.
var ErrNoSnapshot = errors.New("no snapshot is possible")

// Snapshotter is a sandbox whose files can be kept, for others to start with.
type Snapshotter interface {
	// Snapshot keeps the files as they are now, with their modes and times.
	// Processes are not kept, nor is what lies in memory (/dev/shm) or in mounts.
	// The environment comes from the Spec of what is opened from it.
	Snapshot(ctx context.Context) (Snapshot, error)
}

// Snapshot is the files of a sandbox at one moment.
type Snapshot interface {
	ID() string // for Spec.From
	// Close removes it. What was opened from it lives on. Closing the provider
	// does it too, and so does the next Reap of a dead owner's.
	Close() error
}
