package follow

import (
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"rollbench/search"
)

// stamp tells the version of a file in every sandbox of one instance.
type stamp struct {
	Size int64
	Mod  int64 // ns since 1970
}

// files are those that an index was made of, those among them too that it leaves
// out, by path.
type files map[string]stamp

// Bases are the indexes that the trajectories of all runs share, by a key that names
// the image and the content of the base commit: sizes and times alone do not tell an
// edited dataset from the one before. They are kept in a folder, those in use also in
// memory.
type Bases struct {
	dir   string
	store *search.Store

	mu   sync.Mutex       // guards made
	made map[string]files // of the indexes that were asked for, by key
}

// unused is how long an index that nobody asks for is kept.
const unused = 30 * 24 * time.Hour

// filesEnd ends the name of the file that says what an index was made of.
const filesEnd = ".files"

// NewBases keeps the indexes in dir, and at most about budget bytes of them in memory.
// Those that nobody has asked for in 30 days are removed. That dir can be written to is
// tried here: else every trajectory would fail by it.
func NewBases(dir string, budget int64) (*Bases, error) {
	store, err := search.NewStore(dir, budget)
	if err != nil {
		return nil, err
	}
	probe, err := os.CreateTemp(dir, ".try-*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return nil, fmt.Errorf("folder of search indexes: %w; make it writable, or set tools.enable_search = false", err)
	}
	return &Bases{dir: dir, store: store, made: map[string]files{}}, prune(dir, time.Now().Add(-unused))
}

func prune(dir string, before time.Time) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("folder of search indexes: %w", err)
	}
	var errs []error
	for _, e := range entries {
		st, err := e.Info()
		if err != nil || !st.Mode().IsRegular() || !st.ModTime().Before(before) {
			continue // in use, or another process has just removed it
		}
		if ext := filepath.Ext(e.Name()); ext != ".index" && ext != filesEnd {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// get is a new view of the index of key, and what the index was made of. One that is
// neither in memory nor in the folder is made of what build gives.
func (b *Bases) get(key string, build func() ([]search.File, files, error)) (*search.View, files, error) {
	view, err := b.store.Open(key, func() ([]search.File, error) {
		content, made, err := build()
		if err != nil {
			return nil, err
		}
		// Before the index: one without this would be read anew by every trajectory.
		return content, b.keep(key, made)
	})
	if err != nil {
		return nil, nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.made[key] == nil {
		b.made[key] = b.recall(key)
	}
	return view, b.made[key], nil
}

func (b *Bases) path(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(b.dir, hex.EncodeToString(sum[:16])+filesEnd)
}

func (b *Bases) keep(key string, made files) error {
	f, err := os.CreateTemp(b.dir, ".files-*")
	if err == nil {
		err = errors.Join(gob.NewEncoder(f).Encode(made), f.Close())
		if err == nil {
			err = os.Rename(f.Name(), b.path(key))
		}
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("keep what an index was made of: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made[key] = made
	return nil
}

// recall reads what keep has written. Nothing there, or nothing that can be read, is no
// error: then every file counts as changed, and is read from the sandbox.
func (b *Bases) recall(key string) files {
	made := files{}
	f, err := os.Open(b.path(key))
	if err != nil {
		return made
	}
	defer f.Close()
	if err := gob.NewDecoder(f).Decode(&made); err != nil {
		return files{}
	}
	now := time.Now()
	for _, end := range []string{filesEnd, ".index"} {
		// It may be another process that cleans up: that one's error to report.
		_ = os.Chtimes(strings.TrimSuffix(b.path(key), filesEnd)+end, now, now)
	}
	return made
}
