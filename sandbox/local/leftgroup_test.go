//go:build linux

package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A dead owner's control groups are removed also where the next start is in others,
// as after another login. What is no group of that sandbox stays.
func TestReapsGroupsElsewhere(t *testing.T) {
	h, err := groups("/proc/self")
	if err != nil {
		t.Skip(err)
	}
	id, elsewhere := "rollbench-dead-groups", ""
	for _, place := range h.places(id) {
		other := filepath.Join(filepath.Dir(place), fmt.Sprintf("rollbench-test-%d", os.Getpid()))
		if os.Mkdir(other, 0o755) == nil {
			t.Cleanup(func() { os.Remove(other) })
			elsewhere = other
			break
		}
	}
	if elsewhere == "" {
		t.Skip("no control groups can be made")
	}
	p, err := New(Options{Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	gone := p.owner
	gone.Start--
	owned := func(id, dir string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(p.opt.Home, id+".owner"), []byte(gone.String()+"\n"+groupLine+dir+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	group, stranger, folder := filepath.Join(elsewhere, id), filepath.Join(elsewhere, "stranger"), filepath.Join(t.TempDir(), "rollbench-folder")
	for _, dir := range []string{group, stranger, folder} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(dir) })
	}
	owned(id, group)
	owned("rollbench-other", stranger)
	owned("rollbench-folder", folder)
	removed, err := p.Reap(t.Context())
	if len(removed) != 1 || removed[0] != "local sandbox "+id {
		t.Errorf("removed %q", removed)
	}
	if err == nil || !strings.Contains(err.Error(), "reap rollbench-other") || !strings.Contains(err.Error(), "reap rollbench-folder") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(group); err == nil {
		t.Error("the group is still there")
	}
	for _, dir := range []string{stranger, folder} {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
}

// leftGroups are the groups of id that exist where this process makes its own.
func leftGroups(id string) []string {
	h, err := groups("/proc/self")
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(h.places(id), func(dir string) bool {
		_, err := os.Stat(dir)
		return err != nil
	})
}
