package docker

import (
	"context"
	"fmt"
	"strings"

	"rollbench/sandbox"
)

// Walk lists a folder with find where the image has one (GNU's, else any with
// -exec), and else with the shell's own patterns. The stat that Stat needs is
// enough for both of the others.
func (c *Container) Walk(ctx context.Context, dir string, skip []string) ([]sandbox.Entry, error) {
	p := c.abs(dir)
	prune, names := "", ""
	for _, name := range skip {
		if strings.ContainsAny(name, "/\x00") || name == "" {
			return nil, fmt.Errorf("walk %s: %q is no name of a folder", p, name)
		}
		prune += " -type d -name " + quote(literal(name)) + " -prune -o"
		names += quote(name) + "|"
	}
	r, err := c.fileCall(ctx, "walk", p, `[ -e "$p" ] || exit 3; cd -- "$p" || exit
if find . -maxdepth 0 -printf '' 2>/dev/null; then
  find . -mindepth 1`+prune+` -type f -printf '%y %s %T@ %C@ %i %P\0' 2>/dev/null; exit 0
fi
printf 'now %s/\n' "$(date +%s)"
if find . -prune -exec true {} + 2>/dev/null; then
  find .`+prune+` -type f -exec stat -c '%f %s %Y %Z %i %n/' -- {} + 2>/dev/null; exit 0
fi
each() {
  for f in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    [ ! -L "$f" ] || continue
    if [ -d "$f" ]; then
      case ${f##*/} in `+names+`"") ;; *) ( each "$f" ) ;; esac
    elif [ -f "$f" ]; then
      set -- "$@" "$f"
    fi
  done
  shift; [ $# = 0 ] || stat -c '%f %s %Y %Z %i %n/' -- "$@" 2>/dev/null
}
each .; exit 0`)
	if err != nil {
		return nil, err
	}
	if r.Dropped > 0 {
		return nil, fmt.Errorf("walk %s: the listing is %w: more than %d MiB", p, sandbox.ErrTooLarge, maxRead>>20)
	}
	end := "\x00"
	if strings.HasPrefix(string(r.Output[:min(len(r.Output), len(sandbox.WalkNow))]), sandbox.WalkNow) {
		end = "/\n"
	}
	entries, err := sandbox.ParseWalk(r.Output, end)
	if err != nil {
		return nil, fmt.Errorf("walk %s: %w", p, err)
	}
	return entries, nil
}

// literal is a pattern that matches one name only.
func literal(name string) string {
	var b strings.Builder
	for _, r := range name {
		if strings.ContainsRune(`*?[\`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
