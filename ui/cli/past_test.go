package cli

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollbench/sessions"
)

// longest_first orders by what trajectories took that went their whole way: one
// that was cancelled in the queue or failed in init says nothing of it.
func TestPastTimesAreOfWholeTrajectories(t *testing.T) {
	home, start := t.TempDir(), time.Unix(1_000_000, 0)
	keys := []sessions.Key{{Instance: "a"}, {Instance: "a", ID: 1}}
	store, err := sessions.Create(t.Context(), home, sessions.Run{ID: "r-1", Created: start, N: 2, Members: keys})
	if err != nil {
		t.Fatal(err)
	}
	state := func(at int, key sessions.Key, s sessions.State) {
		e := sessions.NewEvent(start.Add(time.Duration(at)*time.Second), key, sessions.KindState, sessions.StateChange{State: s})
		if err := store.Commit(t.Context(), sessions.Write{Events: []sessions.Event{e}}); err != nil {
			t.Fatal(err)
		}
	}
	state(0, keys[0], sessions.Init)
	state(10, keys[0], sessions.Ready)
	state(10, keys[0], sessions.Running)
	state(90, keys[0], sessions.Ran)
	state(90, keys[0], sessions.Evaluating)
	state(100, keys[0], sessions.Done)
	state(5, keys[1], sessions.Cancelled) // while queued
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	got, _, err := pastTimes(t.Context(), home, sessions.Run{Members: []sessions.Key{{Instance: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got["a"] != 100 {
		t.Errorf("a took %v s, want 100", got["a"])
	}
}

// A session that cannot be read any more is left out of the history; it does not
// keep new runs from starting.
func TestPastTimesWithoutBrokenSessions(t *testing.T) {
	home := t.TempDir()
	key := sessions.Key{Instance: "a"}
	store, err := sessions.Create(t.Context(), home, sessions.Run{ID: "r-1", Created: time.Now(), N: 1, Members: []sessions.Key{key}})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Commit(t.Context(), sessions.Write{Events: []sessions.Event{sessions.NewEvent(time.Now(), key, sessions.KindState, sessions.StateChange{State: sessions.Init})}}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(home, "runs", "r-1", "session.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE event SET data = '{\"state\": 7}'"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	history, unread, err := pastTimes(t.Context(), home, sessions.Run{Members: []sessions.Key{{Instance: "a"}}})
	if err != nil || len(history) != 0 || len(unread) != 1 || !strings.Contains(unread[0], "run r-1 is left out of the history: ") {
		t.Errorf("%v %q %v", history, unread, err)
	}
}

// Of many runs the newest are read that have the instance; those without it do not
// count, and are not read at all.
func TestPastTimesAreOfTheNewestRuns(t *testing.T) {
	home, start := t.TempDir(), time.Unix(1_000_000, 0)
	record := func(id, instance string, created time.Time, took int) {
		key := sessions.Key{Instance: instance}
		store, err := sessions.Create(t.Context(), home, sessions.Run{ID: id, Created: created, N: 1, Members: []sessions.Key{key}})
		if err != nil {
			t.Fatal(err)
		}
		var events []sessions.Event
		for i, s := range []sessions.State{sessions.Init, sessions.Ready, sessions.Running, sessions.Ran, sessions.Evaluating, sessions.Done} {
			at := created
			if i > 0 {
				at = at.Add(time.Duration(took) * time.Second) // all of it in init
			}
			events = append(events, sessions.NewEvent(at, key, sessions.KindState, sessions.StateChange{State: s}))
		}
		if err := store.Commit(t.Context(), sessions.Write{Events: events}); err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for n := range pastRuns + 3 { // the oldest three took long
		took := 10
		if n < 3 {
			took = 1000
		}
		record(fmt.Sprintf("r-%02d", n), "a", start.Add(time.Duration(n)*time.Hour), took)
	}
	record("r-other", "b", start.Add(time.Hour*100), 7)
	got, _, err := pastTimes(t.Context(), home, sessions.Run{Members: []sessions.Key{{Instance: "a"}}})
	if err != nil || len(got) != 1 || got["a"] != 10 {
		t.Errorf("%v, %v", got, err)
	}
}
