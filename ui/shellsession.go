package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	xterm "golang.org/x/term"

	"rollbench/engine"
)

// leaveByte is ctrl+]: it leaves a shell in which something hangs.
const leaveByte = 0x1d

// soberUp undoes what programs in a shell may have left of modes: the other screen,
// mouse, pasting, cursor, keypad, margins, characters, colours. Leaving the other screen
// and setting the margins move the cursor, which is put back behind what the shell showed.
const soberUp = "\x1b7\x1b[?1049l\x1b[r\x1b8\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?1l\x1b>\x1b(B\x0f\x1b[?7h\x1b[?25h\x1b[0m\r\n"

// shellSession gives the terminal to a shell until it ends: a tea.ExecCommand. It
// works on the terminal itself, which it opens anew, so that its read of the keys ends
// with it and takes none that is the workbench's.
type shellSession struct {
	ctx   context.Context
	shell engine.Shell
}

func (s *shellSession) SetStdin(io.Reader)  {}
func (s *shellSession) SetStdout(io.Writer) {}
func (s *shellSession) SetStderr(io.Writer) {}

// Run until the shell has ended, was left, or the workbench ends.
func (s *shellSession) Run() (err error) {
	defer func() { err = errors.Join(err, s.shell.Close()) }()
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open the terminal for a shell: %w", err)
	}
	defer tty.Close()
	restore, err := rawMode(tty)
	if err != nil {
		return err
	}
	defer func() {
		_, werr := io.WriteString(tty, soberUp)
		err = errors.Join(err, werr, restore())
	}()
	note := clean(s.shell.Note()) + "\nexit or ctrl+d leaves, ctrl+] leaves at once; what was started in it then ends.\n\n"
	if _, err := io.WriteString(tty, "\x1b[2J\x1b[H"+strings.ReplaceAll(note, "\n", "\r\n")); err != nil {
		return err
	}
	return s.attend(tty)
}

// drained bounds the wait for what a shell showed last: a program that it left may
// hold its terminal.
const drained = 200 * time.Millisecond

// attend carries keys, output and sizes until the end.
func (s *shellSession) attend(tty *os.File) error {
	type ending struct{ err error }
	ended, shown, left := make(chan ending, 1), make(chan struct{}), make(chan struct{})
	typed := make(chan struct{})
	go func() {
		_, err := s.shell.Wait()
		ended <- ending{err}
	}()
	go func() {
		defer close(shown)
		_, _ = io.Copy(&termFilter{to: tty}, s.shell) // its end is the shell's, which Wait tells
	}()
	go func() {
		defer close(typed)
		carryKeys(tty, s.shell, left)
	}()
	stop := onResize(tty, func(rows, cols int) { _ = s.shell.Resize(rows, cols) }) // one that has just ended has no size
	var err error
	select {
	case e := <-ended:
		err = e.err
		select {
		case <-shown:
		case <-time.After(drained):
		}
	case <-left:
	case <-s.ctx.Done():
		err = context.Cause(s.ctx)
	}
	stop()
	err = errors.Join(err, s.shell.Close(), tty.SetReadDeadline(time.Now()))
	<-shown
	<-typed
	return err
}

// carryKeys to the shell until the read ends; ctrl+] closes left.
func carryKeys(from io.Reader, to io.Writer, left chan<- struct{}) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		keys := buf[:n]
		at := bytes.IndexByte(keys, leaveByte)
		if at >= 0 {
			keys = keys[:at]
		}
		if _, werr := to.Write(keys); werr != nil || err != nil { // either end is gone
			return
		}
		if at >= 0 {
			close(left)
			return
		}
	}
}

// rawMode hands the terminal over as it is; restore takes it back.
func rawMode(tty *os.File) (restore func() error, err error) {
	raw, err := tty.SyscallConn() // Fd would make reads wait for ever
	if err != nil {
		return nil, fmt.Errorf("reach the terminal: %w", err)
	}
	var state *xterm.State
	var failed error
	if err := raw.Control(func(fd uintptr) { state, failed = xterm.MakeRaw(int(fd)) }); err != nil || failed != nil {
		return nil, fmt.Errorf("take the terminal over: %w", errors.Join(err, failed))
	}
	return func() error {
		err := raw.Control(func(fd uintptr) { failed = xterm.Restore(int(fd), state) })
		return errors.Join(err, failed)
	}, nil
}

// sizeOf the terminal, 0 when it is not known.
func sizeOf(tty *os.File) (rows, cols int) {
	raw, err := tty.SyscallConn()
	if err != nil {
		return 0, 0
	}
	var failed error
	err = raw.Control(func(fd uintptr) { cols, rows, failed = xterm.GetSize(int(fd)) })
	if err != nil || failed != nil {
		return 0, 0
	}
	return rows, cols
}
