package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// listScript writes of every process \x01PID PARENT SPACE and its arguments as the
// kernel has them; its own pid comes first. The name in stat may hold anything.
const listScript = `printf '%s' $$
for d in /proc/[0-9]*; do
  s= l=
  { while IFS= read -r l || [ -n "$l" ]; do s="$s $l"; l= ; done < $d/stat; } 2>/dev/null
  set -- ${s##*) }
  case $1 in ''|Z|X) continue ;; esac
  printf '\001%s %s ' ${d#/proc/} $2
  cat $d/cmdline 2>/dev/null
done`

// listLimit bounds the look.
const listLimit = 20 * time.Second

// program is a process in a sandbox, as commands inside see it.
type program struct {
	pid, parent int
	argv        []string
}

// Keeper is a sandbox that has a process inside to do its work.
type Keeper interface{ Keeps(argv []string) bool }

// LeftRunning lists what commands have left running in a sandbox, by their arguments:
// servers, jobs in the background. Its own shells are not among them, and ours says
// which other processes are not. It may be called while no command runs.
func LeftRunning(ctx context.Context, sb Sandbox, ours func(argv []string) bool) ([]string, error) {
	r, err := sb.Exec(ctx, Command{Script: listScript, Timeout: listLimit})
	if err != nil {
		return nil, err
	}
	if r.End != Exited || r.ExitCode != 0 {
		return nil, fmt.Errorf("list what runs in the sandbox: %s, exit code %d", r.End, r.ExitCode)
	}
	all, self, err := parseRunning(r.Output)
	if err != nil {
		return nil, err
	}
	keeper, keeps := sb.(Keeper)
	return left(all, self, func(argv []string) bool { return keeps && keeper.Keeps(argv) || ours(argv) }), nil
}

// parseRunning reads what listScript wrote.
func parseRunning(out []byte) (all []program, self int, err error) {
	parts := bytes.Split(out, []byte{1})
	if self, err = strconv.Atoi(string(parts[0])); err != nil {
		return nil, 0, fmt.Errorf("list what runs in the sandbox: it answers %.80q", out)
	}
	for _, p := range parts[1:] {
		f := strings.SplitN(string(p), " ", 3)
		if len(f) < 3 {
			continue // of an argument with the mark in it
		}
		pid, err1 := strconv.Atoi(f[0])
		parent, err2 := strconv.Atoi(f[1])
		if err1 != nil || err2 != nil || strings.Trim(f[2], "\x00") == "" {
			continue // or one of the kernel's
		}
		all = append(all, program{pid, parent, strings.Split(strings.TrimRight(f[2], "\x00"), "\x00")})
	}
	return all, self, nil
}

// started are processes of shells and terminals; where they are started from pid 1
// that is how they are told from a command's.
var started = [][]string{{"bash", "--noprofile", "--norc", "-s"}, {"sh", "-s"}, {"/bin/sh", "-c", holdTerminal}, {"sleep", "2147483647"}}

// left of all: not pid 1 and what was started from outside (a parent that is not
// seen), not shells and terminals, not the look itself.
func left(all []program, self int, ours func([]string) bool) []string {
	parents := map[int]int{}
	for _, p := range all {
		parents[p.pid] = p.parent
	}
	look := map[int]bool{}
	for pid := self; pid > 1; pid = parents[pid] {
		look[pid] = true
	}
	var out []string
	for _, p := range all {
		shell := p.parent <= 1 && slices.ContainsFunc(started, func(argv []string) bool { return slices.Equal(argv, p.argv) })
		if p.pid == 1 || p.parent == 0 || look[p.pid] || look[p.parent] || shell || ours(p.argv) {
			continue
		}
		out = append(out, strings.Join(p.argv, " "))
	}
	slices.Sort(out)
	return out
}
