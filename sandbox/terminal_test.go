//go:build linux

package sandbox

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// A shell that can have no terminal says so, and its commands read nothing.
func TestShellWithoutTerminal(t *testing.T) {
	sh, err := NewShell(t.Context(), &plain{noTerminals: true}, ShellOptions{Dir: t.TempDir(), Group: "s1:"})
	if err != nil {
		t.Fatal(err)
	}
	defer sh.Close()
	r, err := sh.Run(t.Context(), Command{Script: "cat; read x; echo $?"})
	if err != nil || string(r.Output) != "1\n" || r.NoInput != "open a terminal: there are none" {
		t.Fatalf("%+v %q %v", r, r.Output, err)
	}
	r, err = sh.Run(t.Context(), Command{Script: "sleep 60", Idle: 50 * time.Millisecond, Leave: true})
	if err != nil || r.End != Left || r.NoInput == "" {
		t.Fatalf("%+v %v", r, err)
	}
	for _, k := range []Key{Enter, EndInput} {
		if _, err := sh.Continue(t.Context(), Step{Key: k, Idle: time.Second}); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "there are none") {
			t.Errorf("%s: %v", k, err)
		}
	}
	if r, err := sh.Continue(t.Context(), Step{Key: Interrupt}); err != nil || r.End != Exited || r.ExitCode != 130 {
		t.Errorf("%+v %v", r, err)
	}
}

// What came before a step that could not be taken is kept for the next one.
func TestRefusedStepKeepsOutput(t *testing.T) {
	sh, err := NewShell(t.Context(), &plain{noTerminals: true}, ShellOptions{Dir: t.TempDir(), Group: "s1:"})
	if err != nil {
		t.Fatal(err)
	}
	defer sh.Close()
	r, err := sh.Run(t.Context(), Command{Script: "sleep 0.2; echo came; sleep 60", Idle: 50 * time.Millisecond, Leave: true})
	if err != nil || r.End != Left {
		t.Fatalf("%+v %v", r, err)
	}
	if _, err := sh.Continue(t.Context(), Step{Key: Enter}); !errors.Is(err, ErrInput) {
		t.Error(err)
	}
	r, err = sh.Continue(t.Context(), Step{Idle: 300 * time.Millisecond})
	if err != nil || string(r.Output) != "came\n" || r.End != Left {
		t.Errorf("%+v %q %v", r, r.Output, err)
	}
}

func TestCheckInput(t *testing.T) {
	long := strings.Repeat("x", MaxInputLine-1) // and its line break
	for text, ok := range map[string]bool{"": true, "a\nb": true, long: true, long + "\n" + long: true, long + "x": false, "a\n" + long + "x\nb": false,
		strings.Repeat("a\n", MaxInput/2): true, strings.Repeat("a\n", MaxInput/2) + "b": false} {
		if err := checkInput([]byte(text)); (err == nil) != ok || err != nil && !errors.Is(err, ErrInput) {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
}

// A terminal that its holder lost is replaced, whoever killed it.
func TestTerminalComesBack(t *testing.T) {
	s := &plain{}
	opened, err := NewShell(t.Context(), s, ShellOptions{Dir: t.TempDir(), Group: "s1:"})
	if err != nil {
		t.Fatal(err)
	}
	sh := opened.(*shell)
	defer sh.Close()
	r, err := sh.Run(t.Context(), Command{Script: "read x 2>/dev/null; echo $?", Idle: 50 * time.Millisecond, Leave: true})
	if err != nil || r.End != Left || r.NoInput != "" {
		t.Fatalf("%+v %v", r, err)
	}
	// By its mark: the number of a pseudo-terminal says nothing, since those of other
	// mount namespaces have the same ones.
	if n, err := s.Signal(t.Context(), Tree{Mark: sh.term.mark, Age: -time.Hour}, Kill, false); err != nil || len(n) == 0 {
		t.Fatal(n, err)
	}
	r, err = sh.Continue(t.Context(), Step{Idle: time.Minute})
	if err != nil || r.End != Exited || string(r.Output) != "1\n" {
		t.Fatalf("%+v %q %v", r, r.Output, err)
	}
	<-sh.term.ended
	r, err = sh.Run(t.Context(), Command{Script: "test -t 0; echo $?; read x; echo $x", Idle: 100 * time.Millisecond, Leave: true})
	if err != nil || r.End != Left || r.NoInput != "" {
		t.Fatalf("%+v %v", r, err)
	}
	r, err = sh.Continue(t.Context(), Step{Key: Enter, Input: []byte("back")})
	if err != nil || r.End != Exited || !strings.HasSuffix(string(r.Output), "back\n") {
		t.Errorf("%+v %q %v", r, r.Output, err)
	}
}
