package sandbox

import (
	"context"
	"io"
	"strconv"
	"sync/atomic"
	"time"
)

// Proc is one process to start in a sandbox.
type Proc struct {
	Argv  []string // never empty; the first is looked up in the sandbox's PATH
	Dir   string
	User  string            // see Command.User
	Env   map[string]string // added to the sandbox's own environment
	Stdin bool              // false: /dev/null
	Merge bool              // stderr goes where stdout goes, in order
	// Terminal has the process run on a fresh pseudo-terminal, which its session
	// controls: Stdin types to it, Stdout is what it shows. Stdin and Merge are
	// taken as set.
	Terminal bool
}

// Process is a started Proc. All of it must be closed by the caller.
type Process interface {
	// Stdin is nil unless Proc.Stdin was set; closing it is end of file.
	Stdin() io.WriteCloser
	// Stdout ends when every holder of the stream is gone, or at Close. It may
	// stay open after Wait when the process left children behind.
	Stdout() io.Reader
	// Stderr is a second stream, empty when Proc.Merge was set.
	Stderr() io.Reader
	// Wait blocks until the process itself has ended: its exit code, 128+n when
	// a signal killed it, or an error that wraps ErrLost. A program that cannot
	// be executed is exit code 126 or 127 with the reason on Stdout, as in a shell.
	// It is called once.
	Wait() (int, error)
	// Close releases the streams, so that reads end. It does not kill.
	Close() error
}

// Starter is what a kind of sandbox implements so that Run and NewShell can
// drive it.
type Starter interface {
	Start(ctx context.Context, p Proc) (Process, error)
	// KillTree kills, inside the sandbox, every process that belongs to the
	// tree, also those that left their session or were orphaned, and returns
	// when they are gone.
	KillTree(ctx context.Context, t Tree) error
	// Signal signals what belongs to the tree at this moment and returns the pids.
	// With a Root those are the processes of its session, but not Root itself; with
	// root set Root comes first. Without a Root it is the whole tree.
	Signal(ctx context.Context, t Tree, sig Signal, root bool) ([]int, error)
}

// Signal is a signal's name as kill takes it.
type Signal string

// The signals that shells use.
const (
	Probe Signal = "0" // none: it only says which processes there are
	Int   Signal = "INT"
	Stop  Signal = "STOP"
	Kill  Signal = "KILL"
)

// MarkVar is the environment variable that carries a command's mark.
const MarkVar = "ROLLBENCH_COMMAND"

// Tree names the processes of one command. A process belongs to it when it is
// Root; when its environment carries Mark; when its parent belongs to it and
// it carries no other command's mark; or when it carries no mark or only Group,
// is younger than Age, and is a child of Root or an orphan (child of pid 1).
type Tree struct {
	Mark  string        // value of MarkVar
	Group string        // mark of the shell that the command ran in, "" for Exec
	Root  int           // pid, as seen inside, of that shell; 0 for Exec
	Age   time.Duration // since the command began; below 0, marked processes only
}

// Marks numbers the commands of one sandbox. Marks repeat from one sandbox to
// the next so that a replayed command sees the same environment; Prefix is set
// only where sandboxes share a process list.
type Marks struct {
	Prefix string
	n      atomic.Int64
}

// Next is a mark for an Exec ("e") or a Shell ("s").
func (m *Marks) Next(kind string) string {
	return m.Prefix + kind + strconv.FormatInt(m.n.Add(1), 10) + markEnd
}

// markEnd closes a mark, so that it is found whole in an environment block read
// by a shell, which drops the NULs between entries.
const markEnd = ":"

// inShell makes the mark of the seq-th command of a shell.
func inShell(group string, seq int) string {
	return group[:len(group)-len(markEnd)] + "." + strconv.Itoa(seq) + markEnd
}

// besideShell makes the mark of the nth terminal of a shell.
func besideShell(group string, n int) string {
	return group[:len(group)-len(markEnd)] + ".t" + strconv.Itoa(n) + markEnd
}

// maxArg stays below the kernel's limit of 128 KiB for one argument.
const maxArg = 100 << 10

// MaxScript is the longest script a sandbox takes: 1 MiB.
const MaxScript = 1 << 20

// ScriptArgv runs a script with bash where present, else sh. A long script is
// handed over in several arguments.
func ScriptArgv(script string) []string {
	const pick = `if command -v bash >/dev/null 2>&1; then exec bash -c "$@"; fi; exec sh -c "$@"`
	if len(script) <= maxArg {
		return []string{"/bin/sh", "-c", pick, "sh", script}
	}
	argv := []string{"/bin/sh", "-c", pick, "sh", "", "bash"}
	join := `eval "`
	for i := 1; len(script) > 0; i++ {
		n := min(maxArg, len(script))
		argv = append(argv, script[:n])
		script = script[n:]
		join += "${" + strconv.Itoa(i) + "}"
	}
	argv[4] = join + `"`
	return argv
}
