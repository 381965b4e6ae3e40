package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

var t0 = time.Date(2026, 11, 29, 18, 42, 0, 0, time.UTC)

func testRun(id string, keys ...Key) Run {
	return Run{ID: id, Created: t0, Title: "demo", N: 2, Members: keys, Model: "m", Simulate: true,
		Config: json.RawMessage(`{"a":1}`), Version: "test"}
}

var (
	keyA0 = Key{"demo-1", 0}
	keyA1 = Key{"demo-1", 1}
)

func newStore(t *testing.T, home, id string, keys ...Key) *Store {
	t.Helper()
	s, err := Create(t.Context(), home, testRun(id, keys...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func commit(t *testing.T, s *Store, w Write) {
	t.Helper()
	if err := s.Commit(t.Context(), w); err != nil {
		t.Fatal(err)
	}
}

func event(key Key, at int, kind Kind, payload any) Event {
	return NewEvent(t0.Add(time.Duration(at)*time.Second), key, kind, payload)
}

func TestCommitIsVisibleToEveryone(t *testing.T) {
	home := t.TempDir()
	s := newStore(t, home, "r-1", keyA0, keyA1)
	r, err := OpenReader(t.Context(), home, "r-1")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if !reflect.DeepEqual(r.Run(), testRun("r-1", keyA0, keyA1)) {
		t.Errorf("run is read as %+v", r.Run())
	}
	wake, cancel := r.Wake()
	defer cancel()
	w := Write{Events: []Event{
		event(Key{}, 0, KindRunStarted, RunStarted{PID: 7}),
		event(keyA1, 1, KindState, StateChange{State: Init}),
	}}
	commit(t, s, w)
	if w.Events[0].Seq != 1 || w.Events[1].Seq != 2 {
		t.Errorf("seqs given back are %d, %d, want 1, 2", w.Events[0].Seq, w.Events[1].Seq)
	}
	<-wake // the poller saw the other connection's commit
	for name, reader := range map[string]Reader{"store": s, "reader": r} {
		events, err := reader.Since(t.Context(), 0, 0)
		if err != nil || !reflect.DeepEqual(events, w.Events) {
			t.Errorf("%s: events %+v, %v", name, events, err)
		}
		if events, err = reader.Since(t.Context(), 1, 1); err != nil || len(events) != 1 || events[0].Seq != 2 {
			t.Errorf("%s: since 1: %+v, %v", name, events, err)
		}
		rows, seq, err := reader.Trajectories(t.Context())
		if err != nil || seq != 2 || len(rows) != 2 {
			t.Fatalf("%s: %d rows at %d, %v", name, len(rows), seq, err)
		}
		want := Trajectory{Key: keyA1, Attempt: 1, State: Init, Since: t0.Add(time.Second), Started: t0.Add(time.Second)}
		if !reflect.DeepEqual(rows[1], want) || rows[0].State != Queued || rows[0].Key != keyA0 {
			t.Errorf("%s: rows %+v", name, rows)
		}
	}
}

func TestSecondWriterIsRefused(t *testing.T) {
	home := t.TempDir()
	s := newStore(t, home, "r-1", keyA0)
	_, err := Open(t.Context(), home, "latest")
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "pid") {
		t.Fatalf("second writer: %v", err)
	}
	if _, err := Create(t.Context(), home, testRun("r-1", keyA0)); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("second run of the same id: %v", err)
	}
	commit(t, s, Write{Events: []Event{event(keyA0, 1, KindState, StateChange{State: Init})}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, dbName+"-wal")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the WAL is not folded into the file: %v", err)
	}
	if err := s.Commit(t.Context(), Write{}); !errors.Is(err, ErrClosed) {
		t.Errorf("commit after close: %v", err)
	}
	again, err := Open(t.Context(), home, "r")
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	rows, seq, err := again.Trajectories(t.Context())
	if err != nil || seq != 1 || rows[0].State != Init {
		t.Errorf("reopened: %+v at %d, %v", rows, seq, err)
	}
}

func TestRefusedWritesLeaveNothing(t *testing.T) {
	s := newStore(t, t.TempDir(), "r-1", keyA0)
	fine := event(keyA0, 1, KindState, StateChange{State: Running})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Commit(ended, Write{Events: []Event{fine}}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended ctx: %v", err)
	}
	turn := func(index, version int) *Turn {
		return &Turn{Key: keyA0, Attempt: 1, Index: index, Version: version}
	}
	commit(t, s, Write{Turn: turn(2, 1)})
	for name, c := range map[string]struct {
		w    Write
		want string
	}{
		"stranger":         {Write{Events: []Event{fine, event(Key{"other", 3}, 1, KindState, StateChange{State: Done})}}, "no trajectory other#3"},
		"payload":          {Write{Events: []Event{fine, {Key: keyA0, Time: t0, Kind: KindState, Data: json.RawMessage(`{"state":5}`)}}}, "unreadable payload"},
		"not json":         {Write{Events: []Event{fine, {Key: keyA0, Kind: KindWarning, Data: json.RawMessage(`{`)}}}, "not JSON"},
		"no time":          {Write{Events: []Event{fine, {Key: keyA0, Kind: KindWarning, Data: json.RawMessage(`{}`)}}}, "no time"},
		"turn of nobody":   {Write{Events: []Event{fine}, Turn: &Turn{Key: Key{"x", 0}, Attempt: 1, Index: 1, Version: 1}}, "no trajectory x#0"},
		"no version":       {Write{Events: []Event{fine}, Turn: turn(3, 0)}, "version from 1"},
		"earlier turn":     {Write{Events: []Event{fine}, Turn: turn(1, 1)}, "in order"},
		"supersede none":   {Write{Events: []Event{fine}, Turn: turn(3, 2), Supersede: 1}, "no version 1"},
		"supersede itself": {Write{Events: []Event{fine}, Turn: turn(3, 1), Supersede: 1}, "itself"},
		"logprobs":         {Write{Events: []Event{fine}, Turn: &Turn{Key: keyA0, Attempt: 1, Index: 3, Version: 1, OutputIDs: []int32{1}, Logprobs: []float64{}}}, "0 logprobs for 1 output ids"},
		"other ids":        {Write{Events: []Event{fine}, Turn: &Turn{Key: keyA0, Attempt: 1, Index: 2, Version: 1, OutputIDs: []int32{1}}}, "cannot change"},
		"patch of nobody":  {Write{Events: []Event{fine}, Patch: []byte{}, Key: Key{"x", 0}, Attempt: 1}, "no trajectory x#0"},
		"no attempt":       {Write{Events: []Event{fine}, Patch: []byte{}, Key: keyA0}, "without its attempt"},
	} {
		if err := s.Commit(t.Context(), c.w); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", name, err, c.want)
		}
	}
	rows, seq, err := s.Trajectories(t.Context())
	if err != nil || seq != 0 || rows[0].State != Queued {
		t.Errorf("refused writes left seq %d, row %+v, %v", seq, rows[0], err)
	}
	if turns, err := s.Turns(t.Context(), keyA0, 0, 0, 0, true); err != nil || len(turns) != 1 {
		t.Errorf("refused writes left turns %+v, %v", turns, err)
	}
	commit(t, s, Write{Events: []Event{fine}}) // and the store still writes
}

