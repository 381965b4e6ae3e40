package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// where fills all but Pid and Start.
func where() (Owner, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Owner{}, err
	}
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return Owner{}, err
	}
	// A machine without the file is still told apart by its boot id.
	machine, err := os.ReadFile("/etc/machine-id")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Owner{}, err
	}
	id := strings.TrimSpace(string(machine))
	if id == "" {
		id = "none"
	}
	return Owner{Machine: id, Boot: strings.TrimSpace(string(boot)), PidNS: strings.Trim(ns, "pid:[]")}, nil
}

// StartTime is field 22 of /proc/PID/stat. A zombie has ended: it does not exist.
func StartTime(pid int) (uint64, error) {
	name := "/proc/" + strconv.Itoa(pid) + "/stat"
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	s, err := ParseStat(b)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", name, err)
	}
	if s.State == 'Z' || s.State == 'X' {
		return 0, fmt.Errorf("read %s: process has ended: %w", name, os.ErrNotExist)
	}
	return s.Start, nil
}
