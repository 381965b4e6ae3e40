//go:build linux

package ui

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// pty is a terminal of its own, with a program in it.
type pty struct {
	*glass
	master, slave *os.File
	cmd           *exec.Cmd
	read          chan struct{} // closed when nothing more comes
}

// inPty starts this test's binary as the workbench with the fake run, see TestMain.
func inPty(t *testing.T, demo string, env ...string) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	p := &pty{glass: newGlass(), master: master, slave: slave, read: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(append(os.Environ(), "ROLLBENCH_UI_DEMO="+demo, "TERM=xterm-256color", "TMUX="), env...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.read)
		_, _ = io.Copy(p.glass, master) // ends with an error when the last one closes the terminal
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		slave.Close()
		<-p.read
		master.Close()
	})
	return p
}

func (p *pty) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(p.master, keys); err != nil {
		t.Fatal(err)
	}
}

func (p *pty) modes(t *testing.T) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}

// A real terminal is as it was after every way out: its line discipline, its screen,
// its cursor, its mouse, its pastes. A panic says what happened on the screen that
// stays.
func TestTerminalRestored(t *testing.T) {
	for _, c := range []struct {
		name, demo string
		leave      func(t *testing.T, p *pty)
		says       string
	}{
		{"q", "plain", func(t *testing.T, p *pty) { p.press(t, "ql") }, ""},
		{"a panic in a command", "panic", func(t *testing.T, p *pty) { p.press(t, "3") }, "broken on purpose"},
		{"a panic in Update", "panic-update", func(t *testing.T, p *pty) {
			if err := os.WriteFile(p.cmd.Env[len(p.cmd.Env)-1][len("ROLLBENCH_UI_PANIC="):], nil, 0o600); err != nil {
				t.Fatal(err)
			}
			p.press(t, "j")
		}, "broken on purpose"},
		{"SIGTERM", "plain", func(t *testing.T, p *pty) {
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := inPty(t, c.demo, "ROLLBENCH_UI_MOUSE=1", "ROLLBENCH_UI_PANIC="+filepath.Join(t.TempDir(), "now"))
			before := p.modes(t)
			p.until("flask-4045")
			p.until("\x1b[?1002h")
			if raw := p.modes(t); raw.Lflag&(unix.ICANON|unix.ECHO) != 0 {
				t.Error("the workbench does not take the terminal: the test tests nothing")
			}
			c.leave(t, p)
			_ = p.cmd.Wait()
			if after := p.modes(t); after != before {
				t.Errorf("the line discipline was %+v and is %+v", before, after)
			}
			p.slave.Close()
			<-p.read
			text := p.text()
			for _, m := range [][2]string{{"\x1b[?1049h", "\x1b[?1049l"}, {"\x1b[?25l", "\x1b[?25h"}, {"\x1b[?1002h", "\x1b[?1002l"}, {"\x1b[?1006h", "\x1b[?1006l"}, {"\x1b[?2004h", "\x1b[?2004l"}} {
				if on, off := strings.LastIndex(text, m[0]), strings.LastIndex(text, m[1]); on < 0 || off < on {
					t.Errorf("%q is not undone", m[0])
				}
			}
			if end := text[strings.LastIndex(text, "\x1b[?1049l"):]; !strings.Contains(end, c.says) {
				t.Errorf("on the screen that stays: %q", end)
			}
		})
	}
}
