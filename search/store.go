package search

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Store keeps indexes by key, say an image and a commit: in memory within a budget, the
// least used ones on disk only. All who open one key share one Base.
type Store struct {
	dir    string
	budget int64 // bytes

	mu      sync.Mutex // guards what follows
	entries map[string]*entry
	clock   uint64
	// units makes equal files of several indexes one in memory.
	units unitPool
}

// entry is one index of a store. It is the index of its views.
type entry struct {
	store *Store
	file  string

	load sync.Mutex // held while the index is built or read, so that one caller does it
	// base is nil while the index is only on disk; used is when it was last asked for.
	// The store's lock guards both.
	base *Base
	used uint64
}

// NewStore keeps its files in dir, and at most about budget bytes of indexes in memory;
// the index used last always stays.
func NewStore(dir string, budget int64) (*Store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of search indexes: %w", err)
	}
	return &Store{dir: dir, budget: budget, entries: map[string]*entry{}}, nil
}

// Open gives a view of the index with that key. If neither memory nor disk has it, the
// files are asked for and indexed; of several callers at once only one does so.
func (s *Store) Open(key string, files func() ([]File, error)) (*View, error) {
	e := s.entry(key)
	if _, err := e.get(); err == nil {
		return &View{index: e}, nil
	} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errFormat) {
		return nil, err
	}
	if err := e.build(files); err != nil {
		return nil, err
	}
	return &View{index: e}, nil
}

func (s *Store) entry(key string) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[key]
	if e == nil {
		sum := sha256.Sum256([]byte(key))
		e = &entry{store: s, file: filepath.Join(s.dir, hex.EncodeToString(sum[:16])+".index")}
		s.entries[key] = e
	}
	return e
}

// Has says whether an index is in memory or on disk.
func (s *Store) Has(key string) bool {
	e := s.entry(key)
	if s.resident(e) != nil {
		return true
	}
	_, err := os.Stat(e.file)
	return err == nil
}

func (s *Store) resident(e *entry) *Base {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	e.used = s.clock
	return e.base
}

// get is the index, read from disk if need be.
func (e *entry) get() (*Base, error) {
	if b := e.store.resident(e); b != nil {
		return b, nil
	}
	e.load.Lock()
	defer e.load.Unlock()
	if b := e.store.resident(e); b != nil {
		return b, nil
	}
	b, err := readBase(e.file)
	if err != nil {
		return nil, fmt.Errorf("read the search index %s: %w", e.file, err)
	}
	e.store.admit(e, b)
	return b, nil
}

func (e *entry) build(files func() ([]File, error)) error {
	e.load.Lock()
	defer e.load.Unlock()
	if e.store.resident(e) != nil {
		return nil
	}
	list, err := files()
	if err != nil {
		return fmt.Errorf("read the files to index: %w", err)
	}
	b := Build(list)
	if err := writeBase(e.file, b); err != nil {
		return fmt.Errorf("keep the search index: %w", err)
	}
	e.store.admit(e, b)
	return nil
}

// admit takes an index into memory, and drops the least used ones if there is too much.
func (s *Store) admit(e *entry, b *Base) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.units.share(b)
	s.clock++
	e.base, e.used = b, s.clock
	for s.size() > s.budget {
		var oldest *entry
		for _, o := range s.entries {
			if o != e && o.base != nil && (oldest == nil || o.used < oldest.used) {
				oldest = o
			}
		}
		if oldest == nil {
			return
		}
		oldest.base = nil
	}
}

// Resident says how many indexes are in memory, and about how many bytes they take.
func (s *Store) Resident() (indexes int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		if e.base != nil {
			indexes++
		}
	}
	return indexes, s.size()
}

// size adds up what is in memory, shared files once.
func (s *Store) size() int64 {
	seen := map[*unit]bool{}
	total := int64(0)
	for _, e := range s.entries {
		if e.base == nil {
			continue
		}
		total += e.base.ownSize()
		for i := range e.base.files {
			if u := e.base.files[i].unit; !seen[u] {
				seen[u] = true
				total += u.size()
			}
		}
	}
	return total
}
