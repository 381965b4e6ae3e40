package search

import "strings"

// at names an entity, or a reference, of a file: both are indices.
type at struct{ file, item int32 }

// buckets finds entries by the hash of a name; who asks compares the names, since
// others share a bucket. It costs two passes and no map.
type buckets struct {
	ends  []uint32
	items []at
}

const bucketBits = 16

func bucketOf(name string) uint32 {
	h := hashFolded(fnvOffset, name)
	return (h ^ h>>bucketBits) & (1<<bucketBits - 1)
}

// newBuckets asks each twice for all names and their entries, in the same order.
func newBuckets(each func(yield func(name string, where at))) buckets {
	var b buckets
	b.ends = make([]uint32, 1<<bucketBits+1)
	each(func(name string, _ at) { b.ends[bucketOf(name)+1]++ })
	for i := 1; i < len(b.ends); i++ {
		b.ends[i] += b.ends[i-1]
	}
	b.items = make([]at, b.ends[1<<bucketBits])
	next := b.ends[:1<<bucketBits]
	each(func(name string, where at) {
		h := bucketOf(name)
		b.items[next[h]] = where
		next[h]++
	})
	// next[h] has moved to the end of bucket h.
	return b
}

func (b buckets) of(name string) []at {
	if len(b.items) == 0 {
		return nil
	}
	h := bucketOf(name)
	begin := uint32(0)
	if h > 0 {
		begin = b.ends[h-1]
	}
	return b.items[begin:b.ends[h]]
}

// lastName is the last part of a name such as a.b, A::b or p->b.
func lastName(dotted string) string {
	return dotted[strings.LastIndexAny(dotted, ".:>")+1:]
}
