package export

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestFile(t *testing.T) {
	r := workedExample(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "out.jsonl")
	sum, err := File(t.Context(), path, "transitions", r.Store, Options{})
	if err != nil || sum.Rows != 4 {
		t.Fatalf("%+v, %v", sum, err)
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.Count(string(data), "\n") != 4 {
		t.Errorf("file holds %q, %v", data, err)
	}
	data, err = os.ReadFile(path + ".meta.json")
	if err != nil {
		t.Fatal(err)
	}
	var meta Meta
	if err := json.Unmarshal(data, &meta); err != nil {
		t.Fatal(err)
	}
	if meta.Format != "transitions" || meta.Run != "r-1" || !meta.Simulated || meta.Counts.Rows != 4 || meta.Options.OnMissing != "drop" ||
		meta.Masks["max_iterations_reached"] != 1 || meta.Version != "0.1" || meta.Created.IsZero() || !strings.Contains(string(data), `"scaffold"`) {
		t.Errorf("meta is %s", data)
	}
	if _, err := File(t.Context(), path, "transitions", r.Store, Options{}); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("second export: %v", err)
	}
	if _, err := File(t.Context(), path, "transitions", r.Store, Options{Overwrite: true}); err != nil {
		t.Error(err)
	}
	for where, want := range map[string]string{dir: "is a folder", filepath.Join(dir, "no", "f"): "does not exist"} {
		if _, err := File(t.Context(), where, "transitions", r.Store, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", where, err, want)
		}
	}
	if _, err := File(t.Context(), filepath.Join(dir, "x"), "csv", r.Store, Options{}); err == nil || !strings.Contains(err.Error(), "there is chat, skyrl, tinker, transitions") {
		t.Errorf("unknown format: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v is left in the folder, %v", entries, err)
	}
}

// fullDisk takes a few bytes and then fails as a full disk does.
type fullDisk struct{ left int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left -= len(p); d.left < 0 {
		return 0, syscall.ENOSPC
	}
	return len(p), nil
}

func TestFullDisk(t *testing.T) {
	r := workedExample(t)
	_, err := Write(t.Context(), &fullDisk{600}, "transitions", r.Store, Options{})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
	if err = explain("out.jsonl", err); !strings.HasPrefix(err.Error(), "export to out.jsonl: disk is full") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}
