package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const supported = true

// initName, as the first argument, makes this binary a sandbox's init. The
// second argument is the stage.
const initName = "rollbench-sandbox-init"

// The stages. Each but the last ends in an exec of the next.
const (
	stageJoin  = "join"  // set limits, become bubblewrap
	stageMount = "mount" // set limits, make the sandbox's world
	stageServe = "serve" // carry out requests
)

// Descriptors that every stage inherits.
const (
	fdSocket = 3
	fdBinary = 4 // this binary, for the exec of the next stage
)

// config comes in the first frame, and again in the first frame of serve.
type config struct {
	Level   Level
	Exec    []string // what join becomes
	Root    string   // the sandbox's folder, on this machine
	Workdir string   // as commands see it
	Binds   []bind
	Network bool
	Env     []string
	FileMB  int // largest file, and all files together
	Procs   int // processes and threads of the user namespace; 0: a cgroup counts
}

// bind shows a path of this machine read-only in the sandbox.
type bind struct{ From, To string }

func init() {
	if len(os.Args) != 3 || os.Args[1] != initName {
		return
	}
	if err := runStage(os.Args[2]); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintf(os.Stderr, "%s: %s: %v\n", initName, os.Args[2], err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runStage(stage string) error {
	if err := keepOwn(); err != nil {
		return err
	}
	if stage == stageServe {
		return serve()
	}
	// Namespaces, capabilities and no_new_privs belong to the thread until exec.
	runtime.LockOSThread()
	cfg, err := readConfig()
	if err != nil {
		return err
	}
	if err := setLimits(cfg); err != nil {
		return err
	}
	switch stage {
	case stageJoin:
		return os.NewSyscallError("exec "+cfg.Exec[0], unix.Exec(cfg.Exec[0], cfg.Exec, cfg.Env))
	case stageMount:
		if err := makeWorld(cfg); err != nil {
			return err
		}
		if err := dropPrivileges(); err != nil {
			return err
		}
		return os.NewSyscallError("exec", unix.Exec("/proc/self/fd/4", []string{initName, initName, stageServe}, cfg.Env))
	}
	return fmt.Errorf("no such stage; %q is for rollbench's own use", initName)
}

// keepOwn has nothing but the descriptors above go on to what is executed from
// here. Whoever started the owner may have left it others (a lock, a log, a folder),
// and each would be a way out of the sandbox.
func keepOwn() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("find inherited descriptors: %w", err)
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > fdBinary {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}

// rawSocket reads the socket without taking more than it asks for.
type rawSocket struct{}

func (rawSocket) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(fdSocket, p)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

func readConfig() (config, error) {
	var cfg config
	var size [4]byte
	if _, err := io.ReadFull(rawSocket{}, size[:]); err != nil {
		return cfg, err
	}
	return cfg, decodeBody(rawSocket{}, size, &cfg)
}

// setLimits lowers limits only, which needs no privilege.
func setLimits(cfg config) error {
	limits := []struct {
		name  string
		which int
		max   uint64
	}{
		{"core", unix.RLIMIT_CORE, 0},
		{"file size", unix.RLIMIT_FSIZE, uint64(cfg.FileMB) << 20},
		{"open files", unix.RLIMIT_NOFILE, 4096},
	}
	for _, l := range limits {
		var now unix.Rlimit
		if err := unix.Getrlimit(l.which, &now); err != nil {
			return fmt.Errorf("limit %s: %w", l.name, err)
		}
		max := min(l.max, now.Max)
		if err := unix.Setrlimit(l.which, &unix.Rlimit{Cur: max, Max: max}); err != nil {
			return fmt.Errorf("limit %s: %w", l.name, err)
		}
	}
	return nil
}

// dropPrivileges leaves no capability that an exec could bring back.
func dropPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	for c := uintptr(0); c < 64; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // past the last capability of this kernel
		}
		if err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return os.NewSyscallError("capset", unix.Capset(&header, &none[0]))
}

// envValue looks a name up in a list of NAME=value.
func envValue(env []string, name string) string {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}
