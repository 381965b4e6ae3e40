package docker

import (
	"testing"

	"rollbench/sandbox"
	"rollbench/sandbox/sandboxtest"
)

// Images without find, and with one that knows little, list the same.
func TestWalkWithLess(t *testing.T) {
	p := engine(t, Options{})
	for _, c := range []struct{ name, script string }{
		{"a small find", `mv /usr/bin/find /usr/bin/gnufind; cat > /usr/bin/find <<'EOF'
#!/bin/sh
case "$*" in *-printf*) exit 1 ;; esac
exec gnufind "$@"
EOF
chmod 755 /usr/bin/find`},
		{"no find", "rm /usr/bin/find"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sb := open(t, p, sandbox.Spec{Workdir: "/testbed"})
			run(t, sb, sandbox.Command{Script: c.script, Dir: "/"})
			sandboxtest.Walk(t, sb)
		})
	}
}
