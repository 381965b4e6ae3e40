package search

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

func shopFiles() []File {
	var files []File
	for p, c := range shop {
		files = append(files, File{p, []byte(c)})
	}
	return files
}

// An index read back from disk answers as the one that was written.
func TestDiskRoundTrip(t *testing.T) {
	built := Build(append(shopFiles(), madeUp(40)...))
	name := filepath.Join(t.TempDir(), "index")
	if err := writeBase(name, built); err != nil {
		t.Fatal(err)
	}
	read, err := readBase(name)
	if err != nil {
		t.Fatal(err)
	}
	a, b := built.View(), read.View()
	for _, q := range []Query{
		named("Cart"), named("ad_item"), named("callers:Cart"), named("imports:shop/cart.py"), named("price of an item in the cart"),
		named("measure_3_*"), {Pattern: "raise $E"}, {Path: "shop/cart.py", Lines: []int{12}}, named("größe"), named("voucher code at the till"),
	} {
		if x, y := a.Query(q).String(), b.Query(q).String(); x != y {
			t.Errorf("%+v:\nbuilt\n%s\nread\n%s", q, x, y)
		}
	}
}

func TestDamagedIndexIsNotRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "index")
	if err := writeBase(name, Build(shopFiles())); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{0, 5, len(diskMagic), len(data) / 2, len(data) - 1} {
		if _, err := decodeBase(data[:cut]); err == nil {
			t.Errorf("the first %d bytes of %d were read as an index", cut, len(data))
		}
	}
	for i := len(diskMagic); i < len(data); i += 7 {
		broken := append([]byte(nil), data...)
		broken[i] ^= 0x5a
		b, err := decodeBase(broken) // must not panic
		if err == nil && len(b.files) != len(Build(shopFiles()).files) {
			t.Errorf("byte %d changed and nobody saw it", i)
		}
	}
}

func TestStoreBuildsOnce(t *testing.T) {
	s, err := NewStore(t.TempDir(), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	var built atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			v, err := s.Open("image@commit", func() ([]File, error) {
				built.Add(1)
				return shopFiles(), nil
			})
			if err != nil {
				t.Error(err)
				return
			}
			if a := v.Query(named("Cart")); a.Found == 0 {
				t.Error("nothing found")
			}
		})
	}
	wg.Wait()
	if built.Load() != 1 {
		t.Errorf("built %d times", built.Load())
	}
}

// Another process, or a later one, reads what is on disk.
func TestStoreReadsFromDisk(t *testing.T) {
	dir := t.TempDir()
	for i := range 2 {
		s, err := NewStore(dir, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Has("key"); got != (i == 1) {
			t.Errorf("Has says %v", got)
		}
		v, err := s.Open("key", func() ([]File, error) {
			if i == 1 {
				return nil, errors.New("asked again")
			}
			return shopFiles(), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		wantIDs(t, v, named("round_price"), "shop/money.py:round_price")
	}
}

// Sixty-four indexes within a budget of a few: the least used ones leave memory, and
// their views work on, edits included.
func TestStoreKeepsItsBudget(t *testing.T) {
	probe := Build(madeUp(8))
	one := probe.ownSize()
	for i := range probe.files {
		one += probe.files[i].size()
	}
	s, err := NewStore(t.TempDir(), 5*one)
	if err != nil {
		t.Fatal(err)
	}
	var views []*View
	for i := range 64 {
		v, err := s.Open(fmt.Sprint(i), func() ([]File, error) {
			files := madeUp(8)
			for j := range files { // no file is that of another instance
				files[j].Content = append(files[j].Content, fmt.Sprintf("\ndef only_in_%d_%d(): pass\n", i, j)...)
			}
			return files, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Update("edit.py", fmt.Appendf(nil, "def edited_%d(): pass\n", i)); err != nil {
			t.Fatal(err)
		}
		views = append(views, v)
		if n, bytes := s.Resident(); bytes > 5*one || n > 5 {
			t.Fatalf("%d indexes of %d bytes in memory, the budget is %d", n, bytes, 5*one)
		}
	}
	for i, v := range views {
		wantIDs(t, v, named(fmt.Sprintf("only_in_%d_7", i)), fmt.Sprintf("pkg/mod_7.py:only_in_%d_7", i))
		wantIDs(t, v, named(fmt.Sprintf("edited_%d", i)), fmt.Sprintf("edit.py:edited_%d", i))
	}
}

// Equal files of two commits are one in memory.
func TestStoreSharesFiles(t *testing.T) {
	s, err := NewStore(t.TempDir(), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	var views []*View
	for i := range 2 {
		files := madeUp(50)
		files[0].Content = fmt.Appendf(nil, "def changed_%d(): pass\n", i)
		v, err := s.Open(fmt.Sprint(i), func() ([]File, error) { return files, nil })
		if err != nil {
			t.Fatal(err)
		}
		views = append(views, v)
	}
	a, _ := views[0].index.get()
	b, _ := views[1].index.get()
	shared := 0
	for i := range a.files {
		if a.files[i].unit == b.files[i].unit {
			shared++
		}
	}
	if shared != 49 {
		t.Errorf("%d of 50 files are shared, want 49", shared)
	}
}

func TestStoreSaysWhyItCannotOpen(t *testing.T) {
	s, err := NewStore(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("sandbox is gone")
	if _, err := s.Open("k", func() ([]File, error) { return nil, gone }); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}
