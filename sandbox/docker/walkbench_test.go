package docker

import (
	"testing"

	"rollbench/sandbox"
)

func BenchmarkWalk(b *testing.B) {
	p := engine(b, Options{})
	sb := open(b, p, sandbox.Spec{Workdir: "/testbed"})
	run(b, sb, sandbox.Command{Script: `for d in $(seq 70); do mkdir d$d; for f in $(seq 100); do echo "x = $f" > d$d/module_$f.py; done; done`})
	for b.Loop() {
		if list, err := sb.Walk(b.Context(), "/testbed", []string{".git"}); err != nil || len(list) != 7000 {
			b.Fatal(len(list), err)
		}
	}
}
