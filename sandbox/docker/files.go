package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"rollbench/sandbox"
)

// File calls are small scripts in one long-lived shell, because an exec for
// each costs a hundred times as much. It runs as root, so that tests can be put
// beside the files of an image's own user; what it creates belongs to that user.

// maxRead bounds a file that is read into memory: 64 MiB.
const maxRead = 64 << 20

// maxInline is the longest content that travels inside a script.
const maxInline = 256 << 10

// fileLimit bounds one file call.
const fileLimit = 2 * time.Minute

// Exit codes of the scripts.
const (
	exitMissing   = 3
	exitDirectory = 4
	exitNoFile    = 5
)

// lazyShell is the shell of the file calls, started by the first of them.
type lazyShell struct {
	mu     sync.Mutex // guards what follows, and is held while the shell starts
	shell  sandbox.Shell
	closed bool
	marks  sandbox.Marks // its own, so that commands' marks do not depend on file calls
}

func (l *lazyShell) get(ctx context.Context, c *Container) (sandbox.Shell, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, c.gone
	}
	if l.shell == nil {
		shell, err := sandbox.NewShell(ctx, root{c}, sandbox.ShellOptions{Dir: "/", Group: l.marks.Next("f")})
		if err != nil {
			return nil, err
		}
		l.shell = shell
	}
	return l.shell, nil
}

func (l *lazyShell) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.shell == nil {
		return nil
	}
	return l.shell.Close()
}

// root starts processes as root.
type root struct{ *Container }

func (r root) Start(ctx context.Context, p sandbox.Proc) (sandbox.Process, error) {
	return r.launch(ctx, p, as{})
}

// script runs one of the file calls in a subshell, so that it can exit.
func (c *Container) script(ctx context.Context, text string) (sandbox.Result, error) {
	if err := c.alive(); err != nil {
		return sandbox.Result{}, err
	}
	shell, err := c.files.get(ctx, c)
	if err != nil {
		return sandbox.Result{}, c.check(err)
	}
	r, err := shell.Run(ctx, sandbox.Command{Script: "( LC_ALL=C; umask 022\n" + text + "\n)", Timeout: fileLimit, MaxOutput: maxRead})
	if err != nil {
		return r, c.check(err)
	}
	switch r.End {
	case sandbox.Cancelled:
		return r, ctx.Err()
	case sandbox.TimedOut:
		return r, fmt.Errorf("no answer in %s", fileLimit)
	}
	return r, nil
}

// failure says what an exit code other than 0 means.
func failure(r sandbox.Result) error {
	switch r.ExitCode {
	case 0:
		return nil
	case exitMissing:
		return sandbox.ErrNotExist
	case exitDirectory:
		return syscall.EISDIR
	case exitNoFile:
		return errors.New("not a regular file")
	}
	text := oneLine(string(r.Output))
	if text == "" {
		text = fmt.Sprintf("exit code %d", r.ExitCode)
	}
	return errors.New(text)
}

// fileCall names the call and the path in every error.
func (c *Container) fileCall(ctx context.Context, what, p, text string) (sandbox.Result, error) {
	if strings.ContainsRune(p, 0) {
		return sandbox.Result{}, fmt.Errorf("%s %q: a path cannot hold a NUL", what, p)
	}
	r, err := c.script(ctx, "p="+quote(p)+"\n"+text)
	if err == nil {
		err = failure(r)
	}
	if err != nil {
		return r, fmt.Errorf("%s %s: %w", what, p, err)
	}
	return r, nil
}

// quote makes one word of any text without NUL.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// ReadFile reads a file of at most 64 MiB.
func (c *Container) ReadFile(ctx context.Context, file string) ([]byte, error) {
	p := c.abs(file)
	r, err := c.fileCall(ctx, "read", p, `[ -e "$p" ] || exit 3; [ ! -d "$p" ] || exit 4; [ -f "$p" ] || exit 5
exec cat < "$p"`)
	if err != nil {
		return nil, err
	}
	if r.Dropped > 0 {
		return nil, fmt.Errorf("read %s: it is larger than %d MiB", p, maxRead>>20)
	}
	return r.Output, nil
}

// makeDirs defines "make DIR": mkdir -p whose new folders belong to the user.
const makeDirs = `make() {
  [ ! -d "${1:-/}" ] || return 0
  make "${1%/*}" && mkdir "$1" && own "$1"
}
`

// own defines "own FILE".
func (c *Container) own() string {
	if c.user == "" {
		return "own() { :; }\n"
	}
	return "own() { chown " + c.user + ` "$1"; }` + "\n"
}

// WriteFile replaces a file's content in place: owner, links and, with mode 0,
// the mode of an existing file stay.
func (c *Container) WriteFile(ctx context.Context, file string, data []byte, mode fs.FileMode) error {
	p := c.abs(file)
	before := c.own() + makeDirs + `[ ! -d "$p" ] || exit 4; [ ! -e "$p" ] || [ -f "$p" ] || exit 5
make "${p%/*}" || exit
new=; [ -e "$p" ] || new=1
`
	after := `[ -z "$new" ] || own "$p" || exit` + "\n"
	if mode != 0 {
		after += fmt.Sprintf("chmod %o \"$p\" || exit\n", unixMode(mode))
	}
	if len(data) <= maxInline {
		_, err := c.fileCall(ctx, "write", p, before+printf(data)+` > "$p" || exit`+"\n"+after)
		return err
	}
	if err := c.alive(); err != nil {
		return err
	}
	r, err := sandbox.Run(ctx, root{c}, c.files.marks.Next("f"), sandbox.Command{
		Argv:  []string{"/bin/sh", "-c", "umask 022; p=" + quote(p) + "\n" + before + `cat > "$p" || exit` + "\n" + after},
		Dir:   "/",
		Stdin: data, Timeout: fileLimit, // a pipe may have come into the file's place
	})
	switch {
	case err != nil:
		err = c.check(err)
	case r.End == sandbox.Cancelled:
		err = ctx.Err()
	case r.End == sandbox.TimedOut:
		err = fmt.Errorf("no answer in %s", fileLimit)
	default:
		err = failure(r)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", p, err)
	}
	return nil
}

