package local

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// startOnTerminal forks a command onto a pseudo-terminal of the sandbox, which
// becomes the controlling one of its session, and answers with the other side.
func (a *agent) startOnTerminal(req request, files []*os.File) {
	refuse := func(err error) {
		r := response{ID: req.ID}
		r.fail(err)
		a.reply(r)
		a.reply(response{ID: req.ID, Exit: true, Code: 126})
	}
	if len(files) != 0 {
		refuse(fmt.Errorf("%d descriptors instead of none", len(files)))
		return
	}
	master, slave, err := openTerminal()
	if err != nil {
		refuse(err)
		return
	}
	// The command has the one, the owner gets the other.
	defer closeAll([]*os.File{master, slave})
	done := make(chan error)
	a.spawn <- func() { done <- a.fork(req, []*os.File{slave}, []int{int(master.Fd())}) }
	if err := <-done; err != nil {
		refuse(err)
	}
}

// openTerminal opens both sides without becoming subject to the terminal. The
// first does not block, so that the owner can close it while it waits for it.
func openTerminal() (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, &os.PathError{Op: "open", Path: "/dev/ptmx", Err: err}
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		unix.Close(fd) // it was just opened
		return nil, nil, fmt.Errorf("unlock terminal: %w", err)
	}
	name := "/dev/pts/" + strconv.Itoa(n)
	other, err := unix.Open(name, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		unix.Close(fd) // it was just opened
		return nil, nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), "/dev/ptmx"), os.NewFile(uintptr(other), name), nil
}
