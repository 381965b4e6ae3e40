package task

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"rollbench/sandbox"
)

// artifactsDir is handed to a separate verifier without being declared.
const artifactsDir = "/logs/artifacts"

// artifact is a file or folder of the policy's sandbox that a separate verifier gets, at
// the same path.
type artifact struct {
	source  string   // absolute
	exclude []string // patterns as tar's --exclude takes them, of a folder's content
}

// hook is a command that runs in the policy's sandbox once the policy is done.
type hook struct {
	command string
	user    string
	limit   time.Duration
}

const (
	hookLimit   = 60 * time.Second // Harbor's
	hookMessage = 200              // bytes of its output that are told
)

// Collect runs the task's collect hooks in the policy's sandbox, whose loop is over, and
// packs the declared artifacts, with their whole paths, as a tar. What cannot be
// collected is not there for the verifier, as in Harbor: notes say what. An error is of
// the sandbox or of w.
func (in *Instance) Collect(ctx context.Context, sb sandbox.Sandbox, w io.Writer) (notes []string, err error) {
	h := in.kind.(*harbor)
	if notes, err = h.runHooks(ctx, sb); err != nil {
		return notes, err
	}
	p := packer{out: tar.NewWriter(w)}
	for _, a := range h.artifacts {
		if other := p.overlaps(a.source); other != "" {
			notes = append(notes, fmt.Sprintf("artifact %s is left out: %s was collected before", a.source, other))
			continue
		}
		note, err := p.pack(ctx, sb, a)
		if err != nil {
			return notes, err
		}
		if note != "" && a.source != artifactsDir {
			notes = append(notes, fmt.Sprintf("artifact %s: %s", a.source, note))
		}
	}
	return notes, p.out.Close()
}

// runHooks runs the collect hooks; notes say which failed.
func (h *harbor) runHooks(ctx context.Context, sb sandbox.Sandbox) (notes []string, err error) {
	for _, one := range h.collect {
		res, err := sb.Exec(ctx, sandbox.Command{Script: one.command, User: one.user, Timeout: one.limit})
		switch {
		case err != nil:
			return notes, err
		case res.End == sandbox.Cancelled:
			return notes, cancelled(ctx)
		case res.End != sandbox.Exited:
			notes = append(notes, fmt.Sprintf("collect command %s: not done after %s", excerpt([]byte(one.command)), one.limit))
		case res.ExitCode != 0:
			said := scriptMessage(string(res.Output), res.ExitCode)
			notes = append(notes, fmt.Sprintf("collect command %s: %s", excerpt([]byte(one.command)), said[:min(len(said), hookMessage)]))
		}
	}
	return notes, nil
}

// packer writes artifacts to one tar.
type packer struct {
	out  *tar.Writer
	done []string
}

func (p *packer) overlaps(source string) string {
	for _, d := range p.done {
		if sandbox.Within(d, source) || sandbox.Within(source, d) {
			return d
		}
	}
	return ""
}

// pack one artifact; note says why it, or a part of it, is not there.
func (p *packer) pack(ctx context.Context, sb sandbox.Sandbox, a artifact) (note string, err error) {
	from, err := resolve(ctx, sb, a.source)
	if err != nil || from == "" {
		return "it is not there", err
	}
	if from == "/" {
		return "it leads to the whole file system", nil
	}
	stream, err := sb.CopyOut(ctx, from)
	switch {
	case errors.Is(err, sandbox.ErrNotExist):
		return "it is not there", nil
	case errors.Is(err, sandbox.ErrTooLarge):
		return fmt.Sprintf("it has more than %d MiB", sandbox.MaxCopyOut>>20), nil
	case err != nil:
		return "", err
	}
	p.done = append(p.done, a.source)
	note, err = p.copy(stream, path.Base(from), a)
	return note, errors.Join(err, stream.Close())
}

// resolve follows links in the sandbox; "" where nothing is there.
func resolve(ctx context.Context, sb sandbox.Sandbox, file string) (string, error) {
	res, err := sb.Exec(ctx, sandbox.Command{Argv: []string{"readlink", "-f", "--", sb.Path(file)}, User: sandbox.Root, Timeout: patchLimit})
	switch {
	case err != nil:
		return "", err
	case res.End == sandbox.Cancelled:
		return "", cancelled(ctx)
	case res.End != sandbox.Exited || res.ExitCode != 0:
		return "", nil
	}
	return strings.TrimSuffix(string(res.Output), "\n"), nil
}

// copy a stream, whose names begin with base, under the artifact's path. Sockets,
// devices and the like stay behind.
func (p *packer) copy(stream io.Reader, base string, a artifact) (note string, err error) {
	under := func(name string) string { // relative to the artifact, "" is itself
		return strings.TrimPrefix(strings.TrimPrefix(path.Clean(name), base), "/")
	}
	skip := excluder(a.exclude)
	in := tar.NewReader(stream)
	for {
		head, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return note, nil
		case err != nil:
			return note, err
		}
		name := under(head.Name)
		if name != "" && skip(name) {
			continue
		}
		switch head.Typeflag {
		case tar.TypeReg, tar.TypeDir, tar.TypeSymlink:
		case tar.TypeLink:
			if head.Linkname = under(head.Linkname); skip(head.Linkname) {
				note = fmt.Sprintf("%s is a link to what is excluded", name)
				continue
			}
			head.Linkname = path.Join(a.source, head.Linkname)[1:]
		default:
			continue
		}
		head.Name, head.Format = path.Join(a.source, name)[1:], tar.FormatUnknown
		if err := p.out.WriteHeader(head); err != nil {
			return note, err
		}
		if _, err := io.Copy(p.out, in); err != nil {
			return note, err
		}
	}
}

// excluder matches as tar does: a pattern may begin at any component, its * also takes
// slashes, and what lies in a folder that is left out is left out, too.
func excluder(patterns []string) func(name string) bool {
	var all []*regexp.Regexp
	for _, p := range patterns {
		all = append(all, regexp.MustCompile(`(?s)(^|/)`+globExpression(strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/"))+`(/|$)`))
	}
	return func(name string) bool {
		return slices.ContainsFunc(all, func(r *regexp.Regexp) bool { return r.MatchString(name) })
	}
}

// globExpression of a shell pattern. A bracket that is not closed is itself.
func globExpression(pattern string) string {
	var b strings.Builder
	glob := []rune(pattern)
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '*':
			b.WriteString(`.*`)
		case '?':
			b.WriteString(`.`)
		case '\\':
			if i++; i < len(glob) {
				b.WriteString(regexp.QuoteMeta(string(glob[i])))
			}
		case '[':
			class, n := globClass(glob[i:])
			b.WriteString(class)
			i += n - 1
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return b.String()
}

// globClass is the class that a pattern begins with, as an expression, and how many of
// its characters that is. A bracket that comes first in a class belongs to it.
func globClass(glob []rune) (class string, n int) {
	first, not := 1, ""
	if len(glob) > 1 && (glob[1] == '!' || glob[1] == '^') {
		first, not = 2, "^"
	}
	if len(glob) > first+1 {
		if end := slices.Index(glob[first+1:], ']'); end >= 0 {
			end += first + 1
			inside := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`).Replace(string(glob[first:end]))
			class = "[" + not + inside + "]"
			if _, err := regexp.Compile(class); err == nil {
				return class, end + 1
			}
		}
	}
	return `\[`, 1
}
