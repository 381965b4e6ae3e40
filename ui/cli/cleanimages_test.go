package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"rollbench/sandbox"
	"rollbench/sandbox/docker"
)

// shelf is a docker provider that has images only.
type shelf struct {
	sandbox.Provider
	all     []docker.Image
	removed []string
	broken  bool
}

func (s *shelf) Check(context.Context) sandbox.Report {
	return sandbox.Report{OK: !s.broken, Detail: "no engine", Fix: "start it"}
}
func (s *shelf) Images(context.Context) ([]docker.Image, error) { return s.all, nil }
func (s *shelf) RemoveImage(_ context.Context, i docker.Image) error {
	if i.Name == "late" {
		return errors.New("image late is in use: it stays")
	}
	s.removed = append(s.removed, i.Name)
	return nil
}

func TestCleanImages(t *testing.T) {
	day := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	all := []docker.Image{
		{Name: "env:1", How: "built", Size: 200 << 20, Own: 3 << 20, Created: day},
		{Name: "env:2", How: "pulled", Size: 2 << 30, Own: 1 << 30, Created: day, Used: "container x"},
		{Name: "late", How: "snapshot", Size: 5 << 20, Own: 5 << 20, Created: day},
	}
	const listed = "   200 MB       3 MB its own  built     2026-05-04  env:1\n" +
		"   2.0 GB     1.0 GB its own  pulled    2026-05-04  env:2  used by container x: stays\n" +
		"     5 MB       5 MB its own  snapshot  2026-05-04  late\n"
	for _, c := range []struct {
		name      string
		all       []docker.Image
		yes, dry  bool
		out, err  string
		removed   int
		noMachine bool
	}{
		{name: "dry", all: all, dry: true, out: listed + "would remove 2 images, 8 MB\n"},
		{name: "nobody to ask", all: all, out: listed, err: "remove 2 images, 8 MB? there is no terminal to ask on: --yes removes them"},
		{name: "yes", all: all, yes: true, out: listed + "removed env:1\n", err: "image late is in use", removed: 1},
		{name: "all used", all: all[1:2], yes: true, out: strings.Split(listed, "\n")[1] + "\nall are in use\n"},
		{name: "none", yes: true, out: "no images: rollbench has built and pulled none that is still here\n"},
		{name: "no engine", noMachine: true, err: "no images: no engine; start it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			s := &shelf{all: c.all, broken: c.noMachine}
			a := &app{in: os.Stdin, out: &out, err: &out}
			err := a.cleanImages(t.Context(), map[sandbox.Kind]sandbox.Provider{sandbox.Docker: s}, c.yes, c.dry)
			if out.String() != c.out || len(s.removed) != c.removed || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s\n%v, removed %v", out.String(), err, s.removed)
			}
		})
	}
	k := imageCheck(t.Context(), &shelf{all: all})
	if !k.ok || k.detail != "3 images made or pulled by rollbench, 1.0 GB of their own; `rollbench clean --images` removes them" {
		t.Errorf("%+v", k)
	}
}
