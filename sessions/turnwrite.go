package sessions

import (
	"context"
	"fmt"
)

// storeTurn inserts a turn, or replaces what may change of one that is there
// (its observations, its being complete or superseded). Token ids are facts of
// the endpoint and never change.
func (tx *transaction) storeTurn(r *request) (refusal, err error) {
	t := r.write.Turn
	tr, ok := tx.find(t.Key)
	if !ok {
		return notMember(t.Key, tx.conn.run), nil
	}
	open, err := tx.chainOf(tr, t)
	if err != nil {
		return nil, err
	}
	fresh := open.last.before(place{t.Index, t.Version})
	if !fresh {
		if refusal, err := tx.sameTokens(tr, r, open); refusal != nil || err != nil {
			return refusal, err
		}
		if t.Index < open.last.index {
			if refusal, err := tx.sameObservations(tr, t); refusal != nil || err != nil {
				return refusal, err
			}
		}
	}
	if r.write.Supersede != 0 {
		if refusal, err := tx.supersede(tr, &r.write); refusal != nil || err != nil {
			return refusal, err
		}
	}
	body, texts, err := r.turn.echoing(t.Index, open.seen)
	if err != nil {
		return nil, err
	}
	if len(t.Observations) > 0 {
		open.seen = seen{place{t.Index, t.Version}, r.turn.sums}
	}
	keep := "max(superseded, excluded.superseded)" // a late second commit does not bring a turn back
	if r.write.Supersede != 0 {
		keep = "excluded.superseded" // taking the place of another does
	}
	done, err := tx.conn.exec(`INSERT INTO turn (tr, attempt, idx, version, superseded, body, texts) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET superseded = `+keep+`, body = excluded.body, texts = excluded.texts`,
		tr, t.Attempt, t.Index, t.Version, t.Superseded, string(body), texts)
	if err != nil || !fresh {
		return nil, err
	}
	row, err := done.LastInsertId()
	if err != nil {
		return nil, err
	}
	return nil, tx.storeTokens(row, r, open)
}

// storeTokens adds a new turn's token arrays, lets the sequence grow by them, and
// keeps the texts of its ids.
func (tx *transaction) storeTokens(row int64, r *request, open *openChain) error {
	t := r.write.Turn
	prompt := encodePrompt(open.seq, t.PromptIDs)
	if _, err := tx.conn.exec("INSERT INTO tokens VALUES (?, ?, ?, ?)", row, prompt, r.turn.output, r.turn.logprobs); err != nil {
		return err
	}
	open.last = tail{place{t.Index, t.Version}, len(t.PromptIDs)}
	if t.PromptIDs == nil {
		open.last.prompt = -1
	}
	if _, err := open.next(prompt, t.OutputIDs); err != nil {
		return err
	}
	return tx.storeVocabulary(t)
}

func (tx *transaction) supersede(tr int, w *Write) (refusal, err error) {
	t := w.Turn
	done, err := tx.conn.exec("UPDATE turn SET superseded = 1 WHERE tr = ? AND attempt = ? AND idx = ? AND version = ?", tr, t.Attempt, t.Index, w.Supersede)
	if err != nil {
		return nil, err
	}
	n, err := done.RowsAffected()
	if err == nil && n == 0 {
		refusal = fmt.Errorf("turn %d of %s has no version %d to supersede", t.Index, t.Key, w.Supersede)
	}
	return refusal, err
}

// sameTokens refuses a stored turn's second commit if its token arrays differ
// from the first. One without any keeps those that are stored.
func (tx *transaction) sameTokens(tr int, r *request, open *openChain) (refusal, err error) {
	t := r.write.Turn
	at := place{t.Index, t.Version}
	var count, same int
	err = tx.conn.conn.QueryRowContext(context.Background(), `SELECT count(*), coalesce(sum(output IS ? AND logprobs IS ?), 0)
		FROM turn LEFT JOIN tokens USING (turn) WHERE tr = ? AND attempt = ? AND idx = ? AND version = ?`,
		r.turn.output, r.turn.logprobs, tr, t.Attempt, t.Index, t.Version).Scan(&count, &same)
	switch {
	case err != nil:
		return nil, err
	case count == 0:
		return fmt.Errorf("turn %d.%d of %s comes after turn %d.%d; turns are stored in order", t.Index, t.Version, t.Key, open.last.index, open.last.version), nil
	case t.PromptIDs == nil && t.OutputIDs == nil && t.Logprobs == nil:
		return nil, nil
	}
	seq, last := open.seq, open.last
	if last.place != at {
		c, l, err := tx.chainBefore(t, place{t.Index, t.Version + 1})
		if err != nil {
			return nil, err
		}
		seq, last = c.seq, l
	}
	if same == 1 && samePrompt(seq, last, t.PromptIDs) {
		return nil, nil
	}
	return fmt.Errorf("turn %d.%d of %s is stored with other token ids or logprobs; they cannot change", t.Index, t.Version, t.Key), nil
}

// samePrompt reports whether the sequence's last prompt is this one.
func samePrompt(seq []int32, last tail, prompt []int32) bool {
	if last.prompt < 0 || prompt == nil {
		return last.prompt < 0 && prompt == nil
	}
	return last.prompt == len(prompt) && commonPrefix(seq, prompt) == len(prompt)
}
