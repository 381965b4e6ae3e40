//go:build linux

package cli

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var trafficSeconds = flag.Int("traffic.seconds", 0, "seconds for which TestTerminalTraffic looks at each screen; 0 leaves it out")

// lineMeter counts what a program writes to its terminal.
type lineMeter struct {
	mu     sync.Mutex // guards what follows
	text   strings.Builder
	writes int
}

func (m *lineMeter) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes++
	return m.text.Write(p)
}

func (m *lineMeter) now() (bytes, writes int, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.Len(), m.writes, m.text.String()
}

// What rollbench writes to a terminal in a second: while a run goes on, while all of it
// is held, and when it is over. The last is nothing. It takes its time by the clock, so
// it is a command of its own:
//
//	go test ./ui/cli -run TerminalTraffic -traffic.seconds 20 -v
func TestTerminalTraffic(t *testing.T) {
	if *trafficSeconds == 0 {
		t.Skip("-traffic.seconds is 0")
	}
	for _, size := range []unix.Winsize{{Row: 24, Col: 80}, {Row: 40, Col: 120}, {Row: 60, Col: 200}} {
		s := newShop(t)
		m := &lineMeter{}
		press := s.pty(m, size, "run", "--sandbox", "local", "--set", "simulated.latency=300ms", "--set", "simulated.tokens_per_second=60", "--set", "generator.num_trajectories=8", "--set", "tools.enable_search=false")
		look := func(what string) (bytes int) {
			before, n, _ := m.now()
			time.Sleep(time.Duration(*trafficSeconds) * time.Second)
			after, k, _ := m.now()
			t.Logf("%dx%d %s: %d bytes a second, in %.1f pieces", size.Col, size.Row, what, (after-before) / *trafficSeconds, float64(k-n)/float64(*trafficSeconds))
			return after - before
		}
		sees := func(text string) bool {
			return within(t, 10*time.Minute, fmt.Sprintf("the screen shows %q", text), func() bool { _, _, all := m.now(); return strings.Contains(all, text) })
		}
		sees("running")
		press("jj\r") // look at a transcript that grows
		time.Sleep(5 * time.Second)
		look("running")
		press("P")
		sees("everything is paused")
		time.Sleep(5 * time.Second)
		look("held, times in seconds")
		time.Sleep(time.Minute)
		look("held, times in minutes")
		press("P")
		time.Sleep(time.Second)
		press("ql") // leave it resumable
		sees("rollbench resume")

		over := newShop(t)
		over.run("run", "--headless", "--limit", "1", "--sandbox", "local", "--set", "tools.enable_search=false")
		m = &lineMeter{}
		press = over.pty(m, size, "open", "latest")
		sees("finished")
		time.Sleep(10 * time.Second) // its messages have gone
		if n := look("over"); n != 0 {
			t.Errorf("a run that is over wrote %d bytes", n)
		}
		press("q")
	}
}

// pty starts rollbench in a terminal of its own and returns what types into it.
func (s *shop) pty(out io.Writer, size unix.Winsize, args ...string) func(keys string) {
	s.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &size)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := s.command(args...)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "TMUX=")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	slave.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		for buf := make([]byte, 64<<10); ; {
			n, err := master.Read(buf)
			if n > 0 {
				_, _ = out.Write(buf[:n])
			}
			if err != nil { // the last one has closed the terminal
				return
			}
		}
	}()
	s.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		<-read
		master.Close()
	})
	return func(keys string) {
		if _, err := master.WriteString(keys); err != nil {
			s.t.Fatal(err)
		}
	}
}
