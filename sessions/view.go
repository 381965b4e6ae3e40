package sessions

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// view is the read side that the store and the reader share. Every method is
// one short read; none leaves a read transaction open.
type view struct {
	db  *sql.DB
	run Run
}

// Run is the identity and the settings of the run.
func (v *view) Run() Run { return v.run }

func (v *view) fail(what string, err error) error {
	return fmt.Errorf("read %s of run %s: %w", what, v.run.ID, explain(err))
}

// Since returns up to limit events after seq, in order (limit ≤ 0: all).
func (v *view) Since(ctx context.Context, seq int64, limit int) ([]Event, error) {
	if limit <= 0 {
		limit = -1 // SQLite: no limit
	}
	rows, err := v.db.QueryContext(ctx, "SELECT seq, time, instance, id, kind, data FROM event WHERE seq > ? ORDER BY seq LIMIT ?", seq, limit)
	if err != nil {
		return nil, v.fail("events", err)
	}
	defer rows.Close()
	var events []Event
	for rows.Next() {
		var e Event
		var at int64
		if err := rows.Scan(&e.Seq, &at, &e.Key.Instance, &e.Key.ID, &e.Kind, (*[]byte)(&e.Data)); err != nil {
			return nil, v.fail("events", err)
		}
		e.Time = time.Unix(0, at).UTC()
		events = append(events, e)
	}
	if err := rows.Err(); err != nil {
		return nil, v.fail("events", err)
	}
	return events, nil
}

// member finds a trajectory's position and its latest attempt.
func (v *view) member(ctx context.Context, key Key) (tr, attempt int, err error) {
	tr, t, err := v.row(ctx, key)
	return tr, t.Attempt, err
}

func notMember(key Key, run string) error {
	return fmt.Errorf("run %s has no trajectory %s", run, key)
}

// Patch of the latest attempt, nil when none was taken.
func (v *view) Patch(ctx context.Context, key Key) ([]byte, error) {
	return v.artifact(ctx, "patch", key)
}

// EvalLog of the latest attempt, nil when there is none.
func (v *view) EvalLog(ctx context.Context, key Key) ([]byte, error) {
	return v.artifact(ctx, "evallog", key)
}

func (v *view) artifact(ctx context.Context, table string, key Key) ([]byte, error) {
	tr, attempt, err := v.member(ctx, key)
	if err != nil {
		return nil, err
	}
	data := []byte{}
	err = v.db.QueryRowContext(ctx, "SELECT data FROM "+table+" WHERE tr = ? AND attempt = ?", tr, attempt).Scan(&data)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, v.fail(table+" of "+key.String(), err)
	case data == nil:
		return []byte{}, nil // an empty patch is not a missing one
	}
	return data, nil
}

// Series are the points of the run's time series, oldest first; none in a file
// of a version that kept none.
func (v *view) Series(ctx context.Context) ([]json.RawMessage, error) {
	if there, err := v.has(ctx, "series"); err != nil || !there {
		return nil, err
	}
	rows, err := v.db.QueryContext(ctx, "SELECT json FROM series ORDER BY n")
	if err != nil {
		return nil, v.fail("series", err)
	}
	defer rows.Close()
	var points []json.RawMessage
	for rows.Next() {
		var p []byte
		if err := rows.Scan(&p); err != nil {
			return nil, v.fail("series", err)
		}
		points = append(points, p)
	}
	if err := rows.Err(); err != nil {
		return nil, v.fail("series", err)
	}
	return points, nil
}

// Gauge is the engine snapshot persisted last, nil when there is none.
func (v *view) Gauge(ctx context.Context) (json.RawMessage, error) {
	var data []byte
	err := v.db.QueryRowContext(ctx, "SELECT json FROM gauge").Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, v.fail("gauges", err)
	}
	return data, nil
}

// loadRun reads the run's row.
func loadRun(ctx context.Context, db *sql.DB) (Run, error) {
	var run Run
	var data []byte
	if err := db.QueryRowContext(ctx, "SELECT json FROM run").Scan(&data); err != nil {
		return run, explain(err)
	}
	if err := json.Unmarshal(data, &run); err != nil {
		return run, err
	}
	for _, raw := range []*json.RawMessage{&run.Config, &run.Print} {
		if string(*raw) == "null" {
			*raw = nil
		}
	}
	return run, nil
}

// querier is a *sql.DB, *sql.Tx or *sql.Conn.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// loadRows reads the trajectory rows that changed after seq, by position.
func loadRows(ctx context.Context, q querier, seq int64) (map[int]Trajectory, error) {
	rows, err := q.QueryContext(ctx, "SELECT tr, json FROM trajectory WHERE seq > ?", seq)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	changed := map[int]Trajectory{}
	for rows.Next() {
		var tr int
		var data []byte
		if err := rows.Scan(&tr, &data); err != nil {
			return nil, err
		}
		var t Trajectory
		if err := json.Unmarshal(data, &t); err != nil {
			return nil, err
		}
		changed[tr] = t
	}
	return changed, rows.Err()
}
