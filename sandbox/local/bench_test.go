//go:build linux

package local

import (
	"testing"

	"rollbench/sandbox"
)

func BenchmarkShellCommand(b *testing.B) {
	for _, l := range []Level{Bubblewrap, Namespaces} {
		b.Run(string(l), func(b *testing.B) {
			sb := open(b, provider(b, l), sandbox.Spec{Name: "bench"})
			sh, err := sb.Shell(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if r, err := sh.Run(b.Context(), sandbox.Command{Script: ":"}); err != nil || r.ExitCode != 0 {
					b.Fatal(r, err)
				}
			}
			if err := sh.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func BenchmarkExec(b *testing.B) {
	for _, l := range []Level{Bubblewrap, Namespaces} {
		b.Run(string(l), func(b *testing.B) {
			sb := open(b, provider(b, l), sandbox.Spec{Name: "bench"})
			for b.Loop() {
				if r, err := sb.Exec(b.Context(), sandbox.Command{Argv: []string{"true"}}); err != nil || r.ExitCode != 0 {
					b.Fatal(r, err)
				}
			}
		})
	}
}

func BenchmarkOpenClose(b *testing.B) {
	for _, l := range []Level{Bubblewrap, Namespaces} {
		b.Run(string(l), func(b *testing.B) {
			p := provider(b, l)
			for b.Loop() {
				sb, err := p.Open(b.Context(), sandbox.Spec{Name: "bench", Workdir: "/workspace"})
				if err != nil {
					b.Fatal(err)
				}
				if err := sb.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
