package sessions

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Create makes the run's folder under home and opens it for writing. Its
// members are queued. A run of that id must not exist yet.
func Create(ctx context.Context, home string, run Run) (*Store, error) {
	run.Created = plain(run.Created)
	if err := checkRun(run); err != nil {
		return nil, err
	}
	dir := runDir(home, run.ID)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("create run %s: %w", run.ID, err)
	}
	// The folder is filled under another name and then renamed: nobody ever
	// sees half a run, and of two creators one is refused.
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".new-*")
	if err != nil {
		return nil, fmt.Errorf("create run %s: %w", run.ID, err)
	}
	defer os.RemoveAll(temp)
	lock, err := fillRun(ctx, temp, run)
	if err != nil {
		return nil, fmt.Errorf("create run %s in %s: %w", run.ID, filepath.Dir(dir), explain(err))
	}
	if err := os.Rename(temp, dir); err != nil {
		lock.Close()
		if errors.Is(err, os.ErrExist) || exists(dir) {
			return nil, fmt.Errorf("create run %s: %w: %s", run.ID, ErrExists, dir)
		}
		return nil, fmt.Errorf("create run %s: %w", run.ID, err)
	}
	return openStore(ctx, dir, lock)
}

// Open an existing run for writing: id, "latest" or a unique prefix.
func Open(ctx context.Context, home, id string) (*Store, error) {
	dir, err := Find(ctx, home, id)
	if err != nil {
		return nil, err
	}
	if !exists(filepath.Join(dir, dbName)) {
		return nil, fmt.Errorf("open run %s: %s is missing", filepath.Base(dir), filepath.Join(dir, dbName))
	}
	lock, err := acquire(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("open run %s: %w", filepath.Base(dir), err)
	}
	return openStore(ctx, dir, lock)
}

func checkRun(run Run) error {
	if !validID(run.ID) {
		return fmt.Errorf("run id %q must be letters, digits, dots, dashes and underscores, and start with a letter or digit", run.ID)
	}
	if run.Created.IsZero() {
		return fmt.Errorf("run %s has no creation time", run.ID)
	}
	seen := map[Key]bool{}
	for _, key := range run.Members {
		if key.IsZero() || seen[key] {
			return fmt.Errorf("run %s: member %s is empty or there twice", run.ID, key)
		}
		seen[key] = true
	}
	return nil
}

// fillRun makes lock and database in dir; the database is closed again.
func fillRun(ctx context.Context, dir string, run Run) (*os.File, error) {
	lock, err := acquire(ctx, dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, dbName)
	err = os.WriteFile(path, nil, 0o644)
	if err == nil {
		err = fillDB(ctx, path, run)
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

func fillDB(ctx context.Context, path string, run Run) error {
	db, err := openDB(path, shared, 1, "journal_mode(WAL)")
	if err != nil {
		return err
	}
	err = fillTables(ctx, db, run)
	return errors.Join(err, db.Close())
}

func fillTables(ctx context.Context, db *sql.DB, run Run) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // nothing to do after Commit
	if _, err := tx.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA user_version = %d;", schemaVersion)); err != nil {
		return err
	}
	identity, err := json.Marshal(run)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO run VALUES (1, ?)", string(identity)); err != nil {
		return err
	}
	for i, key := range run.Members {
		if err := insertMember(ctx, tx, i, key, run.Created); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func insertMember(ctx context.Context, tx *sql.Tx, i int, key Key, created time.Time) error {
	row, err := json.Marshal(NewTrajectory(key, created))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO trajectory VALUES (?, ?, ?, 0, ?)", i, key.Instance, key.ID, string(row))
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
