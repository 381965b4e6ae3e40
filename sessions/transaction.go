package sessions

import (
	"encoding/json"
	"fmt"
)

// transaction stores one group of writes. Everything that can be refused is
// checked before the first row of a write is touched, so a refused write
// leaves nothing and the others go on.
type transaction struct {
	conn    *writeConn
	rows    []Trajectory       // as committed
	changed map[int]Trajectory // rows this transaction changes
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

// store puts one request into the transaction.
func (tx *transaction) store(r *request) (refusal, err error) {
	if err := r.ctx.Err(); err != nil {
		return err, nil
	}
	if r.gauge != nil {
		_, err := tx.conn.exec("INSERT INTO gauge VALUES (1, ?) ON CONFLICT DO UPDATE SET json = excluded.json", string(r.gauge))
		if err == nil && r.point != nil {
			err = tx.storePoint(r.point)
		}
		return nil, err
	}
	rows, refusal := tx.reduce(r.write.Events)
	if refusal != nil {
		return refusal, nil
	}
	if r.write.Patch != nil || r.write.EvalLog != nil {
		if _, ok := tx.conn.byKey[r.write.Key]; !ok {
			return notMember(r.write.Key, tx.conn.run), nil
		}
	}
	if c := r.write.Chunk; c != nil {
		if _, ok := tx.conn.byKey[c.Key]; !ok {
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
	if err := tx.storeEvents(r.write.Events); err != nil {
		return nil, err
	}
	for tr, t := range rows {
		tx.changed[tr] = t
	}
	return nil, nil
}

// reduce applies the events to copies of their rows.
func (tx *transaction) reduce(events []Event) (map[int]Trajectory, error) {
	rows := map[int]Trajectory{}
	for i := range events {
		e := events[i]
		if !json.Valid(e.Data) {
			return nil, fmt.Errorf("event %s of %s: payload is not JSON", e.Kind, e.Key)
		}
		if e.Time.IsZero() {
			return nil, fmt.Errorf("event %s of %s has no time", e.Kind, e.Key)
		}
		if e.Key.IsZero() {
			continue // a fact of the run
		}
		tr, ok := tx.conn.byKey[e.Key]
		if !ok {
			return nil, notMember(e.Key, tx.conn.run)
		}
		t, ok := rows[tr]
		if !ok {
			t = tx.row(tr)
		}
		e.Time = plain(e.Time)
		if err := Apply(&t, e); err != nil {
			return nil, err
		}
		rows[tr] = t
	}
	return rows, nil
}

func (tx *transaction) row(tr int) Trajectory {
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
		if _, err := tx.conn.exec("UPDATE trajectory SET seq = ?, json = ? WHERE tr = ?", tx.seq, string(row), tr); err != nil {
			return err
		}
	}
	return nil
}

func (tx *transaction) storeArtifacts(w *Write) error {
	tr := tx.conn.byKey[w.Key]
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
