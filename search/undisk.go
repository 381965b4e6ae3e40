package search

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"path"
	"strings"
	"sync"

	"rollbench/search/source"
)

var errShort = errors.New("it ends too early")

func decodeBase(data []byte) (*Base, error) {
	rest, ok := bytes.CutPrefix(data, []byte(diskMagic))
	if !ok {
		return nil, errors.New("no head")
	}
	d := decoder{in: rest}
	count, files := d.length(), d.length()
	blocks := make([][]byte, 0, count)
	for range count {
		blocks = append(blocks, d.block())
	}
	if d.err != nil {
		return nil, d.err
	}
	if count == 0 {
		return nil, errShort
	}
	b := &Base{files: make([]file, 0, files)}
	parts := make([][]file, count)
	errs := make([]error, count)
	parallel(count, func(i int) {
		if i == count-1 { // the longest one, but it is also the last to be needed
			b.words, errs[i] = decodePostings(blocks[i])
			return
		}
		parts[i], errs[i] = decodeFiles(blocks[i])
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, p := range parts {
		b.files = append(b.files, p...)
	}
	b.restore()
	for _, doc := range b.words.docs {
		if int(doc) >= b.stats.docs {
			return nil, errors.New("words of a document that is not there")
		}
	}
	return b, nil
}

// restore makes what is not kept on disk.
func (b *Base) restore() {
	var rules []File
	for i := range b.files {
		if path.Base(b.files[i].path) == ".gitignore" {
			rules = append(rules, File{b.files[i].path, []byte(b.files[i].src)})
		}
	}
	b.ignored = newIgnore(rules)
	var wg sync.WaitGroup
	wg.Go(func() { b.names = newBuckets(b.eachName) })
	wg.Go(func() { b.refs = newBuckets(b.eachRef) })
	b.tabulate()
	wg.Wait()
}

// unpack inflates a block and checks it.
func unpack(block []byte) ([]byte, error) {
	d := decoder{in: block}
	size := d.uint()
	if d.err != nil || len(d.in) < 4 || size > 1<<31 {
		return nil, errShort
	}
	sum := binary.LittleEndian.Uint32(d.in)
	raw := make([]byte, size)
	if _, err := io.ReadFull(flate.NewReader(bytes.NewReader(d.in[4:])), raw); err != nil {
		return nil, err
	}
	if crc32.ChecksumIEEE(raw) != sum {
		return nil, errors.New("wrong checksum")
	}
	return raw, nil
}

// decoder reads numbers and texts; the first error stays.
type decoder struct {
	in  []byte
	all string // the block as a string, of which texts are parts
	err error
}

func (d *decoder) fail() uint64 {
	if d.err == nil {
		d.err = errShort
	}
	d.in = nil
	return 0
}

func (d *decoder) uint() uint64 {
	n, size := binary.Uvarint(d.in)
	if size <= 0 {
		return d.fail()
	}
	d.in = d.in[size:]
	return n
}

func (d *decoder) int() int {
	n, size := binary.Varint(d.in)
	if size <= 0 {
		return int(d.fail())
	}
	d.in = d.in[size:]
	return int(n)
}

// length reads a count of things that each take a byte or more.
func (d *decoder) length() int {
	n := d.uint()
	if n > uint64(len(d.in)) {
		return int(d.fail())
	}
	return int(n)
}

// block reads a block with its head, but for the first length.
func (d *decoder) block() []byte {
	size := d.uint()
	n := binary.MaxVarintLen64 + 4 // at most before the bytes
	_, used := binary.Uvarint(d.in)
	if used <= 0 || uint64(len(d.in)) < uint64(used)+4+size || size > 1<<40 {
		d.fail()
		return nil
	}
	n = used + 4 + int(size)
	out := d.in[:n]
	d.in = d.in[n:]
	return out
}

func (d *decoder) text(src string) string {
	n := d.uint()
	if n&1 == 0 {
		size := n >> 1
		if size > uint64(len(d.in)) {
			d.fail()
			return ""
		}
		at := len(d.all) - len(d.in)
		d.in = d.in[size:]
		return d.all[at : at+int(size)]
	}
	at, size := n>>1, d.uint()
	if at > uint64(len(src)) || size > uint64(len(src))-at {
		d.fail()
		return ""
	}
	return src[at : at+size]
}

func decodeFiles(block []byte) ([]file, error) {
	raw, err := unpack(block)
	if err != nil {
		return nil, err
	}
	d := decoder{in: raw, all: string(raw)}
	var files []file
	for len(d.in) > 0 {
		files = append(files, d.file())
	}
	return files, d.err
}

func (d *decoder) file() file {
	f := file{path: strings.Clone(d.text("")), unit: &unit{}}
	flags := d.uint()
	f.test, f.generated, f.broken = flags&1 != 0, flags&2 != 0, flags&4 != 0
	f.src = strings.Clone(d.text("")) // so that the block, twice as long, can go
	f.language = languageName(d.text(""))
	f.doc = d.inner(f.src)
	f.ents = make([]source.Entity, d.length())
	line := 0
	for i := range f.ents {
		e := source.Entity{Kind: source.Kind(d.uint()), Name: d.inner(f.src), Parent: d.int()}
		e.Start = line + d.int()
		e.End = e.Start + d.int()
		e.Decorated = d.int()
		e.Signature, e.Doc, e.Receiver = d.inner(f.src), d.inner(f.src), d.inner(f.src)
		if e.Parent >= len(f.ents) || e.Parent < -1 {
			d.fail()
		}
		line = e.Start
		f.ents[i] = e
	}
	f.refs = make([]ref, d.length())
	line = 0
	for i := range f.refs {
		kind := d.uint()
		r := ref{kind: source.RefKind(kind >> 1), name: d.inner(f.src), from: int32(d.int())}
		r.line = int32(line + d.int())
		if kind&1 != 0 {
			r.imp = &imported{target: d.inner(f.src), as: d.inner(f.src), level: d.int()}
		}
		if int(r.from) >= len(f.ents) || r.from < -1 {
			d.fail()
		}
		line = int(r.line)
		f.refs[i] = r
	}
	f.docs = make([]document, d.length())
	for i := range f.docs {
		f.docs[i] = document{ent: int32(d.int()), length: uint32(d.uint()), nameLen: uint16(d.uint()), docLen: uint16(d.uint())}
		if int(f.docs[i].ent) >= len(f.ents) || f.docs[i].ent < -1 {
			d.fail()
		}
	}
	return f
}

// inner reads a text that must not keep the block alive.
func (d *decoder) inner(src string) string {
	if len(d.in) > 0 && d.in[0]&1 == 0 {
		return strings.Clone(d.text(src))
	}
	return d.text(src)
}

// languageName makes the few names one in memory.
func languageName(s string) string {
	languages.Lock()
	defer languages.Unlock()
	if known, ok := languages.names[s]; ok {
		return known
	}
	s = strings.Clone(s)
	languages.names[s] = s
	return s
}

var languages = struct {
	sync.Mutex
	names map[string]string
}{names: map[string]string{}}

func decodePostings(block []byte) (*postings, error) {
	raw, err := unpack(block)
	if err != nil {
		return nil, err
	}
	d := decoder{in: raw}
	keys, total := d.length(), d.length()
	p := &postings{
		keys: make([]term, keys), ends: make([]uint32, keys),
		docs: make([]uint32, total), tfs: make([]uint16, total),
	}
	key, at := uint64(0), 0
	for i := range p.keys {
		key += d.uint()
		n := d.uint()
		if n > uint64(total-at) || key >= 1<<32 {
			d.fail()
			break
		}
		doc := uint64(0)
		for range n {
			doc += d.uint()
			if len(d.in) < 2 {
				d.fail()
				break
			}
			p.docs[at], p.tfs[at] = uint32(doc), binary.LittleEndian.Uint16(d.in)
			d.in = d.in[2:]
			at++
		}
		p.keys[i], p.ends[i] = term(key), uint32(at)
	}
	if d.err != nil {
		return nil, d.err
	}
	p.index()
	return p, nil
}
