//go:build linux

package local

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
)

// limited opens a contained sandbox whose limits are known to be in force;
// without them nothing hostile is run.
func limited(t *testing.T, l Level) *folder {
	t.Helper()
	b := open(t, provider(t, l), sandbox.Spec{Name: "attack", Pids: 64, MemoryMB: 256, DiskMB: 16, CPUs: 0.5})
	if b.level == None || len(b.groups.short) > 0 {
		t.Skipf("limits are not in force: %s", b.Isolation())
	}
	for _, dir := range leftGroups(b.id) {
		if max, err := os.ReadFile(dir + "/pids.max"); err == nil {
			if n, err := strconv.Atoi(strings.TrimSpace(string(max))); err == nil && n <= 100 {
				return b
			}
		}
	}
	t.Fatal("no pids limit found")
	return nil
}

func TestAttacks(t *testing.T) {
	for _, l := range []Level{Bubblewrap, Namespaces} {
		t.Run(string(l), func(t *testing.T) {
			b := limited(t, l)
			for _, c := range []struct {
				name, script string
				check        func(*testing.T, sandbox.Result)
			}{
				{"signals to pid 1", "for s in TERM INT HUP QUIT ABRT SEGV USR1 USR2 STOP KILL; do kill -$s 1; done", nil},
				{"look into pid 1", "cat /proc/1/environ /proc/1/maps; ls /proc/1/fd/; echo x > /proc/1/mem", func(t *testing.T, r sandbox.Result) {
					if r.ExitCode == 0 || !strings.Contains(string(r.Output), "ermission denied") {
						t.Errorf("%s", r.Output)
					}
				}},
				{"switches of the machine", "(cat /proc/sys/kernel/printk > p; cat p > /proc/sys/kernel/printk) || (cat /proc/sys/kernel/core_pattern > p; cat p > /proc/sys/kernel/core_pattern) || mount -t tmpfs x /tmp || chroot / true || mknod d b 8 0 || hostname x || ip link set lo down", func(t *testing.T, r sandbox.Result) {
					if r.ExitCode == 0 {
						t.Errorf("%s", r.Output)
					}
				}},
				{"programs of the machine", "touch /usr/x || touch /etc/passwd || rm /usr/bin/env || chmod 777 /usr", func(t *testing.T, r sandbox.Result) {
					if r.ExitCode == 0 {
						t.Errorf("%s", r.Output)
					}
				}},
				// A core dump, a file in units of 1 KiB, open files.
				{"limits of a process", "ulimit -Hc; ulimit -Hf; ulimit -Hn", func(t *testing.T, r sandbox.Result) {
					if string(r.Output) != "0\n16384\n4096\n" {
						t.Errorf("%q", r.Output)
					}
				}},
			} {
				t.Run(c.name, func(t *testing.T) {
					r, err := b.Exec(t.Context(), sandbox.Command{Script: c.script, Timeout: 10 * time.Second})
					if err != nil {
						t.Fatal(err)
					}
					if c.check != nil {
						c.check(t, r)
					}
					r, err = b.Exec(t.Context(), sandbox.Command{Script: "echo alive", Timeout: 10 * time.Second, Dir: "/"})
					if err != nil || string(r.Output) != "alive\n" {
						t.Fatalf("afterwards: %s %+v %v", r.Output, r, err)
					}
				})
			}
		})
	}
}

// scripted kills as sandboxes do that have nothing but a sh.
type scripted struct{ *folder }

func (s scripted) KillTree(ctx context.Context, t sandbox.Tree) error {
	p, err := s.Start(ctx, sandbox.Proc{Argv: sandbox.KillArgv(t, time.Second), Merge: true})
	if err != nil {
		return err
	}
	code, err := p.Wait()
	if err != nil {
		return err
	}
	if code != 0 {
		return context.DeadlineExceeded
	}
	return p.Close()
}

// TestKillScript kills a tree that does what it can to stay alive, with the
// script and with the init.
func TestKillScript(t *testing.T) {
	const script = `trap '' TERM
setsid sh -c 'trap "" TERM; (setsid sh -c "while :; do sleep 71; done" &) ; exit' &
env -i /usr/bin/setsid /bin/sh -c '(while :; do sleep 72; done) &'
echo up; while :; do sleep 73; done`
	b := open(t, provider(t, Namespaces), sandbox.Spec{Name: "script"})
	left := func() string {
		r, err := b.Exec(t.Context(), sandbox.Command{Script: "ps -eo args= | grep -c 'sl[e]ep 7[123]'"})
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(r.Output))
	}
	background := func(mark string) {
		r, err := sandbox.Run(t.Context(), b, mark, sandbox.Command{Script: "sleep 85 >/dev/null 2>&1 & echo ok"})
		if err != nil || string(r.Output) != "ok\n" {
			t.Fatal(r, err)
		}
	}
	background("e900:")
	r, err := sandbox.Run(t.Context(), scripted{b}, "e901:", sandbox.Command{Script: script, Timeout: time.Second})
	if err != nil || r.End != sandbox.TimedOut || left() != "0" {
		t.Errorf("%+v, %v, %s left", r, err, left())
	}
	sh, err := sandbox.NewShell(t.Context(), scripted{b}, sandbox.ShellOptions{Dir: "/tmp", Group: "s902:"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r, err = sh.Run(t.Context(), sandbox.Command{Script: script, Timeout: time.Second})
		if err != nil || r.End != sandbox.TimedOut || left() != "0" {
			t.Errorf("%+v, %v, %s left", r, err, left())
		}
	}
	r, err = sh.Run(t.Context(), sandbox.Command{Script: "ps -eo args= | grep -c 'sl[e]ep 85'"})
	if err != nil || string(r.Output) != "1\n" {
		t.Errorf("the other command's job: %s, %v", r.Output, err)
	}
	if err := sh.Close(); err != nil {
		t.Error(err)
	}
}
