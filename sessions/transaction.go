package sessions

import (
	"encoding/json"
	"fmt"
	"maps"
)

// transaction stores one group of writes. Everything that can be refused is
// checked before the first row of a write is touched, so a refused write
// leaves nothing and the others go on.
type transaction struct {
	conn    *writeConn
	rows    []Trajectory       // as committed
	changed map[int]Trajectory // rows this transaction changes
	pending map[int]Trajectory // rows that the write under way changes
	added   map[Key]int        // trajectories that this transaction makes
	seq     int64
}

// run stores the group and answers those it refuses. It returns the writes
// whose fate is that of the transaction, and the database's error if any.
func (tx *transaction) run(group []*request) (accepted []*request, err error) {
	if _, err := tx.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return group, err
	}
	for i, r := range group {
		refusal, err := tx.store(r)
		if err != nil {
			return append(accepted, group[i:]...), tx.rollback(err) // those not reached share its fate
		}
		if refusal != nil {
			r.done <- refusal
			continue
		}
		accepted = append(accepted, r)
	}
	if err := tx.storeRows(); err != nil {
		return accepted, tx.rollback(err)
	}
	if _, err := tx.conn.exec("COMMIT"); err != nil {
		return accepted, tx.rollback(err)
	}
	maps.Copy(tx.conn.byKey, tx.added)
	for tr, t := range tx.changed {
		if t.State.Ended() {
			delete(tx.conn.chains, tr) // no more turns: give the memory back
		}
	}
	return accepted, nil
}

// rollback undoes the transaction and forgets token sequences and texts that may
// be of its turns. SQLite has often undone it itself by then, which is no error.
func (tx *transaction) rollback(cause error) error {
	clear(tx.conn.chains)
	clear(tx.conn.known)
	if _, err := tx.conn.exec("ROLLBACK"); err != nil && tx.open() {
		return fmt.Errorf("%w (and the transaction cannot be undone)", cause)
	}
	return cause
}

// open reports whether a transaction is still open: beginning one then fails.
func (tx *transaction) open() bool {
	if _, err := tx.conn.exec("BEGIN"); err != nil {
		return true
	}
	_, err := tx.conn.exec("ROLLBACK")
	return err != nil
}

// store puts one request into the transaction. A refused one leaves nothing.
func (tx *transaction) store(r *request) (refusal, err error) {
	if err := r.ctx.Err(); err != nil {
		return err, nil
	}
	tx.pending = map[int]Trajectory{}
	refusal, err = tx.put(r)
	if refusal != nil || err != nil {
		for key, tr := range tx.added {
			if _, of := tx.pending[tr]; of && tx.changed[tr].IsZero() {
				delete(tx.added, key)
				delete(tx.conn.chains, tr)
			}
		}
		return refusal, err
	}
	maps.Copy(tx.changed, tx.pending)
	return nil, nil
}

func (tx *transaction) put(r *request) (refusal, err error) {
	if r.gauge != nil {
		_, err := tx.conn.exec("INSERT INTO gauge VALUES (1, ?) ON CONFLICT DO UPDATE SET json = excluded.json", string(r.gauge))
		if err == nil && r.point != nil {
			err = tx.storePoint(r.point)
		}
		return nil, err
	}
	if refusal := tx.reduce(r.write.Events); refusal != nil {
		return refusal, nil
	}
	if r.write.Patch != nil || r.write.EvalLog != nil {
		if _, ok := tx.find(r.write.Key); !ok {
			return notMember(r.write.Key, tx.conn.run), nil
		}
	}
	if c := r.write.Chunk; c != nil {
		if _, ok := tx.find(c.Key); !ok {
			return notMember(c.Key, tx.conn.run), nil
		}
	}
	if r.write.Turn != nil {
		if refusal, err := tx.storeTurn(r); refusal != nil || err != nil {
			return refusal, err
		}
	}
	if r.write.Chunk != nil {
		if err := tx.storeChunk(r.write.Chunk, r.chunk); err != nil {
			return nil, err
		}
	}
	if err := tx.storeArtifacts(&r.write); err != nil {
		return nil, err
	}
	return nil, tx.storeEvents(r.write.Events)
}

