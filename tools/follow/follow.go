// Package follow keeps an index of source equal to the files of a sandbox.
//
// In: a sandbox with the repository laid, and the indexes of base commits that all
// trajectories share. Out: a search.View that is as the files are at the moment of
// each query, whoever changed them. It runs nothing but what the sandbox itself
// offers, and writes nothing into it.
package follow

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"path"
	"slices"
	"sync"

	"rollbench/sandbox"
	"rollbench/search"
)

// Follower is the view of one sandbox's repository.
type Follower struct {
	sb  sandbox.Sandbox
	dir string

	mu   sync.Mutex // guards what follows, and is held while files are read
	view *search.View
	made files             // what the index was made of
	seen map[string]uint64 // sums of the entries of the last listing, by path
	// unread are changed files that are too much to hold, with their sizes: the view
	// has their names. They are looked at again by each query.
	unread map[string]int64
	most   int64 // mostHeld, but in tests
}

// mostHeld is how many bytes of changed files a view holds in memory, which a policy
// could else fill. mostFiles is how many files there may be.
const (
	mostHeld  = 64 << 20
	mostFiles = 500_000
)

var seed = maphash.MakeSeed()

// sum stands for an entry: 64 bits a file instead of all it says.
func sum(e sandbox.Entry) uint64 { return maphash.Comparable(seed, e) }

// Start lists the repository as it was laid, before the policy has done anything, and
// takes the index of key from the bases; the first to ask for a key makes it from this
// sandbox's files. A file whose size or time differs from those the base was made of
// is read here.
func Start(ctx context.Context, sb sandbox.Sandbox, bases *Bases, key string) (*Follower, error) {
	f := &Follower{sb: sb, dir: sb.Workdir(), seen: map[string]uint64{}, unread: map[string]int64{}, most: mostHeld}
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
	var gone []string
	for p := range f.made {
		if _, ok := list[p]; !ok {
			gone = append(gone, p)
		}
	}
	if err := f.drop(gone); err != nil {
		return nil, err
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
	if f.view.Load() != nil { // its file was removed or damaged while it was not in memory
		if err := f.alone(ctx, list); err != nil {
			return nil, err
		}
	}
	var changed []string
	for p, e := range list {
		if was, ok := f.seen[p]; !ok || was != sum(e) || e.Fresh {
			changed = append(changed, p)
		}
	}
	var gone []string
	for _, known := range []iter.Seq[string]{maps.Keys(f.seen), maps.Keys(f.unread)} {
		for p := range known {
			if _, ok := list[p]; !ok {
				gone = append(gone, p)
			}
		}
	}
	if err := f.drop(gone); err != nil { // first, for the room
		return nil, err
	}
	return f.view, f.take(ctx, list, f.fitting(list, changed))
}

// Unread is how many changed files the view has the names of only, because together
// they are too large, and how many bytes they have.
func (f *Follower) Unread() (files int, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, size := range f.unread {
		bytes += size
	}
	return len(f.unread), bytes
}

// fitting are those of the changed files that fit in memory, the smallest first, so that
// source has its place before data. The order makes it the same in a sandbox that is
// rebuilt.
func (f *Follower) fitting(list map[string]sandbox.Entry, changed []string) []string {
	slices.SortFunc(changed, func(a, b string) int { return cmp.Or(cmp.Compare(list[a].Size, list[b].Size), cmp.Compare(a, b)) })
	again := make(map[string]bool, len(changed))
	for _, p := range changed {
		again[p] = true
	}
	room := f.most - f.view.Held(func(p string) bool { return again[p] })
	clear(f.unread)
	for i, p := range changed {
		if room -= list[p].Size; room < 0 {
			for _, p := range changed[i:] {
				f.unread[p] = list[p].Size
			}
			return changed[:i]
		}
	}
	return changed
}

// alone goes on with an index of the files as they are now, which nobody shares: they
// are not those of the base commit any more.
func (f *Follower) alone(ctx context.Context, list map[string]sandbox.Entry) error {
	content, _, err := f.build(ctx, list)
	if err != nil {
		return err
	}
	f.view = search.Build(content).View()
	clear(f.unread)
	for p, e := range list {
		f.seen[p] = sum(e)
	}
	return nil
}

// list are the files worth indexing, by path.
func (f *Follower) list(ctx context.Context) (map[string]sandbox.Entry, error) {
	entries, err := f.sb.Walk(ctx, f.dir, search.HiddenDirs())
	if err != nil {
		return nil, fmt.Errorf("list the repository: %w", err)
	}
	if len(entries) > mostFiles {
		return nil, fmt.Errorf("the repository holds %d files: more than %d are not indexed", len(entries), mostFiles)
	}
	list := make(map[string]sandbox.Entry, len(entries))
	for _, e := range entries {
		if e.Path = path.Clean(e.Path); search.Wanted(e.Path, e.Size) {
			list[e.Path] = e
		}
	}
	return list, nil
}

func (f *Follower) drop(gone []string) error {
	for _, p := range gone {
		if err := f.view.Remove(p); err != nil {
			return err
		}
	}
	return nil
}

// take reads the changed files into the view. What was read is remembered with the
// listing from before the reading, so that a change in between is seen next time.
func (f *Follower) take(ctx context.Context, list map[string]sandbox.Entry, changed []string) error {
	for p := range f.unread {
		if err := f.view.Update(p, nil); err != nil {
			return err
		}
	}
	err := read(ctx, f.sb, f.dir, changed, func(p string, content []byte, there bool) error {
		if there {
			return f.view.Update(p, content)
		}
		return f.view.Remove(p)
	})
	if err != nil {
		return err // the old listing stays: the next query reads all of it again
	}
	f.seen = make(map[string]uint64, len(list))
	for p, e := range list {
		if _, left := f.unread[p]; !left {
			f.seen[p] = sum(e)
		}
	}
	return nil
}

func (f *Follower) build(ctx context.Context, list map[string]sandbox.Entry) ([]search.File, files, error) {
	made := make(files, len(list))
	for p, e := range list {
		made[p] = stamp{e.Size, e.Mod}
	}
	var content []search.File
	err := read(ctx, f.sb, f.dir, slices.Collect(maps.Keys(list)), func(p string, data []byte, there bool) error {
		if there {
			content = append(content, search.File{Path: p, Content: data})
		}
		return nil
	})
	return content, made, err
}
