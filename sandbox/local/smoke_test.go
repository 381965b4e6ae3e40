//go:build linux

package local

import (
	"testing"
	"time"

	"rollbench/sandbox"
)

func TestSmoke(t *testing.T) {
	for _, l := range []Level{Bubblewrap, Namespaces, None} {
		t.Run(string(l), func(t *testing.T) {
			p, err := New(Options{Home: t.TempDir(), Level: l, AllowUncontained: l == None})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			sb, err := p.Open(t.Context(), sandbox.Spec{Name: "smoke", Workdir: "/workspace"})
			if err != nil {
				t.Fatal(err)
			}
			t.Log(time.Since(began), sb.(*box).Isolation())
			r, err := sb.Exec(t.Context(), sandbox.Command{Script: "id; pwd; ls -la /; ps aux | head; go version; env; cat /proc/self/status | grep -i cap", Timeout: 5 * time.Second})
			t.Logf("%s %+v %v", r.Output, r.End, err)
			if err := sb.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
