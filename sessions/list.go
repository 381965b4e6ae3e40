package sessions

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Summary of a run, for lists. Problem is set, and nothing but ID and Dir is
// known, when its file cannot be read.
type Summary struct {
	ID         string
	Dir        string
	Title      string
	Created    time.Time
	Model      string
	Simulated  bool
	State      RunState
	PID        int // of the writer while running, else 0
	Members    int
	Done       int
	Failed     int
	Cancelled  int
	Solved     int // reward ≥ 1
	Masked     int
	Intervened int
	Policy     string // of the dispatcher
	Size       int64  // bytes on disk
	Outcome
	Forks     int // beside the members; nothing above counts them
	ForksOpen int // of them that have not ended
	Problem   string
}

// Ended is how many trajectories have.
func (s *Summary) Ended() int { return s.Done + s.Failed + s.Cancelled }

// RunState is what is going on with a run.
type RunState string

// The run states. A stopped run can be resumed.
const (
	RunRunning  RunState = "running"
	RunStopped  RunState = "stopped"
	RunFinished RunState = "finished"
)

// List all runs under home, newest first. A run that cannot be read is listed
// with its problem.
func List(ctx context.Context, home string) ([]Summary, error) {
	ids, err := runIDs(home)
	if err != nil {
		return nil, err
	}
	var list []Summary
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := Summary{ID: id, Dir: runDir(home, id)}
		if err := summarize(ctx, &s); err != nil {
			s = Summary{ID: id, Dir: s.Dir, Problem: err.Error()}
			s.Size, _ = sizeOf(s.Dir) // of what is there, as far as it can be read
		}
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b Summary) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
	})
	return list, nil
}

func summarize(ctx context.Context, s *Summary) (err error) {
	db, run, err := openRead(ctx, s.Dir, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	byPos, err := loadRows(ctx, db, -1)
	if err != nil {
		return explain(err)
	}
	dir := s.Dir
	*s = Summarize(run, slices.Collect(maps.Values(byPos)))
	s.Dir = dir
	if s.Size, err = sizeOf(dir); err != nil {
		return err
	}
	if s.PID, err = WriterOf(s.Dir); err != nil {
		return err
	}
	switch {
	case s.PID != 0:
		s.State = RunRunning
	case s.Ended() < s.Members || s.ForksOpen > 0:
		s.State = RunStopped
	default:
		s.State = RunFinished
	}
	return nil
}

// Summarize counts the rows of a run: those of the set fixed at the start. Dir, Size,
// State and PID are left to List.
func Summarize(run Run, rows []Trajectory) Summary {
	s := Summary{ID: run.ID, Title: run.Title, Created: run.Created, Model: run.Model, Simulated: run.Simulate, Policy: run.Policy}
	members := make([]Trajectory, 0, len(rows))
	for _, t := range rows {
		if t.Fork != nil {
			s.Forks++
			if !t.State.Ended() {
				s.ForksOpen++
			}
			continue
		}
		members = append(members, t)
		switch t.State {
		case Done:
			s.Done++
		case Failed:
			s.Failed++
		case Cancelled:
			s.Cancelled++
		}
		if t.Mask() != "" {
			s.Masked++
		}
		if t.Intervened {
			s.Intervened++
		}
		if t.Reward != nil && *t.Reward >= 1 {
			s.Solved++
		}
	}
	s.Members, s.Outcome = len(members), outcome(run, members)
	return s
}

// openRead opens a run's database without the right to write.
func openRead(ctx context.Context, dir string, conns int) (*sql.DB, Run, error) {
	path := filepath.Join(dir, dbName)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, Run{}, fmt.Errorf("%s is missing: nothing is recorded there", path)
	} else if err != nil {
		return nil, Run{}, err
	}
	db, run, err := openAs(ctx, path, shared, conns)
	if err != nil && readOnlyFolder(dir) {
		db, run, err = openUnwritable(ctx, path, conns)
	}
	if err != nil {
		return nil, Run{}, fmt.Errorf("read %s: %w", path, err)
	}
	return db, run, nil
}

// openUnwritable opens a run in a folder nobody here can write to: as a whole, where
// there is no WAL and so no writer either; else beside its writer, whose index of the
// WAL is needed then.
func openUnwritable(ctx context.Context, path string, conns int) (*sql.DB, Run, error) {
	if !exists(path + "-wal") {
		return openAs(ctx, path, frozen, conns)
	}
	db, run, err := openAs(ctx, path, beside, conns)
	if err != nil && !exists(path+"-shm") {
		err = fmt.Errorf("its folder is read-only, and its last writes are not folded into the file: copy the folder to where you may write (%w)", err)
	}
	return db, run, err
}

func openAs(ctx context.Context, path, how string, conns int) (*sql.DB, Run, error) {
	db, err := openDB(path, how, conns, "query_only(1)")
	if err != nil {
		return nil, Run{}, err
	}
	var run Run
	if err = checkVersion(ctx, db); err == nil {
		run, err = loadRun(ctx, db)
	}
	if err != nil {
		return nil, Run{}, errors.Join(err, db.Close())
	}
	return db, run, nil
}

func readOnlyFolder(dir string) bool {
	err := unix.Access(dir, unix.W_OK)
	return errors.Is(err, unix.EROFS) || errors.Is(err, unix.EACCES)
}