func unixMode(m fs.FileMode) uint32 {
	bits := uint32(m.Perm())
	for flag, bit := range map[fs.FileMode]uint32{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if m&flag != 0 {
			bits |= bit
		}
	}
	return bits
}

// printf is a builtin's command that prints data exactly.
func printf(data []byte) string {
	var b strings.Builder
	b.Grow(len(data) + len(data)/8 + 16)
	b.WriteString("printf '")
	for i, ch := range data {
		switch ch {
		case '-':
			if i == 0 { // or it would begin an option
				b.WriteString(`\055`)
				continue
			}
			b.WriteByte(ch)
		case '%':
			b.WriteString("%%")
		case '\\':
			b.WriteString(`\\`)
		case '\'':
			b.WriteString(`'\''`)
		case 0, '\r': // no shell keeps a NUL; \r is spelled out for those that drop it
			fmt.Fprintf(&b, `\%03o`, ch)
		default:
			b.WriteByte(ch)
		}
	}
	b.WriteString("'")
	return b.String()
}

// statFormat is understood by every stat we know: mode in hex, size, seconds.
const statFormat = "'%f %s %Y'"

// Stat follows symbolic links.
func (c *Container) Stat(ctx context.Context, file string) (fs.FileInfo, error) {
	p := c.abs(file)
	r, err := c.fileCall(ctx, "stat", p, `[ -e "$p" ] || exit 3; exec stat -L -c `+statFormat+` -- "$p"`)
	if err != nil {
		return nil, err
	}
	info, err := parseStat(path.Base(p), strings.TrimSuffix(string(r.Output), "\n"))
	if err != nil {
		return nil, fmt.Errorf("stat %s: %w", p, err)
	}
	return info, nil
}

// ReadDir lists a folder, links not followed, in the order of names.
func (c *Container) ReadDir(ctx context.Context, dir string) ([]fs.FileInfo, error) {
	p := c.abs(dir)
	// A name cannot hold a slash, so "/\n" ends an entry even when names hold newlines.
	r, err := c.fileCall(ctx, "read directory", p, `[ -e "$p" ] || exit 3; cd -- "$p" || exit
stat -c '%f %s %Y %n/' -- .* * 2>/dev/null; [ $? -le 1 ]`)
	if err != nil {
		return nil, err
	}
	if r.Dropped > 0 {
		return nil, fmt.Errorf("read directory %s: too many entries", p)
	}
	list := []fs.FileInfo{}
	if len(r.Output) == 0 { // an empty one, where .* leaves . and .. out
		return list, nil
	}
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(r.Output), "/\n"), "/\n") {
		fields := strings.SplitN(entry, " ", 4)
		if len(fields) != 4 {
			return nil, fmt.Errorf("read directory %s: cannot read %q", p, entry)
		}
		if fields[3] == "." || fields[3] == ".." {
			continue
		}
		info, err := parseStat(fields[3], strings.Join(fields[:3], " "))
		if err != nil {
			return nil, fmt.Errorf("read directory %s: %w", p, err)
		}
		list = append(list, info)
	}
	sortByName(list)
	return list, nil
}

// fileInfo is an entry as the container's stat tells it.
type fileInfo struct {
	name string
	size int64
	mode fs.FileMode
	time time.Time
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) Mode() fs.FileMode  { return i.mode }
func (i fileInfo) ModTime() time.Time { return i.time }
func (i fileInfo) IsDir() bool        { return i.mode.IsDir() }
func (i fileInfo) Sys() any           { return nil }

// parseStat reads "81a4 12 1700000000".
func parseStat(name, text string) (fs.FileInfo, error) {
	fields := strings.Fields(text)
	if len(fields) != 3 {
		return nil, fmt.Errorf("cannot read %q", text)
	}
	bits, err1 := strconv.ParseUint(fields[0], 16, 32)
	size, err2 := strconv.ParseInt(fields[1], 10, 64)
	seconds, err3 := strconv.ParseInt(fields[2], 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", text, err)
	}
	return fileInfo{name, size, fileMode(uint32(bits)), time.Unix(seconds, 0)}, nil
}

// fileMode turns the kernel's mode bits into Go's.
func fileMode(bits uint32) fs.FileMode {
	mode := fs.FileMode(bits & 0o777)
	switch bits & syscall.S_IFMT {
	case syscall.S_IFDIR:
		mode |= fs.ModeDir
	case syscall.S_IFLNK:
		mode |= fs.ModeSymlink
	case syscall.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case syscall.S_IFSOCK:
		mode |= fs.ModeSocket
	case syscall.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case syscall.S_IFBLK:
		mode |= fs.ModeDevice
	}
	for flag, bit := range map[fs.FileMode]uint32{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if bits&bit != 0 {
			mode |= flag
		}
	}
	return mode
}
