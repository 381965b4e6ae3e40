package tools

import (
	"testing"

	"rollbench/sandbox"
	"rollbench/sandbox/docker"
	"rollbench/sandbox/local"
)

// BenchmarkCall is one call that does nothing, by tool and kind of sandbox.
func BenchmarkCall(b *testing.B) {
	l, err := local.New(local.Options{Home: b.TempDir(), Level: local.Namespaces})
	if err != nil {
		b.Fatal(err)
	}
	providers := map[string]sandbox.Provider{"local": l}
	if d, err := docker.New(b.Context(), docker.Options{}); err == nil {
		providers["docker"] = d
	}
	for kind, p := range providers {
		defer p.Close()
		sb, err := p.Open(b.Context(), sandbox.Spec{Name: b.Name(), Workdir: "/work", Image: testImage(), Labels: map[string]string{"run": "tools-bench"}})
		if err != nil {
			b.Skipf("%s: %v", kind, err)
		}
		defer sb.Close()
		r, err := New(Env{Sandbox: sb}, Enabled{Bash: true, Python: true, Commands: programs(false)[2:3]})
		if err != nil {
			b.Fatal(err)
		}
		defer r.Close()
		for _, c := range [][2]string{{"execute_bash", `{"command": ":"}`}, {"python", `{"code": "0"}`}, {"silent", `{"word": ""}`}} {
			b.Run(kind+"/"+c[0], func(b *testing.B) {
				for b.Loop() {
					call(b, r, c[0], c[1])
				}
			})
		}
	}
}
