package export

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"rollbench/sessions"
)

// Meta is FILE.meta.json: what the rows have no key for.
type Meta struct {
	Format      string          `json:"format"`
	Version     string          `json:"version"` // of the rollbench that recorded the run
	Run         string          `json:"run"`
	Title       string          `json:"title"`
	Recorded    time.Time       `json:"recorded"` // when the run started
	Created     time.Time       `json:"created"`  // when the file was written
	Model       string          `json:"model"`
	Simulated   bool            `json:"simulated"`
	Options     Options         `json:"options"`
	Counts      Summary         `json:"counts"`
	Masks       map[string]int  `json:"masks"` // masked trajectories by reason
	Fingerprint json.RawMessage `json:"fingerprint"`

	Metrics map[string]float64 `json:"metrics"`
	PassAt  []PassAt           `json:"pass_at"`
	Groups  []Group            `json:"groups"` // the baselines

	Tampering []Tampered `json:"tampering"` // written trajectories with signs of it
}

// NewMeta of an export written at the time.
func NewMeta(run sessions.Run, sum Summary, opt Options, created time.Time) Meta {
	if full, err := opt.normal(sum.Format); err == nil {
		opt = full
	}
	return Meta{Format: sum.Format, Version: run.Version, Run: run.ID, Title: run.Title, Recorded: run.Created,
		Created: created.UTC(), Model: run.Model, Simulated: run.Simulate, Options: opt, Counts: sum,
		Masks: sum.Masks, Fingerprint: run.Print, Metrics: sum.Metrics, PassAt: sum.PassAt, Groups: sum.Baselines, Tampering: sum.Tampering}
}

// File writes the run to path, with path.meta.json beside it. Both appear
// whole or not at all, and replace nothing unless opt.Overwrite.
func File(ctx context.Context, path, format string, r sessions.Reader, opt Options) (Summary, error) {
	meta := metaOf(path)
	for _, p := range []string{path, meta} {
		if err := vacant(p, opt.Overwrite); err != nil {
			return Summary{}, err
		}
	}
	var sum Summary
	rows, err := stage(path, func(w *bufio.Writer) (err error) {
		sum, err = Write(ctx, w, format, r, opt)
		return err
	})
	if err != nil {
		return sum, err
	}
	defer os.Remove(rows) // gone already once renamed
	about, err := stage(meta, func(w *bufio.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(NewMeta(r.Run(), sum, opt, time.Now()))
	})
	if err != nil {
		return sum, err
	}
	defer os.Remove(about)
	for _, move := range [][2]string{{rows, path}, {about, meta}} {
		if err := vacant(move[1], opt.Overwrite); err != nil { // somebody may have been faster
			return sum, err
		}
		if err := os.Rename(move[0], move[1]); err != nil {
			return sum, explain(path, err)
		}
	}
	return sum, nil
}

// metaOf is the name of the file beside path.
func metaOf(path string) string { return path + ".meta.json" }

func vacant(path string, overwrite bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return explain(path, err)
	case info.IsDir():
		return fmt.Errorf("export to %s: it is a folder; name a file", path)
	case !overwrite:
		return fmt.Errorf("export to %s: the file exists; choose another name, or --overwrite it", path)
	}
	return nil
}

// stage fills a temporary file in path's folder and returns its name. On
// error nothing is left.
func stage(path string, fill func(*bufio.Writer) error) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("export to %s: folder %s does not exist", path, filepath.Dir(path))
	}
	if err != nil {
		return "", explain(path, err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err = fill(w); err == nil {
		err = errors.Join(w.Flush(), f.Chmod(0o644), f.Sync())
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", explain(path, errors.Join(err, os.Remove(f.Name())))
	}
	return f.Name(), nil
}

func explain(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("export to %s: disk is full; free space or choose another folder: %w", path, err)
	}
	return fmt.Errorf("export to %s: %w", path, err)
}
