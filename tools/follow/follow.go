// Package follow keeps an index of source equal to the files of a sandbox.
//
// In: a sandbox with the repository laid, and the indexes of base commits that all
// trajectories share. Out: a search.View that is as the files are at the moment of
// each query, whoever changed them. It runs nothing but what the sandbox itself
// offers, and writes nothing into it.
package follow

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"path"
	"slices"
	"sync"

	"rollbench/sandbox"
	"rollbench/search"
)

// skip are folders that are never looked into.
var skip = []string{".git", ".hg", ".svn", "node_modules", "__pycache__", ".tox", ".nox", ".venv",
	".mypy_cache", ".pytest_cache", ".ruff_cache", ".eggs"}

// Follower is the view of one sandbox's repository.
type Follower struct {
	sb  sandbox.Sandbox
	dir string

	mu   sync.Mutex // guards what follows, and is held while files are read
	view *search.View
	made files             // what the index was made of
	seen map[string]uint64 // sums of the entries of the last listing, by path
}

var seed = maphash.MakeSeed()

// sum stands for an entry: 64 bits a file instead of all it says.
func sum(e sandbox.Entry) uint64 { return maphash.Comparable(seed, e) }

// Start lists the repository as it was laid, before the policy has done anything, and
// takes the index of key from the bases; the first to ask for a key makes it from this
// sandbox's files. A file whose size or time differs from those the base was made of
// is read here.
func Start(ctx context.Context, sb sandbox.Sandbox, bases *Bases, key string) (*Follower, error) {
	f := &Follower{sb: sb, dir: sb.Workdir(), seen: map[string]uint64{}}
	list, err := f.list(ctx)
	if err != nil {
		return nil, err
	}
	f.view, f.made, err = bases.get(key, func() ([]search.File, files, error) { return f.build(ctx, list) })
	if err != nil {
		return nil, err
	}
	var changed []string
	for p, e := range list {
		if was, ok := f.made[p]; !ok || was.Size != e.Size || was.Mod != e.Mod {
			changed = append(changed, p)
		}
	}
	for p := range f.made {
		if _, ok := list[p]; !ok {
			f.view.Remove(p)
		}
	}
	return f, f.take(ctx, list, changed)
}

// View is the view as the files are now.
func (f *Follower) View(ctx context.Context) (*search.View, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list, err := f.list(ctx)
	if err != nil {
		return nil, err
	}
	var changed []string
	for p, e := range list {
		if was, ok := f.seen[p]; !ok || was != sum(e) || e.Fresh {
			changed = append(changed, p)
		}
	}
	for p := range f.seen {
		if _, ok := list[p]; !ok {
			f.view.Remove(p)
		}
	}
	return f.view, f.take(ctx, list, changed)
}

// list are the files worth indexing, by path.
func (f *Follower) list(ctx context.Context) (map[string]sandbox.Entry, error) {
	entries, err := f.sb.Walk(ctx, f.dir, skip)
	if err != nil {
		return nil, fmt.Errorf("list the repository: %w", err)
	}
	list := make(map[string]sandbox.Entry, len(entries))
	for _, e := range entries {
		if e.Path = path.Clean(e.Path); search.Wanted(e.Path, e.Size) {
			list[e.Path] = e
		}
	}
	return list, nil
}

// take reads the changed files into the view. What was read is remembered with the
// listing from before the reading, so that a change in between is seen next time.
func (f *Follower) take(ctx context.Context, list map[string]sandbox.Entry, changed []string) error {
	err := read(ctx, f.sb, f.dir, changed, func(p string, content []byte, there bool) {
		if there {
			f.view.Update(p, content)
		} else {
			f.view.Remove(p)
		}
	})
	if err != nil {
		return err // the old listing stays: the next query reads all of it again
	}
	f.seen = make(map[string]uint64, len(list))
	for p, e := range list {
		f.seen[p] = sum(e)
	}
	return nil
}

func (f *Follower) build(ctx context.Context, list map[string]sandbox.Entry) ([]search.File, files, error) {
	made := make(files, len(list))
	for p, e := range list {
		made[p] = stamp{e.Size, e.Mod}
	}
	var content []search.File
	err := read(ctx, f.sb, f.dir, slices.Collect(maps.Keys(list)), func(p string, data []byte, there bool) {
		if there {
			content = append(content, search.File{Path: p, Content: data})
		}
	})
	return content, made, err
}
