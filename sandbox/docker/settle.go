package docker

import (
	"context"
	"fmt"
	"strings"
)

// settle finds out whom commands run as, and gives that user the
// working directory where the engine has just made it.
func (c *Container) settle(ctx context.Context) error {
	if name, _, _ := strings.Cut(c.runUser, ":"); name == "" || name == "root" || name == "0" {
		return nil
	}
	said, err := c.helper(ctx, []string{"/bin/sh", "-c", "id -u && id -g"}, as{user: c.runUser})
	if err != nil {
		return fmt.Errorf("who is user %q: %w: %s", c.runUser, err, oneLine(said))
	}
	ids := strings.Fields(said)
	if len(ids) != 2 {
		return fmt.Errorf("who is user %q: cannot read %q", c.runUser, oneLine(said))
	}
	c.user = ids[0] + ":" + ids[1]
	const hand = `[ ! -O "$1" ] || { set -- "$@" "$1"/*; [ -e "$3" ] || chown "$2" "$1"; }`
	if said, err = c.helper(ctx, []string{"/bin/sh", "-c", hand, "sh", c.workdir, c.user}, as{}); err != nil {
		return fmt.Errorf("give %s to user %s: %w: %s", c.workdir, c.user, err, oneLine(said))
	}
	return nil
}
