package local

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"rollbench/sandbox"
)

// tick is the unit of start times in /proc.
const tick = 10 * time.Millisecond

// proc is one process as a tree search sees it.
type proc struct {
	sandbox.Stat
	mark string // value of sandbox.MarkVar, "" when it has none
}

// processes reads /proc, without self and what has ended.
func processes() (map[int]proc, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	all := map[int]proc{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		if p, ok := readProc(pid); ok {
			all[pid] = p
		}
	}
	return all, nil
}

// readProc is false for a process that has ended in the meantime.
func readProc(pid int) (proc, bool) {
	base := "/proc/" + strconv.Itoa(pid)
	b, err := os.ReadFile(base + "/stat")
	if err != nil {
		return proc{}, false
	}
	s, err := sandbox.ParseStat(b)
	if err != nil || s.State == 'Z' || s.State == 'X' {
		return proc{}, false
	}
	p := proc{Stat: s}
	// A process that hides its environment has no mark.
	if env, err := os.ReadFile(base + "/environ"); err == nil {
		for e := range bytes.SplitSeq(env, []byte{0}) {
			if v, ok := strings.CutPrefix(string(e), sandbox.MarkVar+"="); ok {
				p.mark = v
			}
		}
	}
	return p, true
}

// inTree lists the processes that sandbox.Tree describes; young is the start
// time from which a process counts as younger than Age, init the pid to which
// orphans go.
func inTree(all map[int]proc, t sandbox.Tree, young uint64, init int) []int {
	var found []int
	for pid := range all {
		if belongs(all, t, young, init, pid) {
			found = append(found, pid)
		}
	}
	return found
}

func belongs(all map[int]proc, t sandbox.Tree, young uint64, init, pid int) bool {
	if t.Root != 0 && pid == t.Root {
		return true
	}
	// The chain of parents is finite unless a pid was reused while reading.
	for range len(all) + 1 {
		if t.Root != 0 && pid == t.Root {
			return true
		}
		p, known := all[pid]
		switch {
		case !known:
			return false
		case p.mark == t.Mark:
			return true
		case p.mark != "" && p.mark != t.Group, p.Start < young:
			return false
		case p.Parent == init:
			return true
		}
		pid = p.Parent
	}
	return false
}

// killTree stops the tree, so that it cannot outrun the search, then kills it,
// until nothing of it is left. young is as for inTree.
func killTree(t sandbox.Tree, young uint64) error {
	if t.Mark == "" || t.Root == 1 || t.Root == os.Getpid() {
		return fmt.Errorf("kill tree %+v: not a tree of commands", t)
	}
	return killUntilNone(func(all map[int]proc) []int { return inTree(all, t, young, os.Getpid()) })
}

// youngFrom is the start time from which a process counts as younger than age. It
// is found where age was measured: on a busy machine the init hears of it later.
func youngFrom(age time.Duration) (uint64, error) {
	now, err := uptimeTicks()
	if age < 0 {
		return math.MaxUint64, err // no process is that young
	}
	// Age was measured a moment ago, and start times are cut to ticks.
	return now - min(now, uint64((age+3*tick)/tick)), err
}

var signals = map[sandbox.Signal]syscall.Signal{sandbox.Probe: 0, sandbox.Int: syscall.SIGINT,
	sandbox.Stop: syscall.SIGSTOP, sandbox.Kill: syscall.SIGKILL}

// signalTree is sandbox.Starter's Signal.
func signalTree(req request) ([]int, error) {
	t := req.Tree
	sig, known := signals[req.Signal]
	if t.Mark == "" || t.Root == 1 || t.Root == os.Getpid() || !known {
		return nil, fmt.Errorf("signal %s to tree %+v: not a tree of commands", req.Signal, t)
	}
	all, err := processes()
	if err != nil {
		return nil, err
	}
	var pids, hit []int
	if req.Root && t.Root > 1 {
		pids = append(pids, t.Root)
	}
	for _, pid := range inTree(all, t, req.Young, os.Getpid()) {
		if pid > 1 && pid != t.Root && (t.Root == 0 || all[pid].Session == t.Root) {
			pids = append(pids, pid)
		}
	}
	for _, pid := range pids {
		err := syscall.Kill(pid, sig)
		if errors.Is(err, syscall.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			return hit, fmt.Errorf("signal %d: %w", pid, err)
		}
		hit = append(hit, pid)
	}
	return hit, nil
}

// killLimit bounds the killing from inside; the owner's own limit is longer.
const killLimit = 10 * time.Second

func killUntilNone(pick func(map[int]proc) []int) error {
	end := time.Now().Add(killLimit)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		victims, err := signalAll(pick, syscall.SIGSTOP)
		if err != nil {
			return err
		}
		if len(victims) == 0 {
			return nil
		}
		if _, err := signalAll(pick, syscall.SIGKILL); err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d processes do not die, pid %d among them", len(victims), victims[0])
		}
		time.Sleep(pause)
	}
}

func signalAll(pick func(map[int]proc) []int, sig syscall.Signal) ([]int, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	pids := pick(all)
	for _, pid := range pids {
		if pid <= 1 {
			continue
		}
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return nil, fmt.Errorf("kill %d: %w", pid, err)
		}
	}
	return pids, nil
}

// uptimeTicks is now in the unit of start times: the clock that counts suspend.
func uptimeTicks() (uint64, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0, os.NewSyscallError("clock_gettime", err)
	}
	return uint64(time.Duration(now.Nano()) / tick), nil
}

// killAll kills every descendant of this process, at the level without a pid
// namespace. Marked processes that were handed elsewhere cannot exist: this
// process is their reaper.
func killAll() error {
	me := os.Getpid()
	return killUntilNone(func(all map[int]proc) []int {
		var found []int
		for pid := range all {
			for q, n := pid, 0; n <= len(all); n++ {
				p, known := all[q]
				if !known {
					break
				}
				if p.Parent == me {
					found = append(found, pid)
					break
				}
				q = p.Parent
			}
		}
		return found
	})
}
