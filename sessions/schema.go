package sessions

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"syscall"

	"modernc.org/sqlite"
)

const dbName = "session.db"

// schemaVersion is kept in PRAGMA user_version. Version 1 had no series,
// version 2 no output, and no turn that echoes another. Of version 3 some files
// have no vocabulary, which a reader can do without.
//
// A file becomes one of version 4 as the first fork is stored in it: its turns are
// read across trajectories, which older readers do not know. Others stay at 3.
const (
	schemaVersion = 3
	forkVersion   = 4
)

// The tables. tr is the trajectory's position in queue order. turn.body is the
// turn as JSON without its free texts and token arrays; texts holds the former
// byte by byte (tool output need not be valid UTF-8; what a turn echoes of the
// one before is left out, see echo), tokens the latter, apart so that reading a
// transcript does not touch them.
const schema = `
CREATE TABLE run (one INTEGER PRIMARY KEY CHECK (one = 1), json TEXT NOT NULL);
CREATE TABLE gauge (one INTEGER PRIMARY KEY CHECK (one = 1), json TEXT NOT NULL);
CREATE TABLE trajectory (
	tr INTEGER PRIMARY KEY, instance TEXT NOT NULL, id INTEGER NOT NULL,
	seq INTEGER NOT NULL, json TEXT NOT NULL, UNIQUE (instance, id));
CREATE TABLE event (
	seq INTEGER PRIMARY KEY, time INTEGER NOT NULL, instance TEXT NOT NULL, id INTEGER NOT NULL,
	kind TEXT NOT NULL, data TEXT NOT NULL);
CREATE TABLE turn (
	turn INTEGER PRIMARY KEY, tr INTEGER NOT NULL, attempt INTEGER NOT NULL, idx INTEGER NOT NULL,
	version INTEGER NOT NULL, superseded INTEGER NOT NULL, body TEXT NOT NULL, texts BLOB NOT NULL,
	UNIQUE (tr, attempt, idx, version));
CREATE TABLE tokens (turn INTEGER PRIMARY KEY, prompt BLOB, output BLOB, logprobs BLOB);
CREATE TABLE patch (tr INTEGER NOT NULL, attempt INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (tr, attempt));
CREATE TABLE evallog (tr INTEGER NOT NULL, attempt INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (tr, attempt));
CREATE INDEX trajectory_seq ON trajectory (seq);
` + seriesTable + outputTable + vocabularyTable

// seriesTable: n counts the points that were offered; few of a long run stay.
const seriesTable = "CREATE TABLE IF NOT EXISTS series (n INTEGER PRIMARY KEY, json TEXT NOT NULL);\n"

// outputTable holds what a call printed where its observation does not: see
// Chunk. The rows are large, so their order is kept in an index beside them.
const outputTable = `CREATE TABLE IF NOT EXISTS output (
	tr INTEGER NOT NULL, attempt INTEGER NOT NULL, turn INTEGER NOT NULL, call INTEGER NOT NULL,
	chunk INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (tr, attempt, turn, call, chunk));
`

// upgrade brings a file of an earlier version to this one.
func upgrade(ctx context.Context, db *sql.DB) error {
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, seriesTable+outputTable+vocabularyTable+fmt.Sprintf("PRAGMA user_version = %d;", max(version, schemaVersion)))
	return err
}

// How a file is opened. beside reads what another process writes, without the right
// to write anything; frozen takes no locks and needs no files beside it: for
// a folder nobody can write to, where a plain open fails for want of them.
const (
	shared = "mode=rw"
	beside = "mode=ro"
	frozen = "mode=ro&immutable=1"
)

// openDB opens the file with the given number of connections at most. A
// process killed at any instant loses nothing committed (WAL, synchronous
// NORMAL); only a power cut can take the last moments.
func openDB(path, how string, conns int, pragmas ...string) (*sql.DB, error) {
	q := url.Values{}
	for _, p := range append([]string{"busy_timeout(5000)", "synchronous(NORMAL)"}, pragmas...) {
		q.Add("_pragma", p)
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: how + "&" + q.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

func checkVersion(ctx context.Context, db *sql.DB) error {
	var v int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v); err != nil {
		return explain(err)
	}
	switch {
	case v == 0:
		return errors.New("it is not a recorded run")
	case v > forkVersion:
		return fmt.Errorf("its format %d is newer than this rollbench reads (%d); use a newer rollbench", v, forkVersion)
	}
	return nil
}

// explain puts the fix to the database errors a person can do something about.
func explain(err error) error {
	const ( // SQLite's primary result codes
		readonly = 8
		ioError  = 10
		corrupt  = 11
		full     = 13
		cantOpen = 14
		notADB   = 26
	)
	var e *sqlite.Error
	code := 0
	if errors.As(err, &e) {
		code = e.Code() & 0xff
	}
	switch {
	case code == full || errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w; free space there and resume the run: %w", ErrDiskFull, err)
	case code == ioError:
		return fmt.Errorf("disk cannot be read or written; check it and resume the run: %w", err)
	case code == notADB || code == corrupt:
		return fmt.Errorf("file is damaged: %w", err)
	case code == readonly || code == cantOpen:
		return fmt.Errorf("file or its folder is not writable: %w", err)
	}
	return err
}
