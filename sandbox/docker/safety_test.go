package docker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"rollbench/sandbox"
)

// A container that a dead owner had asked for, and that the engine finishes only
// after the next start, is waited for and removed.
func TestReapWaitsForWhatIsBeingMade(t *testing.T) {
	dir := t.TempDir()
	p := engine(t, Options{Pending: dir})
	dead := p.opt.Owner
	dead.Start--
	key := newKey()
	name := containerName(t.Name(), key)
	forget, err := engine(t, Options{Owner: dead, Pending: dir}).expect(name + pendingEnd)
	if err != nil {
		t.Fatal(err)
	}
	living, err := p.expect(containerName("living", newKey()) + pendingEnd)
	if err != nil {
		t.Fatal(err)
	}
	made := make(chan error, 1)
	go func() {
		<-time.After(500 * time.Millisecond)
		_, err := p.engine.ContainerCreate(context.Background(), &container.Config{Image: testImage(), Cmd: []string{"true"},
			Labels: map[string]string{labelOurs: "1", labelOwner: dead.String(), labelKey: key}}, nil, nil, nil, name)
		made <- err
	}()
	removed, err := p.Reap(t.Context())
	if err != nil || !strings.Contains(strings.Join(removed, " "), name) {
		t.Errorf("%q, %v", removed, err)
	}
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || !strings.Contains(left[0].Name(), "living") {
		t.Errorf("notes left: %v, %v", left, err)
	}
	if err := errors.Join(forget(nil), living(nil)); err != nil {
		t.Error(err)
	}
	// One that nobody makes any more: the note is old.
	if _, err := engine(t, Options{Owner: dead, Pending: dir}).expect(name + pendingEnd); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, name+pendingEnd), old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Reap(t.Context()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("notes left: %v, %v", left, err)
	}
}

// So is a snapshot.
func TestReapWaitsForASnapshot(t *testing.T) {
	dir := t.TempDir()
	p := engine(t, Options{Pending: dir})
	c := open(t, p, sandbox.Spec{})
	gone, key := dead(t), newKey()
	if _, err := engine(t, Options{Owner: gone, Pending: dir}).expect(snapshotNote + key + snapshotEnd); err != nil {
		t.Fatal(err)
	}
	made := make(chan error, 1)
	go func() {
		<-time.After(300 * time.Millisecond)
		_, err := p.engine.ContainerCommit(context.Background(), c.id, container.CommitOptions{Reference: snapshotName + key, Changes: []string{
			"LABEL " + labelSnapshot + "=" + key, "LABEL " + labelOwner + "=" + strconv.Quote(gone.String())}})
		made <- err
	}()
	if removed, err := p.Reap(t.Context()); err != nil {
		t.Errorf("%q, %v", removed, err)
	}
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	if have, err := p.HasImage(t.Context(), snapshotName+key); err != nil || have {
		t.Errorf("still there: %t %v", have, err)
	}
	if s, err := c.Snapshot(t.Context()); err != nil || s.Close() != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("notes left: %v, %v", left, err)
	}
}

// A start that is interrupted while it waits learns nothing, and the next one waits.
func TestInterruptedWaitKeepsTheNote(t *testing.T) {
	dir := t.TempDir()
	p := engine(t, Options{Pending: dir})
	if _, err := engine(t, Options{Owner: dead(t), Pending: dir}).expect(containerName(t.Name(), newKey()) + pendingEnd); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := p.Reap(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("notes left: %v, %v", left, err)
	}
}

func TestPendingLeft(t *testing.T) {
	asked := time.Unix(1_700_000_000, 0)
	for passed, want := range map[time.Duration]time.Duration{
		0:                15 * time.Second,
		4 * time.Second:  11 * time.Second,
		time.Hour:        -3585 * time.Second, // it, or the clock, is an hour on
		-time.Hour:       15 * time.Second,    // the clock was set back
		15 * time.Second: 0,
	} {
		if got := pendingLeft(asked, asked.Add(passed)); got != want {
			t.Errorf("%v later: %v, want %v", passed, got, want)
		}
	}
}
