package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Owner identifies one process of one boot of one machine, for the labels of
// what it leaves behind if it dies.
type Owner struct {
	Pid     int
	Start   uint64 // start time, in units of the system: tells a reused pid
	Machine string
	Boot    string
	PidNS   string // inode of the pid namespace that Pid counts in
}

// ThisOwner is the running process.
func ThisOwner() (Owner, error) {
	o, err := where()
	if err != nil {
		return Owner{}, fmt.Errorf("identify this process: %w", err)
	}
	o.Pid = os.Getpid()
	if o.Start, err = StartTime(o.Pid); err != nil {
		return Owner{}, fmt.Errorf("identify this process: %w", err)
	}
	return o, nil
}

// String is the form of labels and owner files: PID/START/PIDNS/BOOT/MACHINE.
func (o Owner) String() string {
	return fmt.Sprintf("%d/%d/%s/%s/%s", o.Pid, o.Start, o.PidNS, o.Boot, o.Machine)
}

// ParseOwner reads what String wrote.
func ParseOwner(s string) (Owner, error) {
	parts := strings.Split(strings.TrimSpace(s), "/")
	if len(parts) != 5 {
		return Owner{}, fmt.Errorf("owner %q: want PID/START/PIDNS/BOOT/MACHINE", s)
	}
	for _, p := range parts {
		if p == "" {
			return Owner{}, fmt.Errorf("owner %q: a part is empty", s)
		}
	}
	pid, err := strconv.Atoi(parts[0])
	if err != nil || pid <= 0 {
		return Owner{}, fmt.Errorf("owner %q: bad pid", s)
	}
	start, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil {
		return Owner{}, fmt.Errorf("owner %q: bad start time", s)
	}
	return Owner{Pid: pid, Start: start, PidNS: parts[2], Boot: parts[3], Machine: parts[4]}, nil
}

// Alive is false only when the owner is known to be dead: it belongs to this
// machine, boot and pid namespace, and no process has its pid and start time.
// Of any other owner nothing can be known, so it counts as alive.
func (o Owner) Alive() bool {
	here, err := where()
	if err != nil || here.Machine != o.Machine || here.Boot != o.Boot || here.PidNS != o.PidNS {
		return true
	}
	start, err := StartTime(o.Pid)
	if errors.Is(err, os.ErrNotExist) {
		return false
	}
	return err != nil || start == o.Start
}

// Stat is what /proc/PID/stat says of a process.
type Stat struct {
	State   byte
	Parent  int
	Session int
	Start   uint64 // clock ticks since boot
}

// ParseStat reads /proc/PID/stat; the name in it may hold anything, also ")".
func ParseStat(b []byte) (Stat, error) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return Stat{}, fmt.Errorf("no process name in %q", b)
	}
	f := strings.Fields(string(b[i+1:]))
	if len(f) < 20 {
		return Stat{}, fmt.Errorf("only %d fields in %q", len(f), b)
	}
	parent, err := strconv.Atoi(f[1])
	if err != nil {
		return Stat{}, fmt.Errorf("parent: %w", err)
	}
	session, err := strconv.Atoi(f[3])
	if err != nil {
		return Stat{}, fmt.Errorf("session: %w", err)
	}
	start, err := strconv.ParseUint(f[19], 10, 64)
	if err != nil {
		return Stat{}, fmt.Errorf("start time: %w", err)
	}
	return Stat{State: f[0][0], Parent: parent, Session: session, Start: start}, nil
}
