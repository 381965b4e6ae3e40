package search

import (
	"hash/maphash"
	"unsafe"
	"weak"

	"rollbench/search/source"
)

// unitPool finds the unit of a file's bytes while any index still holds it.
type unitPool struct {
	seed  maphash.Seed
	units map[uint64]weak.Pointer[unit]
}

// share replaces the units of an index by equal ones of others. Most files of two
// commits of a repository are the same.
func (p *unitPool) share(b *Base) {
	if p.units == nil {
		p.seed, p.units = maphash.MakeSeed(), map[uint64]weak.Pointer[unit]{}
	}
	for i := range b.files {
		u := b.files[i].unit
		key := maphash.String(p.seed, u.src)
		if w, ok := p.units[key]; ok {
			if other := w.Value(); other != nil && other.src == u.src && other.language == u.language && len(other.docs) == len(u.docs) {
				b.files[i].unit = other
				continue
			}
		}
		p.units[key] = weak.Make(u)
	}
	for key, w := range p.units {
		if w.Value() == nil {
			delete(p.units, key)
		}
	}
}

// size is about how many bytes a unit takes.
func (u *unit) size() int64 {
	n := int64(len(u.src)) + int64(unsafe.Sizeof(*u)) +
		int64(cap(u.ents))*int64(unsafe.Sizeof(source.Entity{})) +
		int64(cap(u.refs))*int64(unsafe.Sizeof(ref{})) +
		int64(cap(u.docs))*int64(unsafe.Sizeof(document{})) +
		int64(cap(u.terms))*4 + int64(cap(u.counts))*2
	for i := range u.refs {
		if u.refs[i].imp != nil {
			n += int64(unsafe.Sizeof(imported{}))
		}
	}
	return n
}

// ownSize is about how many bytes an index takes beside its units.
func (b *Base) ownSize() int64 {
	n := int64(len(b.files))*int64(unsafe.Sizeof(file{})+20) + int64(len(b.docs.file))*20
	n += int64(len(b.words.keys)+len(b.words.ends)+len(b.words.docs)+len(b.words.dir))*4 + int64(len(b.words.tfs))*2
	n += int64(len(b.names.items)+len(b.refs.items))*8 + int64(len(b.names.ends)+len(b.refs.ends))*4
	return n + int64(len(b.unique))*24
}
