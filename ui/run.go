package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/engine"
	"rollbench/sessions"
	"rollbench/ui/replay"
)

// ErrLeftRunning is Run's result when the person left while work was running:
// the caller stops the engine, and the run can be resumed.
var ErrLeftRunning = errors.New("left with work running")

// Options of the workbench.
type Options struct {
	Reader   sessions.Reader
	Commands Commands             // nil: read only (finished, or another process runs it)
	Written  func() (bool, error) // whether a process writes the run; nil: not asked, as where Commands are
	Export   Exporter             // nil: exporting is not offered
	WhatIf   Simulator            // nil: simulating is not offered
	Search   Searcher             // nil: no repository is indexed
	Runs     Runs                 // nil: this run cannot be compared with others
	Tools    []engine.Tool        // of the policy; nil: not known
	Look     Looker               // nil: nobody can look into a sandbox
	// Task is what a trajectory's policy is told; nil: not known before its first turn.
	Task func(sessions.Key) string
	// Spell gives texts of ids that the session does not know, as far as they can be
	// told; nil: they are not.
	Spell func(ctx context.Context, ids []int32) (map[int32]string, error)
	// Replay is the recording that is replayed: Reader and Clock are its own then.
	Replay  *replay.Player
	Notices []string        // told at the start
	Welcome bool            // tell somebody new what to press, until a key is
	Done    <-chan struct{} // closed when the engine has finished; nil: no engine here
	NoColor bool
	Theme   string // one of Themes; "" is default
	Mouse   bool   // take the mouse from the terminal
	Editor  string // "": $VISUAL, $EDITOR, vi

	Input  io.Reader // default: the terminal
	Output io.Writer // default: the terminal

	terminal *os.File         // Output, when it is one
	Clock    func() time.Time // default: time.Now
}

// screenRate is how often a second the screen library looks whether there is a new
// frame: a key waits for that, 33 ms at most, and every look costs when idle. Data makes
// ten frames a second at most, whatever it is.
const screenRate = 30

// Run shows the workbench until the person leaves or ctx ends. Leaving a
// finished or foreign run gives nil, leaving a running one ErrLeftRunning,
// ctx's end its error. The terminal is restored on every way out, a panic
// included.
func Run(ctx context.Context, opt Options) error {
	if opt.Output == nil {
		opt.Output = os.Stdout
	}
	opt.terminal, _ = opt.Output.(*os.File)
	out := shareOutput(opt.Output)
	opt.Output = out
	w, err := New(ctx, opt)
	if err != nil {
		return err
	}
	defer w.Close()
	if _, isFile := out.(*sharedFile); !isFile {
		w.w, w.h = 80, 24 // nothing will tell the size
	}
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithAltScreen(), tea.WithoutSignalHandler(), tea.WithOutput(out), tea.WithFPS(screenRate)}
	if opt.Mouse {
		options = append(options, tea.WithMouseCellMotion())
	}
	if opt.Input != nil {
		options = append(options, tea.WithInput(opt.Input))
	}
	_, err = tea.NewProgram(w, options...).Run()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("workbench: %w", err)
	case w.left:
		return ErrLeftRunning
	}
	return nil
}

// sharedFile lets the clipboard sequence in between two frames, never into
// the middle of one: a frame is one Write. It stays a file, so that the size
// and the modes of the terminal can be asked for.
type sharedFile struct {
	*os.File
	mu sync.Mutex // one Write at a time
}

func (f *sharedFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.File.Write(p)
}

func (f *sharedFile) WriteString(s string) (int, error) { return f.Write([]byte(s)) }

// sharedWriter is sharedFile for what is not a file (tests).
type sharedWriter struct {
	w  io.Writer
	mu sync.Mutex // one Write at a time
}

func (f *sharedWriter) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.w.Write(p)
}

// shareOutput keeps a file a file: tea asks it for size and modes.
func shareOutput(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok {
		return &sharedFile{File: f}
	}
	return &sharedWriter{w: w}
}
