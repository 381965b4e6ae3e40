package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
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
	var problem error
	for _, id := range ids {
		db, run, err := openRead(ctx, runDir(home, id), 1)
		if err != nil {
			problem = err // List names them all; a run nobody can read is not the latest
			continue
		}
		if err := db.Close(); err != nil {
			return "", fmt.Errorf("read run %s: %w", id, err)
		}
		if newest == "" || !run.Created.Before(created) {
			newest, created = id, run.Created
		}
	}
	switch {
	case newest == "" && problem != nil:
		return "", fmt.Errorf("%w that can be read: %w", ErrNoRun, problem)
	case newest == "":
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
