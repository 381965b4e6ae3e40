package task

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write bundled/*/environment/repo.tar.gz anew from testdata/src")

// The archives of the bundled tasks are made of testdata/src/NAME: repo/ is the
// working tree, commits.txt its history, a line each: "subject | path prefixes".
// A prefix is in the repository from its line on. Author and dates are fixed and
// objects are stored uncompressed, so the tar depends on the sources alone.
func TestArchivesEqualTheirSources(t *testing.T) {
	dirs, err := os.ReadDir("testdata/src")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		name := d.Name()
		if !exists(os.DirFS("testdata/src/"+name), "commits.txt") {
			continue
		}
		want, err := repoTar("testdata/src/" + name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		file := filepath.Join("bundled", name, "environment", "repo.tar.gz")
		if *update {
			writeArchive(t, file, want)
		}
		packed, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		got, err := io.ReadAll(z)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if !z.ModTime.IsZero() || z.Name != "" {
			t.Errorf("%s: the gzip header has a time or a name", file)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what testdata/src/%s makes; run go generate ./engine/task", file, name)
		}
	}
}

func writeArchive(t *testing.T, file string, content []byte) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// archiveFiles are the entries of the tar, path to content.
type archiveFiles map[string][]byte

func repoTar(src string) ([]byte, error) {
	work, err := readTree(filepath.Join(src, "repo"))
	if err != nil {
		return nil, err
	}
	history, err := os.ReadFile(filepath.Join(src, "commits.txt"))
	if err != nil {
		return nil, err
	}
	out := archiveFiles{}
	parent, when := "", time.Date(2025, 3, 3, 9, 0, 0, 0, time.UTC)
	var present []string
	for line := range strings.Lines(string(history)) {
		subject, prefixes, _ := strings.Cut(line, "|")
		present = append(present, strings.Fields(prefixes)...)
		commit := archiveFiles{}
		for file, data := range work {
			if slices.ContainsFunc(present, func(p string) bool { return strings.HasPrefix(file, p) }) {
				commit[file] = data
			}
		}
		parent = out.commit(out.tree(commit, ""), parent, strings.TrimSpace(subject), when)
		when = when.Add(26*time.Hour + 17*time.Minute)
		if len(commit) == len(work) {
			break
		}
	}
	out[".git/HEAD"] = []byte("ref: refs/heads/main\n")
	out[".git/config"] = []byte("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n")
	out[".git/refs/heads/main"] = []byte(parent + "\n")
	out[".git/index"] = index(work)
	maps.Copy(out, work)
	return out.tar()
}

func readTree(root string) (archiveFiles, error) {
	out := archiveFiles{}
	return out, fs.WalkDir(os.DirFS(root), ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(file, "__pycache__") {
			return err
		}
		out[file], err = os.ReadFile(filepath.Join(root, file))
		return err
	})
}

// object stores a git object and returns its id.
func (a archiveFiles) object(kind string, body []byte) string {
	data := append(fmt.Appendf(nil, "%s %d\x00", kind, len(body)), body...)
	sum := sha1.Sum(data)
	id := hex.EncodeToString(sum[:])
	var z bytes.Buffer
	w, err := zlib.NewWriterLevel(&z, zlib.NoCompression)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // writing to memory at a valid level
	}
	a[".git/objects/"+id[:2]+"/"+id[2:]] = z.Bytes()
	return id
}

func (a archiveFiles) tree(files archiveFiles, dir string) string {
	entries := map[string]string{} // sort key → entry; git sorts folders as if they ended in /
	for file := range files {
		rest, inside := strings.CutPrefix(file, dir)
		if !inside {
			continue
		}
		name, _, deeper := strings.Cut(rest, "/")
		switch {
		case deeper && entries[name+"/"] == "":
			entries[name+"/"] = "40000 " + name + "\x00" + rawID(a.tree(files, dir+name+"/"))
		case !deeper:
			entries[name] = fmt.Sprintf("%o %s\x00%s", gitMode(file), name, rawID(a.object("blob", files[file])))
		}
	}
	var body strings.Builder
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		body.WriteString(entries[key])
	}
	return a.object("tree", []byte(body.String()))
}

func (a archiveFiles) commit(tree, parent, subject string, when time.Time) string {
	who := fmt.Sprintf("Rollbench <tasks@rollbench.invalid> %d +0000", when.Unix())
	text := "tree " + tree + "\n"
	if parent != "" {
		text += "parent " + parent + "\n"
	}
	return a.object("commit", []byte(text+"author "+who+"\ncommitter "+who+"\n\n"+subject+"\n"))
}

// index is git's index, version 2, with no stat data: git compares contents once.
func index(files archiveFiles) []byte {
	var b bytes.Buffer
	b.WriteString("DIRC")
	put := func(v any) {
		if err := binary.Write(&b, binary.BigEndian, v); err != nil {
			panic(err) // fixed-size values into memory
		}
	}
	put([]uint32{2, uint32(len(files))})
	for _, file := range slices.Sorted(maps.Keys(files)) {
		start := b.Len()
		put([10]uint32{6: uint32(gitMode(file))})
		sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(files[file])), files[file]...))
		b.Write(sum[:])
		put(uint16(len(file)))
		b.WriteString(file)
		b.Write(make([]byte, 8-(b.Len()-start)%8))
	}
	sum := sha1.Sum(b.Bytes())
	return append(b.Bytes(), sum[:]...)
}

func rawID(id string) string {
	raw, err := hex.DecodeString(id)
	if err != nil {
		panic(err) // an id made by object
	}
	return string(raw)
}

func gitMode(file string) int {
	if path.Ext(file) == ".sh" {
		return 0o100755
	}
	return 0o100644
}

func (a archiveFiles) tar() ([]byte, error) {
	dirs := map[string]bool{".git/refs/tags/": true}
	for file := range a {
		for d := path.Dir(file); d != "."; d = path.Dir(d) {
			dirs[d+"/"] = true
		}
	}
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(dirs)) {
		if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755, ModTime: time.Unix(0, 0)}); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		head := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(gitMode(name) & 0o777), Size: int64(len(a[name])), ModTime: time.Unix(0, 0)}
		if err := tw.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := tw.Write(a[name]); err != nil {
			return nil, err
		}
	}
	err := tw.Close()
	return out.Bytes(), err
}
