package docker

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"rollbench/sandbox"
	"rollbench/sandbox/pool"
)

// BenchmarkOpen is a container's whole life: create, start, remove.
func BenchmarkOpen(b *testing.B) {
	p := engine(b, Options{})
	for b.Loop() {
		s, err := p.Open(context.Background(), sandbox.Spec{Image: testImage(), Name: "bench", Labels: map[string]string{"run": testRun}})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkClaim is what a trajectory waits for a container that was opened ahead.
func BenchmarkClaim(b *testing.B) {
	p := engine(b, Options{})
	warm := pool.New(pool.Options{Warm: 1, Room: func() int { return 0 }, Log: slog.New(slog.DiscardHandler), Wanted: func() []pool.Wanted {
		return []pool.Wanted{{From: p, Spec: sandbox.Spec{Image: testImage(), Labels: map[string]string{"run": testRun}}}}
	}})
	warm.Start()
	defer warm.Close()
	for b.Loop() {
		b.StopTimer()
		for warm.Warm() == 0 {
			warm.Look()
			<-time.After(10 * time.Millisecond)
		}
		b.StartTimer()
		s, err := warm.Open(b.Context(), p, sandbox.Spec{Image: testImage(), Name: "bench", Labels: map[string]string{"run": testRun}})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := warm.Give(s); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func BenchmarkExec(b *testing.B) {
	c := open(b, engine(b, Options{}), sandbox.Spec{Name: "bench"})
	for b.Loop() {
		run(b, c, sandbox.Command{Argv: []string{"true"}})
	}
}

func BenchmarkShellCommand(b *testing.B) {
	c := open(b, engine(b, Options{}), sandbox.Spec{Name: "bench"})
	shell, err := c.Shell(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer shell.Close()
	for b.Loop() {
		if r, err := shell.Run(b.Context(), sandbox.Command{Script: "echo hello"}); err != nil || r.ExitCode != 0 {
			b.Fatal(err, r.ExitCode)
		}
	}
}

// BenchmarkShellStart is a shell's life, its terminal included.
func BenchmarkShellStart(b *testing.B) {
	c := open(b, engine(b, Options{}), sandbox.Spec{Name: "bench"})
	for b.Loop() {
		shell, err := c.Shell(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if err := shell.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkShellTyped is a command that is left running at once and ends by a line
// of input, and the other terminal that the next one needs.
func BenchmarkShellTyped(b *testing.B) {
	c := open(b, engine(b, Options{}), sandbox.Spec{Name: "bench"})
	shell, err := c.Shell(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer shell.Close()
	for b.Loop() {
		if r, err := shell.Run(b.Context(), sandbox.Command{Script: "read x", Idle: time.Nanosecond, Leave: true}); err != nil || r.End != sandbox.Left {
			b.Fatal(r, err)
		}
		if r, err := shell.Continue(b.Context(), sandbox.Step{Key: sandbox.Enter, Idle: time.Minute}); err != nil || r.End != sandbox.Exited {
			b.Fatal(r, err)
		}
	}
}

func BenchmarkReadFile(b *testing.B) {
	c := open(b, engine(b, Options{}), sandbox.Spec{Name: "bench"})
	for b.Loop() {
		if _, err := c.ReadFile(b.Context(), "/etc/passwd"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteFile(b *testing.B) {
	c := open(b, engine(b, Options{}), sandbox.Spec{Name: "bench"})
	data := make([]byte, 4096)
	for b.Loop() {
		if err := c.WriteFile(b.Context(), "/work/x", data, 0); err != nil {
			b.Fatal(err)
		}
	}
}
