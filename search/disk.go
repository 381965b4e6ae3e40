package search

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// An index on disk: a head, then blocks. A block is its length, the length unpacked, a
// checksum, and bytes that are deflated. The first blocks hold files, a megabyte of
// source or so each, so that they are read by several goroutines; the last one holds
// the lists of words. All numbers are varints.
const diskMagic = "rollbench search index 1\n"

// errFormat says that a file is not an index of this form: it is then made again.
var errFormat = errors.New("not a search index of this version, or damaged")

const blockSource = 1 << 20

// writeBase writes an index so that a reader sees the whole of it or nothing.
func writeBase(name string, b *Base) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".index-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once renamed
	w := bufio.NewWriterSize(f, 1<<20)
	err = b.encode(w)
	if err == nil {
		err = w.Flush()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

func (b *Base) encode(w io.Writer) error {
	groups := b.groups()
	blocks := make([][]byte, len(groups)+1)
	parallel(len(blocks), func(i int) {
		e := encoder{}
		if i < len(groups) {
			for j := groups[i][0]; j < groups[i][1]; j++ {
				e.file(&b.files[j])
			}
		} else {
			e.postings(b.words)
		}
		blocks[i] = pack(e.out)
	})
	head := append([]byte(diskMagic), binary.AppendUvarint(nil, uint64(len(blocks)))...)
	head = binary.AppendUvarint(head, uint64(len(b.files)))
	for _, block := range append([][]byte{head}, blocks...) {
		if _, err := w.Write(block); err != nil {
			return err
		}
	}
	return nil
}

// groups splits the files so that each group has about as much source.
func (b *Base) groups() [][2]int {
	var out [][2]int
	from, size := 0, 0
	for i := range b.files {
		size += len(b.files[i].src)
		if size >= blockSource || i == len(b.files)-1 {
			out = append(out, [2]int{from, i + 1})
			from, size = i+1, 0
		}
	}
	return out
}

// parallel calls do for 0 to n-1 on as many goroutines as there are processors.
func parallel(n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

func pack(raw []byte) []byte {
	var buf bytes.Buffer
	w, err := flate.NewWriter(&buf, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	w.Write(raw) // to memory: cannot fail
	w.Close()
	out := binary.AppendUvarint(nil, uint64(buf.Len()))
	out = binary.AppendUvarint(out, uint64(len(raw)))
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(raw))
	return append(out, buf.Bytes()...)
}

// encoder writes numbers and texts.
type encoder struct{ out []byte }

func (e *encoder) uint(n uint64) { e.out = binary.AppendUvarint(e.out, n) }
func (e *encoder) int(n int)     { e.out = binary.AppendVarint(e.out, int64(n)) }

// text writes a text; one that is a part of src only as its place.
func (e *encoder) text(src, s string) {
	if at, ok := placeIn(src, s); ok {
		e.uint(uint64(at)<<1 | 1)
		e.uint(uint64(len(s)))
		return
	}
	e.uint(uint64(len(s)) << 1)
	e.out = append(e.out, s...)
}

// placeIn is where s lies in src, if it shares its memory.
func placeIn(src, s string) (int, bool) {
	if s == "" || src == "" {
		return 0, false
	}
	at := uintptr(unsafe.Pointer(unsafe.StringData(s))) - uintptr(unsafe.Pointer(unsafe.StringData(src)))
	return int(at), at < uintptr(len(src)) && at+uintptr(len(s)) <= uintptr(len(src))
}

func flag(on bool, bit uint64) uint64 {
	if on {
		return bit
	}
	return 0
}

func (e *encoder) file(f *file) {
	e.text("", f.path)
	e.uint(flag(f.test, 1) | flag(f.generated, 2) | flag(f.broken, 4))
	e.text("", f.src)
	e.text("", f.language)
	e.text(f.src, f.doc)
	e.uint(uint64(len(f.ents)))
	line := 0
	for i := range f.ents {
		n := &f.ents[i]
		e.uint(uint64(n.Kind))
		e.text(f.src, n.Name)
		e.int(n.Parent)
		e.int(n.Start - line)
		e.int(n.End - n.Start)
		e.int(n.Decorated)
		e.text(f.src, n.Signature)
		e.text(f.src, n.Doc)
		e.text(f.src, n.Receiver)
		line = n.Start
	}
	e.uint(uint64(len(f.refs)))
	line = 0
	for i := range f.refs {
		r := &f.refs[i]
		e.uint(uint64(r.kind)<<1 | flag(r.imp != nil, 1))
		e.text(f.src, r.name)
		e.int(int(r.from))
		e.int(int(r.line) - line)
		if r.imp != nil {
			e.text(f.src, r.imp.target)
			e.text(f.src, r.imp.as)
			e.int(r.imp.level)
		}
		line = int(r.line)
	}
	e.uint(uint64(len(f.docs)))
	for _, d := range f.docs {
		e.int(int(d.ent))
		e.uint(uint64(d.length))
		e.uint(uint64(d.nameLen))
		e.uint(uint64(d.docLen))
	}
}

func (e *encoder) postings(p *postings) {
	e.uint(uint64(len(p.keys)))
	e.uint(uint64(len(p.docs)))
	key, begin := term(0), uint32(0)
	for i, k := range p.keys {
		e.uint(uint64(k - key))
		e.uint(uint64(p.ends[i] - begin))
		last := uint32(0)
		for j := begin; j < p.ends[i]; j++ {
			e.uint(uint64(p.docs[j] - last))
			e.out = binary.LittleEndian.AppendUint16(e.out, p.tfs[j])
			last = p.docs[j]
		}
		key, begin = k, p.ends[i]
	}
}

// readBase reads what writeBase wrote.
func readBase(name string) (*Base, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	b, err := decodeBase(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFormat, err)
	}
	return b, nil
}
