package sessions

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// noise is bytes that do not compress.
func noise(n int) []byte {
	r := rand.NewChaCha8([32]byte{1})
	b := make([]byte, n)
	_, _ = r.Read(b) // never fails
	return b
}

// putOutput stores data as chunks.
func putOutput(t testing.TB, s *Store, at CallPlace, data []byte) {
	t.Helper()
	for n := 0; n*OutputChunk < len(data); n++ {
		c := Chunk{CallPlace: at, N: n, Data: data[n*OutputChunk : min(len(data), (n+1)*OutputChunk)]}
		if err := s.Commit(context.Background(), Write{Chunk: &c}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOutputIsReadByRange(t *testing.T) {
	home := t.TempDir()
	s := newStore(t, home, "r-1", keyA0, keyA1)
	at := CallPlace{Key: keyA1, Attempt: 1, Turn: 2, Call: 0}
	data := append(noise(OutputChunk+10), bytes.Repeat([]byte("\x1b[31mred\x1b[0m\n"), OutputChunk/10)...) // plain and packed chunks
	putOutput(t, s, at, data)
	other := at
	other.Call = 1
	putOutput(t, s, other, []byte("other"))
	r, err := OpenReader(t.Context(), home, "r-1")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	latest := at
	latest.Attempt = 0
	for name, reader := range map[string]Reader{"store": s, "reader": r} {
		for _, c := range []struct {
			from int64
			n    int
		}{{0, len(data)}, {0, 1}, {OutputChunk - 1, 2}, {OutputChunk, OutputChunk}, {5, 3 * OutputChunk}, {int64(len(data)) - 1, 1}, {int64(len(data)) - 1, 100}} {
			want := data[c.from:min(int(c.from)+c.n, len(data))]
			if got, err := reader.Output(t.Context(), latest, c.from, c.n); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes from %d: %d bytes, %v, want %d", name, c.n, c.from, len(got), err, len(want))
			}
		}
		for _, c := range []CallPlace{{Key: keyA1, Turn: 3}, {Key: keyA0, Turn: 2}, {Key: keyA1, Attempt: 2, Turn: 2}} {
			if got, err := reader.Output(t.Context(), c, 0, 10); err != nil || got != nil {
				t.Errorf("%s: %s: %q, %v, want nothing", name, c, got, err)
			}
		}
		if got, err := reader.Output(t.Context(), at, int64(len(data)), 10); err != nil || len(got) != 0 {
			t.Errorf("%s: behind the end: %q, %v", name, got, err)
		}
		if _, err := reader.Output(t.Context(), CallPlace{Key: Key{"x", 0}}, 0, 10); err == nil {
			t.Errorf("%s: the output of a stranger was read", name)
		}
	}
	var stored int64
	if err := s.db.QueryRow("SELECT sum(length(data)) FROM output").Scan(&stored); err != nil {
		t.Fatal(err)
	}
	if kept := int64(len(data) - OutputChunk); stored > OutputChunk+kept/10 { // the red lines compress more than tenfold
		t.Errorf("%d bytes are stored in %d", len(data), stored)
	}
}

// A call that runs again leaves nothing of the run before.
func TestOutputOfACallThatRunsAgain(t *testing.T) {
	s := newStore(t, t.TempDir(), "r-1", keyA0)
	at := CallPlace{Key: keyA0, Attempt: 1, Turn: 1}
	putOutput(t, s, at, noise(3*OutputChunk))
	putOutput(t, s, at, []byte("short"))
	if got, err := s.Output(t.Context(), at, 0, 4*OutputChunk); err != nil || string(got) != "short" {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestOutputThatIsNotWhole(t *testing.T) {
	s := newStore(t, t.TempDir(), "r-1", keyA0)
	for want, c := range map[string]Chunk{
		"no trajectory": {CallPlace{Key{"x", 0}, 1, 1, 0}, 0, []byte("a")},
		"attempt 0":     {CallPlace{keyA0, 0, 1, 0}, 0, []byte("a")},
		"has 0 bytes":   {CallPlace{keyA0, 1, 1, 0}, 0, nil},
		"1 to 262144":   {CallPlace{keyA0, 1, 1, 0}, 0, make([]byte, OutputChunk+1)},
	} {
		w := Write{Chunk: &c, Events: []Event{event(keyA0, 1, KindState, StateChange{State: Running})}}
		if err := s.Commit(t.Context(), w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c.CallPlace, err, want)
		}
	}
	if rows, seq, _ := s.Trajectories(t.Context()); seq != 0 || rows[0].State != Queued {
		t.Error("a refused chunk left something")
	}
	at := CallPlace{Key: keyA0, Attempt: 1, Turn: 1}
	putOutput(t, s, at, noise(3*OutputChunk))
	for _, c := range []struct{ sql, want string }{
		{"DELETE FROM output WHERE chunk = 1", "a chunk of it is missing"},
		{"UPDATE output SET data = x'01ff' WHERE chunk = 0", "a chunk of it is damaged"},
	} {
		if _, err := s.conn.conn.ExecContext(t.Context(), c.sql); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Output(t.Context(), at, OutputChunk-1, 3*OutputChunk); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.sql, err, c.want)
		}
	}
}

// asVersion makes the run's file one of an earlier version.
func asVersion(t *testing.T, dir string, version int, drop ...string) {
	t.Helper()
	db, err := openDB(filepath.Join(dir, dbName), shared, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range drop {
		if _, err := db.Exec("DROP TABLE " + table); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec(fmt.Sprintf("PRAGMA user_version = %d", version)); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// Files of earlier versions are read as they are, in a folder that nobody can
// write to as well, and brought to this version by their next writer.
func TestEarlierVersions(t *testing.T) {
	for version, drop := range map[int][]string{1: {"series", "output"}, 2: {"output"}} {
		home := t.TempDir()
		s := newStore(t, home, "r-1", keyA0)
		commit(t, s, Write{Turn: &Turn{Key: keyA0, Attempt: 1, Index: 1, Version: 1, Observations: []Observation{{Text: "seen", Dropped: 5}}}})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		asVersion(t, s.dir, version, drop...)
		at := CallPlace{Key: keyA0, Turn: 1}
		read := func(r Reader) {
			t.Helper()
			turns, err := r.Turns(t.Context(), keyA0, 0, 0, 0, false)
			if err != nil || turns[0].Observations[0].Text != "seen" || turns[0].Observations[0].Output != nil {
				t.Errorf("version %d: %+v, %v", version, turns, err)
			}
			if out, err := r.Output(t.Context(), at, 0, 10); err != nil || out != nil {
				t.Errorf("version %d: output %q, %v", version, out, err)
			}
			if points, err := r.Series(t.Context()); err != nil || points != nil {
				t.Errorf("version %d: series %v, %v", version, points, err)
			}
		}
		frozenDB, run, err := openAs(t.Context(), filepath.Join(s.dir, dbName), frozen, 1)
		if err != nil {
			t.Fatal(err)
		}
		read(&reader{view: view{db: frozenDB, run: run}})
		if err := frozenDB.Close(); err != nil {
			t.Error(err)
		}
		r, err := OpenReader(t.Context(), home, "r-1")
		if err != nil {
			t.Fatal(err)
		}
		read(r)
		again, err := Open(t.Context(), home, "r-1")
		if err != nil {
			t.Fatal(err)
		}
		at.Attempt = 1
		putOutput(t, again, at, []byte("more"))
		if out, err := r.Output(t.Context(), at, 0, 10); err != nil || string(out) != "more" {
			t.Errorf("version %d: a reader that was open sees %q, %v", version, out, err)
		}
		for _, c := range []interface{ Close() error }{r, again} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// What is written is what the observation says, and it survives the file.
func TestOutputBesideItsObservation(t *testing.T) {
	home := t.TempDir()
	s := newStore(t, home, "r-1", keyA0)
	at := CallPlace{Key: keyA0, Attempt: 1, Turn: 1}
	putOutput(t, s, at, []byte("all of it"))
	want := Output{Size: 9, Head: 4, Dropped: 70}
	commit(t, s, Write{Turn: &Turn{Key: keyA0, Attempt: 1, Index: 1, Version: 1, Complete: true, Observations: []Observation{{Text: "a", Output: &want}, {Text: "b"}}}})
	turns, err := s.Turns(t.Context(), keyA0, 0, 0, 0, false)
	if err != nil || *turns[0].Observations[0].Output != want || turns[0].Observations[1].Output != nil {
		t.Errorf("%+v, %v", turns, err)
	}
}

func FuzzUnpackChunk(f *testing.F) {
	f.Add(packChunk([]byte("text text text text text text text text")))
	f.Add(packChunk(noise(100)))
	f.Fuzz(func(t *testing.T, stored []byte) {
		data, err := unpackChunk(stored) // no panic, no more than a chunk
		if err == nil && len(stored) > 0 && stored[0] == chunkFlate && len(data) > OutputChunk {
			t.Errorf("%d bytes", len(data))
		}
		if len(stored) > 0 && len(stored) <= OutputChunk {
			if back, err := unpackChunk(packChunk(stored)); err != nil || !bytes.Equal(back, stored) {
				t.Errorf("%x comes back as %x, %v", stored, back, err)
			}
		}
	})
}

// BenchmarkPutOutput stores 16 MiB: of source text, and of bytes that do not compress.
func BenchmarkPutOutput(b *testing.B) {
	source, err := os.ReadFile("transaction.go")
	if err != nil {
		b.Fatal(err)
	}
	for name, data := range map[string][]byte{"text": bytes.Repeat(source, 16<<20/len(source)), "noise": noise(16 << 20)} {
		b.Run(name, func(b *testing.B) {
			s, err := Create(context.Background(), b.TempDir(), testRun("r-1", keyA0))
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			b.SetBytes(int64(len(data)))
			for n := 1; b.Loop(); n++ {
				putOutput(b, s, CallPlace{Key: keyA0, Attempt: 1, Turn: n}, data)
			}
		})
	}
}

// BenchmarkReadOutput reads a screenful from the middle of 16 MiB.
func BenchmarkReadOutput(b *testing.B) {
	source, err := os.ReadFile("transaction.go")
	if err != nil {
		b.Fatal(err)
	}
	s, err := Create(context.Background(), b.TempDir(), testRun("r-1", keyA0))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	at := CallPlace{Key: keyA0, Attempt: 1, Turn: 1}
	putOutput(b, s, at, bytes.Repeat(source, 16<<20/len(source)))
	for b.Loop() {
		if _, err := s.Output(context.Background(), at, 8<<20, 64<<10); err != nil {
			b.Fatal(err)
		}
	}
}