// reduce applies the events to copies of their rows.
func (tx *transaction) reduce(events []Event) error {
	for i := range events {
		e := events[i]
		if !json.Valid(e.Data) {
			return fmt.Errorf("event %s of %s: payload is not JSON", e.Kind, e.Key)
		}
		if e.Time.IsZero() {
			return fmt.Errorf("event %s of %s has no time", e.Kind, e.Key)
		}
		if e.Key.IsZero() {
			continue // a fact of the run
		}
		tr, ok := tx.find(e.Key)
		e.Time = plain(e.Time)
		switch {
		case ok && e.Kind == KindForked:
			return fmt.Errorf("run %s has trajectory %s already", tx.conn.run, e.Key)
		case !ok && e.Kind == KindForked:
			var err error
			if tr, err = tx.add(e); err != nil {
				return err
			}
		case !ok:
			return notMember(e.Key, tx.conn.run)
		}
		t := tx.row(tr)
		if err := Apply(&t, e); err != nil {
			return err
		}
		tx.pending[tr] = t
	}
	return nil
}

// row of a trajectory with all that was stored before.
func (tx *transaction) row(tr int) Trajectory {
	if t, ok := tx.pending[tr]; ok {
		return t
	}
	if t, ok := tx.changed[tr]; ok {
		return t
	}
	return tx.rows[tr]
}

func (tx *transaction) storeEvents(events []Event) error {
	for i := range events {
		e := &events[i]
		tx.seq++
		e.Seq = tx.seq
		_, err := tx.conn.exec("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)",
			e.Seq, e.Time.UnixNano(), e.Key.Instance, e.Key.ID, string(e.Kind), string(e.Data))
		if err != nil {
			return err
		}
	}
	return nil
}

func (tx *transaction) storeRows() error {
	for tr, t := range tx.changed {
		row, err := json.Marshal(t)
		if err != nil {
			return fmt.Errorf("encode the row of %s: %w", t.Key, err)
		}
		if tr < len(tx.rows) {
			_, err = tx.conn.exec("UPDATE trajectory SET seq = ?, json = ? WHERE tr = ?", tx.seq, string(row), tr)
		} else {
			_, err = tx.conn.exec("INSERT INTO trajectory VALUES (?, ?, ?, ?, ?)", tr, t.Instance, t.ID, tx.seq, string(row))
		}
		if err != nil {
			return err
		}
	}
	if len(tx.added) == 0 {
		return nil
	}
	_, err := tx.conn.exec(fmt.Sprintf("PRAGMA user_version = %d", forkVersion))
	return err
}

func (tx *transaction) storeArtifacts(w *Write) error {
	tr, _ := tx.find(w.Key)
	const conflict = " VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET data = excluded.data"
	if w.Patch != nil {
		if _, err := tx.conn.exec("INSERT INTO patch"+conflict, tr, w.Attempt, w.Patch); err != nil {
			return err
		}
	}
	if w.EvalLog != nil {
		if _, err := tx.conn.exec("INSERT INTO evallog"+conflict, tr, w.Attempt, w.EvalLog); err != nil {
			return err
		}
	}
	return nil
}

// seriesPoints is how many points a series keeps at least, once it has them.
const seriesPoints = 2048

// storePoint of the series. Point n stays while n is a multiple of the stride,
// which doubles with the length of the series.
func (tx *transaction) storePoint(json []byte) error {
	n := tx.conn.points
	tx.conn.points++
	if n%stride(n) != 0 {
		return nil
	}
	if n > 0 && stride(n) != stride(n-1) {
		if _, err := tx.conn.exec("DELETE FROM series WHERE n % ? != 0", stride(n)); err != nil {
			return err
		}
	}
	_, err := tx.conn.exec("INSERT INTO series VALUES (?, ?)", n, string(json))
	return err
}

// stride between points that stay, when n have been offered.
func stride(n int64) int64 {
	s := int64(1)
	for n >= 2*seriesPoints*s {
		s *= 2
	}
	return s
}
