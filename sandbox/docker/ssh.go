package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/docker/docker/client"
)

// sshOptions reach an engine as the docker command line does: each connection is an
// ssh that runs `docker system dial-stdio` there. named is where the address is from.
func sshOptions(named, host string) ([]client.Opt, error) {
	u, err := url.Parse(host)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", named, err)
	}
	args, err := sshArgs(u)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", named, err)
	}
	tr := &http.Transport{MaxIdleConns: 6, MaxIdleConnsPerHost: 6, IdleConnTimeout: 90 * time.Second,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return dialSSH(args) }}
	return []client.Opt{client.WithHost("http://" + u.Host), client.WithHTTPClient(&http.Client{Transport: tr, CheckRedirect: client.CheckRedirect}), client.WithVersionFromEnv()}, nil
}

// plainPath needs no quotes in the shell of another machine.
var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9._-]+)*$`)

// sshArgs are the arguments of ssh for ssh://[USER@]HOST[:PORT][/SOCKET]. It asks for
// no password: it has no terminal.
func sshArgs(u *url.URL) ([]string, error) {
	_, password := u.User.Password()
	path := strings.TrimSuffix(u.Path, "/")
	switch {
	case u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-"):
		return nil, fmt.Errorf("%s names no machine: write ssh://[USER@]HOST[:PORT]", u.Redacted())
	case password:
		return nil, fmt.Errorf("the address of %s holds a password: use a key, or an agent that has it", u.Hostname())
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%s has more than ssh://[USER@]HOST[:PORT][/SOCKET]", u.Redacted())
	case !plainPath.MatchString(path):
		return nil, fmt.Errorf("%s: the path of the socket may have letters, digits and ._-/ only", u.Redacted())
	}
	args := []string{"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=30"}
	if name := u.User.Username(); name != "" {
		args = append(args, "-l", name)
	}
	if u.Port() != "" {
		args = append(args, "-p", u.Port())
	}
	args = append(args, "--", u.Hostname(), "docker")
	if path != "" {
		args = append(args, "--host", "unix://"+path)
	}
	return append(args, "system", "dial-stdio"), nil
}

// sshConn is a connection through a process. It ends when the process does, as it
// does when this one dies: its input ends then.
type sshConn struct {
	r, w   *os.File // our ends of its output and input
	cmd    *exec.Cmd
	said   firstWords // on its standard error; read once it has exited
	exited chan struct{}
}

func dialSSH(args []string) (net.Conn, error) {
	in, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	r, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	defer out.Close()
	c := &sshConn{r: r, w: w, cmd: exec.Command("ssh", args...), exited: make(chan struct{})}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr, c.cmd.WaitDelay = in, out, &c.said, sshGrace
	// ctrl+c in the terminal is not for it: containers are removed through it.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start ssh: %w", err), r.Close(), w.Close())
	}
	go func() {
		defer close(c.exited)
		_ = c.cmd.Wait() // how it ended is in its state
	}()
	return c, nil
}

// sshGrace is how long a process may take to end by itself once its streams have.
const sshGrace = 500 * time.Millisecond

func (c *sshConn) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	return n, c.why(err)
}

func (c *sshConn) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	return n, c.why(err)
}

// why is what ssh says where a stream ended because ssh failed, else err.
func (c *sshConn) why(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EPIPE) || !c.ends() || c.cmd.ProcessState.Success() {
		return err
	}
	return fmt.Errorf("%s: %s: %s", strings.Join(c.cmd.Args, " "), c.cmd.ProcessState, strings.Join(strings.Fields(string(c.said)), " "))
}

// firstWords keeps the beginning of what is written to it.
type firstWords []byte

func (f *firstWords) Write(p []byte) (int, error) {
	*f = append(*f, p[:min(len(p), 500-len(*f))]...)
	return len(p), nil
}

// ends waits for the process for a little while.
func (c *sshConn) ends() bool {
	select {
	case <-c.exited:
		return true
	case <-time.After(sshGrace):
		return false
	}
}

// CloseWrite ends what the other side reads.
func (c *sshConn) CloseWrite() error { return c.w.Close() }

// Close waits for the process, and kills it where it does not end.
func (c *sshConn) Close() error {
	errs := []error{c.w.Close(), c.r.Close()}
	for i, err := range errs {
		if errors.Is(err, os.ErrClosed) {
			errs[i] = nil
		}
	}
	if !c.ends() {
		if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
		}
		<-c.exited
	}
	return errors.Join(errs...)
}

// SetDeadline and the next two are those of its pipes.
func (c *sshConn) SetDeadline(t time.Time) error {
	return errors.Join(c.r.SetDeadline(t), c.w.SetDeadline(t))
}
func (c *sshConn) SetReadDeadline(t time.Time) error  { return c.r.SetReadDeadline(t) }
func (c *sshConn) SetWriteDeadline(t time.Time) error { return c.w.SetWriteDeadline(t) }

func (c *sshConn) LocalAddr() net.Addr  { return sshAddr{} }
func (c *sshConn) RemoteAddr() net.Addr { return sshAddr{} }

// sshAddr stands for both ends.
type sshAddr struct{}

func (sshAddr) Network() string { return "ssh" }
func (sshAddr) String() string  { return "ssh" }
