package sandbox

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseMounts(t *testing.T) {
	got, err := ParseMounts([]string{"/data/models/:/models", "/data/x//y:/models/y"})
	if want := []Mount{{"/data/models", "/models"}, {"/data/x/y", "/models/y"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v", got, err)
	}
	for text, want := range map[string]string{
		"/data":                       "SOURCE:TARGET",
		"/data:/x:rw":                 "SOURCE:TARGET",
		"data:/x":                     "absolute",
		"~/data:/x":                   "absolute",
		"/data:x":                     "absolute",
		"/:/x":                        "holds everything",
		"/data/..:/x":                 "holds everything",
		"/var/run/docker.sock:/d":     "a way out",
		"/run:/x":                     "a way out",
		"/data/../run/user:/x":        "a way out",
		"/proc/1/root:/x":             "a way out",
		"/sys:/x":                     "a way out",
		"/dev/sda:/x":                 "a way out",
		"/data:/":                     "nothing can be shown at",
		"/data:/proc/x":               "nothing can be shown at",
		"/data/a:/x\x00/data/b:/x/./": "both to be shown at /x",
	} {
		if m, err := ParseMounts(strings.Split(text, "\x00")); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v %v", text, m, err)
		}
	}
}

// What a source really is decides.
func TestCheckMounts(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{os.Mkdir(at("d"), 0o755), os.Mkdir(at("engine"), 0o755), os.WriteFile(at("f"), nil, 0o644),
		os.Symlink("d", at("link")), os.Symlink("/", at("root")), os.Symlink("/proc", at("proc"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("unix", at("engine/s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got, err := CheckMounts([]Mount{{at("link"), "/a"}, {at("f"), "/b"}}, at("engine/s"))
	if want := []Mount{{at("d"), "/a"}, {at("f"), "/b"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v", got, err)
	}
	for source, want := range map[string]string{
		"absent": "no such file", "root": "holds everything", "proc": "a way out", "engine/s": "neither a folder nor a file",
		"engine": "the engine's socket", ".": "the engine's socket",
	} {
		if m, err := CheckMounts([]Mount{{at(source), "/x"}}, at("engine/s")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %v", source, m, err)
		}
	}
}
