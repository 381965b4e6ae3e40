package sandbox

import (
	"context"
	"errors"
	"time"
)

// Shell is one long-lived bash in a sandbox. One command runs at a time. Its
// standard input is a pseudo-terminal, where one could be opened, so that it can
// be typed to; its output is a pipe.
type Shell interface {
	// Run feeds the command's Script to the shell and waits for its end. Argv,
	// Dir, Env and Stdin are ignored or refused: the shell has its own. At a limit
	// the command's process tree is killed inside the sandbox and the shell stays
	// usable, or is replaced by a fresh one in the same directory; Result.End says
	// which limit struck. With Command.Leave it comes back with Left instead when
	// Idle strikes; Timeout goes on to count. While a command runs that was left it
	// answers ErrRunning.
	Run(ctx context.Context, c Command) (Result, error)
	// Continue waits on for the command that was left running, as Run does: for
	// its end, for its limits, or until nothing came for Step.Idle. The Result has
	// what was printed since. One that ended in the meantime is told once;
	// ErrNotRunning when there is none to tell of.
	Continue(ctx context.Context, s Step) (Result, error)
	// Running says whether a command that was left runs at this moment.
	Running() bool
	// Dir is the shell's working directory after the last command.
	Dir() string
	// Close ends the shell, what runs in it, and what was stopped in it.
	Close() error
}

// ShellState is what a shell's next process takes over from the one before it.
type ShellState struct {
	Dir string
	Env string // text for a shell that restores the exported environment
}

// Carrier is a shell whose state another can go on with, in a sandbox that was
// opened from a Snapshot of the first one's.
type Carrier interface {
	// State after the last command; it waits for one that runs.
	State() ShellState
	// Adopt the state in a fresh process.
	Adopt(ctx context.Context, s ShellState) error
}

// Step continues a command that was left running.
type Step struct {
	Input []byte // typed first, and a line break after it, when Key is Enter
	Key   Key
	// Idle, MaxOutput and OnOutput are as Command's.
	Idle      time.Duration
	MaxOutput int
	OnOutput  func([]byte)
}

// Key is what a step types.
type Key string

// The keys. Interrupt and Suspend go to the processes that the command has in
// the shell's session, and to the shell itself where it is the one at work.
const (
	None      Key = ""
	Enter     Key = "enter" // after Input
	Interrupt Key = "C-c"   // SIGINT
	EndInput  Key = "C-d"   // end of file
	// Suspend is SIGSTOP, since SIGTSTP has no effect on a session without a
	// controlling terminal. A fresh shell takes over. The stopped processes go on
	// when they get SIGCONT, without limits, and cannot be typed to any more.
	Suspend Key = "C-z"
)

// Errors of a shell's use. The shell goes on after them.
var (
	ErrRunning    = errors.New("a command is still running")
	ErrNotRunning = errors.New("no command is running")
	// ErrInput says why input could not be sent.
	ErrInput = errors.New("the input cannot be sent")
)

// The most that can be typed at once, and in one line: a terminal drops the rest
// of a longer line.
const (
	MaxInput     = 64 << 10
	MaxInputLine = 4095 // bytes, line break included
)
