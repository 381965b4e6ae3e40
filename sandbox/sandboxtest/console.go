package sandboxtest

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
)

// screen is what a console has shown so far.
type screen struct {
	sandbox.Console
	t     *testing.T
	shown strings.Builder
	from  int // of shown: what was waited for ended here
	reads chan string
}

func console(t *testing.T, sb sandbox.Sandbox) *screen {
	t.Helper()
	k, err := sb.(sandbox.Consoler).Console(t.Context(), sandbox.ConsoleSpec{Rows: 31, Cols: 97, Term: "vt100"})
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{Console: k, t: t, reads: make(chan string)}
	go func() {
		defer close(s.reads)
		buf := make([]byte, 4096)
		for {
			n, err := k.Read(buf)
			if n > 0 {
				s.reads <- string(buf[:n])
			}
			if err != nil {
				if err != io.EOF {
					t.Errorf("read ends with %v", err)
				}
				return
			}
		}
	}()
	t.Cleanup(func() {
		if err := errors.Join(k.Close(), k.Close()); err != nil {
			t.Error(err)
		}
		for range s.reads { // its reader ends
		}
	})
	return s
}

func (s *screen) types(text string) {
	s.t.Helper()
	if _, err := s.Write([]byte(text)); err != nil {
		s.t.Fatalf("type %q: %v", text, err)
	}
}

// until the console has shown the text since it was asked last.
func (s *screen) until(text string) {
	s.t.Helper()
	late := time.After(limit)
	for {
		if i := strings.Index(s.shown.String()[s.from:], text); i >= 0 {
			s.from += i + len(text)
			return
		}
		select {
		case piece, more := <-s.reads:
			if !more {
				s.t.Fatalf("it ended before it showed %q: %q", text, s.shown.String())
			}
			s.shown.WriteString(piece)
		case <-late:
			s.t.Fatalf("it never showed %q: %q", text, s.shown.String())
		}
	}
}

// testConsole works at a shell as a person does. Texts that are waited for are not
// in what is typed, which the terminal shows as well.
func testConsole(t *testing.T, sb sandbox.Sandbox) {
	if _, can := sb.(sandbox.Consoler); !can {
		t.Skip("no Consoler")
	}
	k := console(t, sb)
	k.types("stty size; echo $TERM-$SPEC_VAR; pwd; tty; echo e''nd\n")
	k.until("31 97\r\n")
	k.until("vt100-from spec\r\n")
	k.until(sb.Workdir() + "\r\n")
	k.until("/dev/pts/")
	k.until("end\r\n")
	if err := k.Resize(40, 120); err != nil {
		t.Fatal(err)
	}
	k.types("stty size; echo o''n\n")
	k.until("40 120\r\n")
	k.until("on\r\n")
	// ctrl+c ends the command and not the shell.
	k.types(`sh -c 'trap "echo cau\"\"ght; exit 3" INT; echo rea""dy; while :; do sleep 0.1; done'` + "\n")
	k.until("ready\r\n")
	k.types("\x03")
	k.until("caught\r\n")
	k.types("echo al''ive > made; cat made\n")
	k.until("alive\r\n")
	if got := says(t, sb, "cat made"); got != "alive\n" {
		t.Errorf("the sandbox has %q of it", got)
	}
	nap := naps()
	k.types("(setsid sleep " + nap + " &) ; sleep " + nap + " & echo bo''th\n")
	k.until("both\r\n")
	k.types("exit 7\n")
	if code, err := k.Wait(); code != 7 || err != nil {
		t.Errorf("it ended with %d, %v", code, err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if left := says(t, sb, "ps -eo args 2>/dev/null | grep -c '[s]leep "+nap+"' || :"); strings.TrimSpace(left) != "0" {
		t.Errorf("%s of what was started at it still run", strings.TrimSpace(left))
	}
	abandoned := console(t, sb) // closed by the one at it, whatever runs
	abandoned.types("echo wo''rks; exec sleep " + nap + "\n")
	abandoned.until("works\r\n")
	if err := abandoned.Close(); err != nil {
		t.Fatal(err)
	}
	if code, err := abandoned.Wait(); code != 137 && code != 129 && code != 143 || err != nil {
		t.Errorf("an abandoned one ended with %d, %v", code, err)
	}
	for range abandoned.reads {
	}
	says(t, sb, "true") // it goes on
}

// testConsoleLost: the end of the sandbox is the end of the console.
func testConsoleLost(t *testing.T, sb sandbox.Sandbox) {
	if _, can := sb.(sandbox.Consoler); !can {
		t.Skip("no Consoler")
	}
	k := console(t, sb)
	k.types("echo he''re\n")
	k.until("here\r\n")
	if err := sb.Close(); err != nil {
		t.Fatal(err)
	}
	for range k.reads {
	}
	if _, err := k.Wait(); err != nil && !errors.Is(err, sandbox.ErrLost) {
		t.Errorf("wait: %v", err)
	}
	if _, err := sb.(sandbox.Consoler).Console(t.Context(), sandbox.ConsoleSpec{}); !errors.Is(err, sandbox.ErrLost) {
		t.Errorf("a console of a closed sandbox: %v", err)
	}
}
