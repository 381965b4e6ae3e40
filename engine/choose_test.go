package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollbench/engine/task"
	"rollbench/sandbox"
)

// kindOf is a provider of which only Check and HasImage matter.
type kindOf struct {
	sandbox.Provider
	report sandbox.Report
	has    bool
}

// images is a provider that notes which images were asked to be made.
type images struct {
	kindOf
	here  string // the one that is there
	asked *[]string
}

func (i images) HasImage(_ context.Context, image string) (bool, error) { return image == i.here, nil }

func (i images) EnsureImage(_ context.Context, spec sandbox.Spec) error {
	*i.asked = append(*i.asked, spec.Image)
	return errors.New("no such image")
}

// An image that a separate verifier needs is looked for before anything starts, as the
// policy's own is.
func TestCheckVerifierImage(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"task.toml":      "[environment]\ndocker_image = \"own\"\n[verifier.environment]\ndocker_image = \"apart\"\n",
		"instruction.md": "Do it.\n", "tests/test.sh": "echo 1 >/logs/verifier/reward.txt\n",
	} {
		file := filepath.Join(dir, "one", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	all, err := task.Load(filepath.Join(dir, "one"))
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	p := images{kindOf: kindOf{report: sandbox.Report{OK: true}}, here: "own", asked: &asked}
	err = CheckSandboxes(t.Context(), Sandbox{Kind: "docker"}, map[sandbox.Kind]sandbox.Provider{sandbox.Docker: p}, []*task.Instance{&all[0]}, nil)
	if err == nil || !strings.Contains(err.Error(), "task one: no such image") || !slices.Equal(asked, []string{"apart"}) {
		t.Errorf("asked for %q, %v", asked, err)
	}
}

func (k kindOf) Check(context.Context) sandbox.Report           { return k.report }
func (k kindOf) HasImage(context.Context, string) (bool, error) { return k.has, nil }

// shelf is a docker provider that has some images and can make others, "good…" alone.
type shelf struct {
	sandbox.Provider
	has  []string
	made *[]string
}

func (shelf) Check(context.Context) sandbox.Report { return sandbox.Report{OK: true} }
func (s shelf) HasImage(_ context.Context, image string) (bool, error) {
	return slices.Contains(s.has, image), nil
}
func (s shelf) EnsureImage(_ context.Context, spec sandbox.Spec) error {
	*s.made = append(*s.made, spec.Image)
	if !strings.HasPrefix(spec.Image, "good") {
		return errors.New("no such image")
	}
	return nil
}

// The first image that is absent is made before anything starts. Where it cannot be,
// nothing starts, unless others are there: those go on.
func TestFirstImage(t *testing.T) {
	for _, c := range []struct {
		name              string
		images, has, made []string
		said, err         string
	}{
		{"all there", []string{"a", "b"}, []string{"a", "b"}, nil, "", ""},
		{"the first alone is made", []string{"a", "good1", "good2"}, []string{"a"}, []string{"good1"}, "", ""},
		{"none can be", []string{"bad1", "bad2"}, nil, []string{"bad1"}, "", "task 0: no such image"},
		{"one before it is there", []string{"a", "bad"}, []string{"a"}, []string{"bad"}, "task 1: no such image; the other tasks go on", ""},
		{"one behind it is there", []string{"bad", "bad2", "a"}, []string{"a"}, []string{"bad"}, "task 0: no such image; the other tasks go on", ""},
	} {
		var made, said []string
		var all []*task.Instance
		for i, image := range c.images {
			all = append(all, &task.Instance{ID: fmt.Sprint(i), Image: image})
		}
		ps := map[sandbox.Kind]sandbox.Provider{sandbox.Docker: shelf{has: c.has, made: &made}, sandbox.Local: kindOf{}}
		err := CheckSandboxes(t.Context(), Sandbox{Kind: "docker"}, ps, all, func(s string) { said = append(said, s) })
		if (err == nil) != (c.err == "") || err != nil && err.Error() != c.err || !slices.Equal(made, c.made) || strings.Join(said, "|") != c.said {
			t.Errorf("%s: made %v, said %q, %v", c.name, made, said, err)
		}
	}
}

// A task that needs its image is never put into a local sandbox, and nothing runs in
// a local sandbox that cannot contain it.
func TestChooseSandbox(t *testing.T) {
	no := sandbox.Report{Detail: "nothing works", Fix: "the fix"}
	yes := sandbox.Report{OK: true}
	for _, c := range []struct {
		name, kind    string
		local, docker sandbox.Report
		has, localOK  bool
		want          sandbox.Kind
		err           string
	}{
		{"an image is needed", "local", yes, yes, true, false, "", "cannot run in a local sandbox, it needs its image: use --sandbox docker"},
		{"local is no way out", "auto", yes, no, false, false, "", "no docker sandbox on this machine: nothing works; the fix"},
		{"nor where docker lacks the image", "auto", yes, yes, false, false, sandbox.Docker, ""},
		{"no containment", "local", no, yes, true, true, "", "no local sandbox on this machine: nothing works; the fix"},
		{"no containment, docker is there", "auto", no, yes, false, true, sandbox.Docker, ""},
		{"neither", "auto", no, no, false, true, "", "no local sandbox on this machine: nothing works; the fix; nor a docker one: nothing works; the fix"},
		{"the image is there", "auto", yes, yes, true, true, sandbox.Docker, ""},
		{"the task says local will do", "auto", yes, yes, false, true, sandbox.Local, ""},
	} {
		ps := map[sandbox.Kind]sandbox.Provider{sandbox.Local: kindOf{report: c.local}, sandbox.Docker: kindOf{report: c.docker, has: c.has}}
		got, err := (&chooser{config: Sandbox{Kind: c.kind}, providers: ps}).choose(t.Context(), &task.Instance{ID: "x", Image: "i", LocalOK: c.localOK})
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v; want %q, %q", c.name, got, err, c.want, c.err)
		}
	}
}
