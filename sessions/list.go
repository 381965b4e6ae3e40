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
	"regexp"
	"slices"
	"strings"
	"time"
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
	MeanReward *float64 // over the trajectories that have one, nil when none has
	Problem    string
}

// RunState is what is going on with a run.
type RunState string

// The run states. An interrupted run can be resumed.
const (
	RunRunning     RunState = "running"
	RunInterrupted RunState = "interrupted"
	RunFinished    RunState = "finished"
)

func runDir(home, id string) string { return filepath.Join(home, "runs", id) }

var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func validID(id string) bool { return idPattern.MatchString(id) && len(id) <= 100 }

// NewRunID is an id that no run under home has: r-MMDD-HHMM, with a letter
// added when that minute is taken.
func NewRunID(now time.Time, home string) (string, error) {
	base := now.Format("r-0102-1504")
	for id, suffix := base, "b"; ; {
		switch _, err := os.Lstat(runDir(home, id)); {
		case errors.Is(err, os.ErrNotExist):
			return id, nil
		case err != nil:
			return "", fmt.Errorf("choose a run id: %w", err)
		}
		id = base + suffix
		if last := len(suffix) - 1; suffix[last] < 'z' {
			suffix = suffix[:last] + string(suffix[last]+1)
		} else {
			suffix += "b" // z, zb, zc, …: still sorts after what came before
		}
	}
}

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
		}
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b Summary) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
	})
	return list, nil
}

func runIDs(home string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(home, "runs"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && validID(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
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
	if s.PID, err = writerOf(s.Dir); err != nil {
		return err
	}
	switch {
	case s.PID != 0:
		s.State = RunRunning
	case s.Done+s.Failed+s.Cancelled < s.Members:
		s.State = RunInterrupted
	default:
		s.State = RunFinished
	}
	return nil
}

// Summarize counts the rows of a run. Dir, State and PID are left to List.
func Summarize(run Run, rows []Trajectory) Summary {
	s := Summary{ID: run.ID, Title: run.Title, Created: run.Created, Model: run.Model, Simulated: run.Simulate, Members: len(rows)}
	var sum float64
	var rewarded int
	for _, t := range rows {
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
		if t.Reward != nil {
			rewarded++
			sum += *t.Reward
			if *t.Reward >= 1 {
				s.Solved++
			}
		}
	}
	if rewarded > 0 {
		mean := sum / float64(rewarded)
		s.MeanReward = &mean
	}
	return s
}

// openRead opens a run's database without the right to write.
func openRead(ctx context.Context, dir string, conns int) (*sql.DB, Run, error) {
	path := filepath.Join(dir, dbName)
	if _, err := os.Stat(path); err != nil {
		return nil, Run{}, err
	}
	db, err := openDB(path, conns, "query_only(1)")
	if err != nil {
		return nil, Run{}, err
	}
	var run Run
	if err = checkVersion(ctx, db); err == nil {
		run, err = loadRun(ctx, db)
	}
	if err != nil {
		return nil, Run{}, errors.Join(fmt.Errorf("read %s: %w", path, err), db.Close())
	}
	return db, run, nil
}

// Find the folder of a run: by id, by a prefix that only one run has, or the
// newest for "latest".
func Find(ctx context.Context, home, id string) (string, error) {
	if id == "latest" {
		return latest(ctx, home)
	}
	ids, err := runIDs(home)
	if err != nil {
		return "", err
	}
	var match []string
	for _, have := range ids {
		if have == id {
			return runDir(home, id), nil
		}
		if id != "" && strings.HasPrefix(have, id) {
			match = append(match, have)
		}
	}
	switch {
	case len(match) == 1:
		return runDir(home, match[0]), nil
	case len(match) > 1:
		return "", fmt.Errorf("%w: %q is the beginning of %d runs: %s", ErrNoRun, id, len(match), some(match))
	case len(ids) == 0:
		return "", fmt.Errorf("%w: %q; nothing is recorded under %s yet", ErrNoRun, id, home)
	}
	slices.SortStableFunc(ids, func(a, b string) int { return cmp.Compare(distance(a, id), distance(b, id)) })
	return "", fmt.Errorf("%w: %q; near: %s", ErrNoRun, id, some(ids))
}

func some(ids []string) string { return strings.Join(ids[:min(len(ids), 3)], ", ") }

// latest reads only who was created when. Broken files are passed over.
func latest(ctx context.Context, home string) (string, error) {
	ids, err := runIDs(home)
	if err != nil {
		return "", err
	}
	var newest string
	var created time.Time
	for _, id := range ids {
		db, run, err := openRead(ctx, runDir(home, id), 1)
		if err != nil {
			continue // List names it; it is nobody's latest run
		}
		if err := db.Close(); err != nil {
			return "", fmt.Errorf("read run %s: %w", id, err)
		}
		if newest == "" || !run.Created.Before(created) {
			newest, created = id, run.Created
		}
	}
	if newest == "" {
		return "", fmt.Errorf("%w: nothing is recorded under %s yet", ErrNoRun, home)
	}
	return runDir(home, newest), nil
}

// distance is the number of single-character edits between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
