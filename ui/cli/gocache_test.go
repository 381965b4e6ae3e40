package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollbench/engine/task"
	"rollbench/sandbox"
)

// A Go task in a local sandbox starts from a cache that was made once.
func TestGoCache(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	out := s.run("validate", "--tasks", "bundled", "--instances", "go-retry-budget", "--sandbox", "local")
	if !strings.Contains(out, "1 of 1 tasks are sound") {
		t.Errorf("validate: %s", out)
	}
	made, err := filepath.Glob(filepath.Join(s.home, "cache", "*"))
	if err != nil || len(made) != 1 || !strings.HasPrefix(filepath.Base(made[0]), "go1.") {
		t.Errorf("cache: %v %v", made, err)
	}
	if _, err := os.Stat(filepath.Join(made[0], "00")); err != nil {
		t.Errorf("the cache is no Go build cache: %v", err)
	}
}

// Only tasks that bring their own GOCACHE and run locally get one.
func TestGoCacheIsNotForOthers(t *testing.T) {
	a := testApp(t)
	c, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []*task.Instance{
		{LocalOK: true, Needs: []string{"python3"}, Env: map[string]string{"GOCACHE": "/tmp/x"}},
		{LocalOK: true, Needs: []string{"go"}},
		{Needs: []string{"go"}, Env: map[string]string{"GOCACHE": "/tmp/x"}},
	} {
		if dir, err := a.goCache(t.Context(), c, t.TempDir(), []*task.Instance{in}); dir != "" || err != nil || in.Env[task.GoCacheVar] != "" {
			t.Errorf("%+v got %q %v", in, dir, err)
		}
	}
}

// A cache whose maker was killed is removed by the next start; one that is being
// made, and what another wrote there, stays.
func TestUnfinishedGoCacheIsDropped(t *testing.T) {
	home := t.TempDir()
	living, err := sandbox.ThisOwner()
	if err != nil {
		t.Fatal(err)
	}
	dead := living
	dead.Start-- // the pid lives, as another process
	name := func(o sandbox.Owner) string { return makingPrefix + strings.ReplaceAll(o.String(), "/", ",") + "-1234" }
	for _, dir := range []string{name(living), name(dead), "making-1234", "go1.26.0"} {
		if err := os.MkdirAll(filepath.Join(home, "cache", dir, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := dropUnfinished(home); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Join(home, "cache"))
	if err != nil || len(left) != 3 || slices.ContainsFunc(left, func(e os.DirEntry) bool { return e.Name() == name(dead) }) {
		t.Errorf("left %v, %v", left, err)
	}
}
