package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"rollbench/engine/task"
	"rollbench/sandbox"
)

// goCacheProgram imports what Go tasks commonly use, so that building its test
// compiles the standard library once for all sandboxes.
const goCacheProgram = `package warm

import (
	_ "bufio"
	_ "bytes"
	_ "context"
	_ "encoding/json"
	_ "errors"
	_ "fmt"
	_ "io"
	_ "math/rand"
	_ "os"
	_ "path"
	_ "path/filepath"
	_ "reflect"
	_ "regexp"
	_ "sort"
	_ "strconv"
	_ "strings"
	_ "sync"
	"testing"
	_ "time"
)

func TestNothing(*testing.T) {}
`

// goCache gives instances that need Go a build cache with the standard library
// in it: made once for each Go version, shown read only to their sandboxes and
// copied by task.Prepare. Without it every fresh sandbox compiles the library
// anew. It returns the folder, "" when no instance needs one.
func (a *app) goCache(ctx context.Context, c *config, home string, instances []*task.Instance) (string, error) {
	var needy []*task.Instance
	for _, in := range instances {
		if in.LocalOK && slices.Contains(in.Needs, "go") && in.Env["GOCACHE"] != "" {
			needy = append(needy, in)
		}
	}
	if len(needy) == 0 || c.Sandbox.Kind == "docker" || !hasProgram("go") {
		return "", nil
	}
	version, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOVERSION: %w", err)
	}
	dir := filepath.Join(home, "cache", strings.TrimSpace(string(version)))
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		a.progress("compiling Go's standard library once for the sandboxes of Go tasks …")
		if err := makeGoCache(ctx, dir, needy[0].Env); err != nil {
			return "", err
		}
	}
	for _, in := range needy {
		in.Env[task.GoCacheVar] = dir
	}
	return dir, nil
}

// makingPrefix and its maker begin the name of a cache that is being made.
const makingPrefix = "making-"

// dropUnfinished removes caches whose maker died while it made them.
func dropUnfinished(home string) error {
	all, err := filepath.Glob(filepath.Join(home, "cache", makingPrefix+"*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range all {
		name := strings.TrimPrefix(filepath.Base(dir), makingPrefix)
		name = name[:max(strings.LastIndexByte(name, '-'), 0)]
		if owner, err := sandbox.ParseOwner(strings.ReplaceAll(name, ",", "/")); err == nil && !owner.Alive() {
			errs = append(errs, os.RemoveAll(dir))
		}
	}
	return errors.Join(errs...)
}

// makeGoCache appears whole or not at all.
func makeGoCache(ctx context.Context, dir string, env map[string]string) (err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	owner, err := sandbox.ThisOwner()
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), makingPrefix+strings.ReplaceAll(owner.String(), "/", ",")+"-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	for name, text := range map[string]string{"go.mod": "module warm\n", "warm_test.go": goCacheProgram} {
		if err := os.WriteFile(filepath.Join(tmp, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, "go", "test", ".")
	cmd.Dir, cmd.Env = tmp, os.Environ()
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	// Sandboxes see no flags of this user's.
	cmd.Env = append(cmd.Env, "GOFLAGS=", "GOCACHE="+filepath.Join(tmp, "cache"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compile Go's standard library: %w: %s", err, strings.TrimSpace(string(out)))
	}
	if err := os.Rename(filepath.Join(tmp, "cache"), dir); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}
