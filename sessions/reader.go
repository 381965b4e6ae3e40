package sessions

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// pollEvery is how often a reader asks SQLite whether another process committed.
const pollEvery = 200 * time.Millisecond

// reader is a run opened read-only, while another process may be writing it.
type reader struct {
	view
	Hub
	stop   context.CancelFunc
	poller sync.WaitGroup
	once   sync.Once
	err    error // of Close

	mu   sync.Mutex
	rows []Trajectory // guarded by mu, as seq
	seq  int64
}

// OpenReader opens a run for reading from any process: id, "latest" or a
// unique prefix.
func OpenReader(ctx context.Context, home, id string) (Reader, error) {
	dir, err := Find(ctx, home, id)
	if err != nil {
		return nil, err
	}
	db, run, err := openRead(ctx, dir, 4)
	if err != nil {
		return nil, fmt.Errorf("open run %s: %w", filepath.Base(dir), err)
	}
	conn, version, err := watch(ctx, db)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open run %s: %w", run.ID, explain(err)), db.Close())
	}
	r := &reader{view: view{db: db, run: run}, seq: -1}
	polling, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	r.poller.Go(func() { r.poll(polling, conn, version) })
	return r, nil
}

// watch sets a connection aside and reads its data_version, a number that each
// connection keeps for itself. It is read before the reader is handed out, so
// no commit after that goes unnoticed.
func watch(ctx context.Context, db *sql.DB) (*sql.Conn, int64, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, 0, err
	}
	version, err := dataVersion(ctx, conn)
	if err != nil {
		return nil, 0, errors.Join(err, conn.Close())
	}
	return conn, version, nil
}

func dataVersion(ctx context.Context, conn *sql.Conn) (version int64, err error) {
	err = conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version)
	return version, err
}

// poll wakes subscribers when data_version moves.
func (r *reader) poll(ctx context.Context, conn *sql.Conn, last int64) {
	defer conn.Close()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		version, err := dataVersion(ctx, conn)
		if ctx.Err() == nil && (err != nil || version != last) {
			r.Notify() // on error, whoever wakes meets it in its own read
			last = version
		}
	}
}

// Trajectories in queue order, and the Seq they reflect. Only rows that
// changed since the call before are read.
func (r *reader) Trajectories(ctx context.Context) ([]Trajectory, int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.refresh(ctx); err != nil {
		return nil, 0, r.fail("trajectories", err)
	}
	return slices.Clone(r.rows), r.seq, nil
}

// refresh needs mu. Rows and seq are read in one transaction: they must be of
// the same moment.
func (r *reader) refresh(ctx context.Context) error {
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback() // it only read
	changed, err := loadRows(ctx, tx, r.seq)
	if err != nil {
		return err
	}
	var seq int64
	if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM event").Scan(&seq); err != nil {
		return err
	}
	for tr, t := range changed {
		for tr >= len(r.rows) {
			r.rows = append(r.rows, Trajectory{})
		}
		r.rows[tr] = t
	}
	r.seq = seq
	return nil
}

// Close ends the poller and closes the file.
func (r *reader) Close() error {
	r.once.Do(func() {
		r.stop()
		r.poller.Wait()
		if err := r.db.Close(); err != nil {
			r.err = fmt.Errorf("close run %s: %w", r.run.ID, err)
		}
	})
	return r.err
}