// A commit whose ctx ends while the database is busy is stored whole or, as
// here, not at all; the one before it goes on.
func TestCommitWhoseContextEnds(t *testing.T) {
	s := newStore(t, t.TempDir(), "r-1", keyA0)
	other, err := openDB(filepath.Join(s.dir, dbName), shared, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil { // the writer now waits for this lock
		t.Fatal(err)
	}
	done := make(chan error, 2)
	go func() {
		done <- s.Commit(t.Context(), Write{Events: []Event{event(keyA0, 1, KindState, StateChange{State: Init})}})
	}()
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() {
		given <- s.Commit(ctx, Write{Events: []Event{event(keyA0, 2, KindState, StateChange{State: Done})}})
	}()
	cancel()
	if _, err := other.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("ended ctx: %v", err)
	}
	if err := <-done; err != nil {
		t.Errorf("the other commit: %v", err)
	}
	if rows, seq, err := s.Trajectories(t.Context()); err != nil || seq != 1 || rows[0].State != Init {
		t.Errorf("seq %d, %+v, %v", seq, rows[0], err)
	}
}

func TestConcurrentCommits(t *testing.T) {
	var keys []Key
	for i := range 40 {
		keys = append(keys, Key{"demo", i})
	}
	s := newStore(t, t.TempDir(), "r-1", keys...)
	var wg sync.WaitGroup
	for _, key := range keys {
		wg.Go(func() {
			for n := range 25 {
				w := Write{Events: []Event{event(key, n, KindReply, ReplyMade{Turn: n + 1, Source: FromModel, OutputTokens: 2})},
					Turn: &Turn{Key: key, Attempt: 1, Index: n + 1, Version: 1, PromptIDs: make([]int32, 10*n+1)}}
				if err := s.Commit(t.Context(), w); err != nil {
					t.Error(err)
				}
				if w.Events[0].Seq == 0 {
					t.Error("no seq was given")
				}
			}
			if err := s.PutGauge(t.Context(), json.RawMessage(`{"held":1}`), nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	rows, seq, err := s.Trajectories(t.Context())
	if err != nil || seq != 1000 {
		t.Errorf("seq is %d, want 1000; %v", seq, err)
	}
	for i, row := range rows {
		if row.Key != keys[i] || row.Turn != 25 || row.Sampled != 50 {
			t.Errorf("row %d is %+v", i, row)
		}
	}
	if g, err := s.Gauge(t.Context()); err != nil || string(g) != `{"held":1}` {
		t.Errorf("gauge is %s, %v", g, err)
	}
}

func TestArtifactsAreOfTheLatestAttempt(t *testing.T) {
	s := newStore(t, t.TempDir(), "r-1", keyA0)
	check := func(patch, log []byte) {
		t.Helper()
		p, err := s.Patch(t.Context(), keyA0)
		if err != nil || !reflect.DeepEqual(p, patch) {
			t.Errorf("patch is %#v, want %#v; %v", p, patch, err)
		}
		l, err := s.EvalLog(t.Context(), keyA0)
		if err != nil || !reflect.DeepEqual(l, log) {
			t.Errorf("eval log is %#v, want %#v; %v", l, log, err)
		}
	}
	check(nil, nil)
	commit(t, s, Write{Patch: []byte("one"), EvalLog: []byte("log\xff"), Key: keyA0, Attempt: 1})
	check([]byte("one"), []byte("log\xff"))
	commit(t, s, Write{Patch: []byte{}, Key: keyA0, Attempt: 1})
	check([]byte{}, []byte("log\xff"))
	commit(t, s, Write{Events: []Event{event(keyA0, 1, KindAttempt, Attempt{N: 2})}})
	check(nil, nil)
}

func TestDatabaseErrorPoisonsNothing(t *testing.T) {
	s := newStore(t, t.TempDir(), "r-1", keyA0)
	commit(t, s, Write{Events: []Event{event(keyA0, 1, KindState, StateChange{State: Init})}})
	// SQLite reports a full disk when max_page_count is reached.
	if _, err := s.conn.conn.ExecContext(t.Context(), "PRAGMA max_page_count = 1"); err != nil {
		t.Fatal(err)
	}
	big := Write{Events: []Event{event(keyA0, 2, KindState, StateChange{State: Running})},
		Patch: make([]byte, 1<<20), Key: keyA0, Attempt: 1}
	err := s.Commit(t.Context(), big)
	if err == nil || !strings.Contains(err.Error(), s.dir+": disk is full; free space there") || strings.Contains(err.Error(), "\n") {
		t.Fatalf("full disk: %v", err)
	}
	if rows, seq, err := s.Trajectories(t.Context()); err != nil || seq != 1 || rows[0].State != Init {
		t.Errorf("after the error: seq %d, %+v, %v", seq, rows[0], err)
	}
	if _, err := s.conn.conn.ExecContext(t.Context(), "PRAGMA max_page_count = 1000000"); err != nil {
		t.Fatal(err)
	}
	commit(t, s, big)
	if rows, seq, err := s.Trajectories(t.Context()); err != nil || seq != 2 || rows[0].State != Running {
		t.Errorf("once there is space: seq %d, %+v, %v", seq, rows[0], err)
	}
}

// A finished run in a folder without write access is read without locks.
func TestFrozen(t *testing.T) {
	s := newStore(t, t.TempDir(), "r-1", keyA0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, run, err := openAs(t.Context(), filepath.Join(s.dir, dbName), frozen, 1)
	if err != nil || run.ID != "r-1" {
		t.Fatalf("%+v, %v", run, err)
	}
	if rows, err := loadRows(t.Context(), db, -1); err != nil || len(rows) != 1 {
		t.Errorf("%+v, %v", rows, err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(s.dir); err != nil || len(entries) != 2 {
		t.Errorf("reading left %v, %v", entries, err)
	}
}

func TestListAndFind(t *testing.T) {
	home := t.TempDir()
	if _, err := OpenReader(t.Context(), home, "latest"); !errors.Is(err, ErrNoRun) {
		t.Errorf("latest of nothing: %v", err)
	}
	old := newStore(t, home, "r-1129-1842", keyA0, keyA1)
	run := testRun("r-1129-1842b", keyA0)
	run.Created = t0.Add(time.Hour)
	young, err := Create(t.Context(), home, run)
	if err != nil {
		t.Fatal(err)
	}
	one, half := 1.0, 0.5
	commit(t, young, Write{Events: []Event{
		event(keyA0, 1, KindFinish, Finished{Reason: MaxIterationsReached}),
		event(keyA0, 1, KindReward, Rewarded{Reward: &one}),
		event(keyA0, 1, KindState, StateChange{State: Done}),
	}})
	if err := young.Close(); err != nil {
		t.Fatal(err)
	}
	commit(t, old, Write{Events: []Event{event(keyA1, 1, KindReward, Rewarded{Reward: &half})}})
	if err := os.MkdirAll(filepath.Join(home, "runs", "r-bad"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "runs", "r-bad", dbName), []byte("what is this, it is no database at all"), 0o644); err != nil {
		t.Fatal(err)
	}
	list, err := List(t.Context(), home)
	if err != nil || len(list) != 3 {
		t.Fatalf("list is %+v, %v", list, err)
	}
	a, b, bad := list[0], list[1], list[2]
	if a.ID != "r-1129-1842b" || a.State != RunFinished || a.Done != 1 || a.Solved != 1 || a.Masked != 1 || *a.MeanReward != 1 || a.PID != 0 || !a.Simulated {
		t.Errorf("newest: %+v", a)
	}
	if b.ID != "r-1129-1842" || b.State != RunRunning || b.PID != os.Getpid() || b.Members != 2 || b.Solved != 0 || *b.MeanReward != 0.5 {
		t.Errorf("running: %+v", b)
	}
	if bad.ID != "r-bad" || bad.Problem == "" {
		t.Errorf("broken: %+v", bad)
	}
	for id, want := range map[string]string{"latest": "r-1129-1842b", "r-1129-1842": "r-1129-1842", "r-b": "r-bad"} {
		if dir, err := Find(t.Context(), home, id); err != nil || filepath.Base(dir) != want {
			t.Errorf("find %s: %s, %v", id, dir, err)
		}
	}
	for id, want := range map[string]string{"r-11": "beginning of 2 runs", "r-1129-1843": "near: r-1129-1842,", "": "near"} {
		if _, err := Find(t.Context(), home, id); !errors.Is(err, ErrNoRun) || !strings.Contains(err.Error(), want) {
			t.Errorf("find %q: %v, want %q", id, err, want)
		}
	}
	if id, err := NewRunID(t0, home); err != nil || id != "r-1129-1842c" {
		t.Errorf("new id %s, %v", id, err)
	}
}

// A series keeps its first and its newest points, evenly spaced, in bounded room.
func TestSeries(t *testing.T) {
	s := newStore(t, t.TempDir(), "r-1", Key{Instance: "a"})
	const offered = 5 * 2 * seriesPoints / 2 // strides 1, 2 and 4 apply
	for i := range offered {
		if err := s.PutGauge(t.Context(), json.RawMessage(`{}`), json.RawMessage(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	points, err := s.Series(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// 10240 offered: stride 4 since 8192, so 0, 4, … 10236.
	if len(points) != 2560 || string(points[0]) != "0" || string(points[1]) != "4" || string(points[2559]) != "10236" {
		t.Errorf("%d points: %s %s … %s", len(points), points[0], points[1], points[len(points)-1])
	}
}
