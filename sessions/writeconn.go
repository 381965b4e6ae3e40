package sessions

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// writeConn is the one connection that writes, with its prepared statements.
// Only the writer goroutine uses it, and close after it has ended.
type writeConn struct {
	db     *sql.DB
	conn   *sql.Conn
	run    string
	stmts  map[string]*sql.Stmt
	byKey  map[Key]int
	chains map[int]*openChain // by trajectory; what the next prompt is compared with
	known  map[int32]bool     // ids of the vocabulary, as far as this process wrote them
	points int64              // of the series, offered so far
}

// openChain is the token sequence of an attempt that is still growing.
type openChain struct {
	chain
	attempt int
	last    tail
	seen    seen // for what the next turn's messages echo; none after a start
}

func openWriteConn(ctx context.Context, path, run string) (*writeConn, error) {
	c := &writeConn{run: run, stmts: map[string]*sql.Stmt{}, byKey: map[Key]int{}, chains: map[int]*openChain{}, known: map[int32]bool{}}
	var err error
	if c.db, err = openDB(path, shared, 1, "journal_mode(WAL)"); err != nil {
		return nil, err
	}
	if err = upgrade(ctx, c.db); err == nil {
		c.conn, err = c.db.Conn(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.db.Close())
	}
	return c, nil
}

// close folds the WAL into the file: SQLite does so when the last connection
// goes; the checkpoint before it is for when a reader is still there.
func (c *writeConn) close() error {
	var errs []error
	for _, stmt := range c.stmts {
		errs = append(errs, stmt.Close())
	}
	_, err := c.conn.ExecContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)")
	errs = append(errs, err, c.conn.Close(), c.db.Close())
	return errors.Join(errs...)
}

// load reads all trajectory rows and the last seq.
func (c *writeConn) load(ctx context.Context) ([]Trajectory, int64, error) {
	byPos, err := loadRows(ctx, c.conn, -1)
	if err != nil {
		return nil, 0, err
	}
	rows := make([]Trajectory, len(byPos))
	for tr, t := range byPos {
		if tr < 0 || tr >= len(rows) {
			return nil, 0, fmt.Errorf("trajectory %s has position %d of %d", t.Key, tr, len(rows))
		}
		rows[tr], c.byKey[t.Key] = t, tr
	}
	var seq int64
	err = c.conn.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0), (SELECT coalesce(max(n) + 1, 0) FROM series) FROM event").Scan(&seq, &c.points)
	return rows, seq, err
}

// exec runs a statement that is prepared once. It is not interruptible: a
// transaction is never left half by a caller's ctx.
func (c *writeConn) exec(query string, args ...any) (sql.Result, error) {
	stmt, ok := c.stmts[query]
	if !ok {
		var err error
		if stmt, err = c.conn.PrepareContext(context.Background(), query); err != nil {
			return nil, err
		}
		c.stmts[query] = stmt
	}
	return stmt.ExecContext(context.Background(), args...)
}

// chainOf is the token sequence of the turn's attempt so far, from memory or rebuilt.
func (tx *transaction) chainOf(tr int, t *Turn) (*openChain, error) {
	if open, ok := tx.conn.chains[tr]; ok && open.attempt == t.Attempt {
		return open, nil
	}
	open := &openChain{attempt: t.Attempt}
	var err error
	if open.chain, open.last, err = tx.chainBefore(t, place{1 << 31, 0}); err != nil {
		return nil, err
	}
	tx.conn.chains[tr] = open
	return open, nil
}

// chainBefore is the token sequence of the turn's attempt before a place.
func (tx *transaction) chainBefore(t *Turn, before place) (chain, tail, error) {
	parts, err := tx.segments(t.Key, t.Attempt)
	if err != nil {
		return chain{}, tail{}, err
	}
	return loadChain(context.Background(), tx.conn.conn, parts, before)
}
