package sessions

import (
	"context"
	"database/sql"
)

// Turns of the trajectory's attempt (0: the latest) with from ≤ Index ≤ to
// (to 0: all), ordered by Index and Version. Token arrays of different turns
// share memory: callers read them and change nothing.
func (v *view) Turns(ctx context.Context, key Key, attempt, from, to int, withIDs bool) ([]Turn, error) {
	var turns []Turn
	err := v.each(ctx, key, attempt, from, to, withIDs, func(t Turn) error {
		turns = append(turns, t)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return turns, nil
}

// EachTurn streams the turns of the trajectory's attempt (0: the latest) with
// their token arrays, in order. An error of fn ends it and is returned.
func (v *view) EachTurn(ctx context.Context, key Key, attempt int, fn func(Turn) error) error {
	return v.each(ctx, key, attempt, 0, 0, true, fn)
}

func (v *view) each(ctx context.Context, key Key, attempt, from, to int, withIDs bool, fn func(Turn) error) error {
	_, row, err := v.row(ctx, key)
	if err != nil {
		return err
	}
	if attempt == 0 {
		attempt = row.Attempt
	}
	if to <= 0 {
		to = 1<<31 - 1
	}
	parts, err := v.lineage(ctx, key, attempt)
	if err != nil {
		return err
	}
	w := &walk{view: v, past: echoes{}, from: from, use: func(t *Turn) error {
		t.Key, t.Attempt = key, attempt
		if row.Fork != nil && t.Index < row.Fork.Turn && t.Origin == nil { // its own copy
			parent := row.Fork.ParentOf(key)
			t.Origin = &parent
		}
		return fn(*t)
	}}
	if withIDs {
		w.chain = &chain{}
		if from > 1 { // prompts before from are needed to rebuild those after
			if *w.chain, _, err = loadChain(ctx, v.db, parts, place{from, 0}); err != nil {
				return v.fail("turns of "+key.String(), err)
			}
		}
	}
	for _, s := range clip(parts, from-1, to) { // the turn before from is what from may echo
		if err := w.segment(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// walk reads turns in order, across the segments of a lineage.
type walk struct {
	*view
	past  echoes
	chain *chain // nil: without token arrays
	from  int    // first turn that is wanted
	use   func(*Turn) error
}

func (w *walk) segment(ctx context.Context, s segment) error {
	query := `SELECT superseded, body, texts, NULL, NULL, NULL FROM turn WHERE tr = ? AND attempt = ? AND idx BETWEEN ? AND ? ORDER BY idx, version`
	if w.chain != nil {
		query = `SELECT superseded, body, texts, prompt, output, logprobs FROM turn LEFT JOIN tokens USING (turn)
			WHERE tr = ? AND attempt = ? AND idx BETWEEN ? AND ? ORDER BY idx, version`
	}
	rows, err := w.db.QueryContext(ctx, query, s.tr, s.attempt, s.from, s.to)
	if err != nil {
		return w.fail("turns of "+s.key.String(), err)
	}
	defer rows.Close()
	for rows.Next() {
		t, err := w.scan(rows)
		if err != nil {
			return w.fail("turns of "+s.key.String(), err)
		}
		if t.Index < w.from || s.foreign && t.Superseded { // what the parent replaced is its own affair
			continue
		}
		if s.foreign {
			t.Origin = &s.key
		}
		if err := w.use(&t); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return w.fail("turns of "+s.key.String(), err)
	}
	return nil
}

// scan one turn; of one before those wanted only what the next may echo.
func (w *walk) scan(rows *sql.Rows) (Turn, error) {
	var body, packed, prompt, output, logprobs []byte
	var superseded bool
	if err := rows.Scan(&superseded, &body, &packed, &prompt, &output, &logprobs); err != nil {
		return Turn{}, err
	}
	t, list, err := decodeTurn(body, packed)
	if err != nil {
		return t, err
	}
	t.Superseded = superseded
	if t.Index < w.from {
		w.past.remember(&t)
		return t, nil
	}
	if err := w.past.fill(&t, list); err != nil || w.chain == nil {
		return t, err
	}
	return t, w.chain.fill(&t, prompt, output, logprobs)
}

// fill decodes the token arrays of the turn that follows in the chain.
func (c *chain) fill(t *Turn, prompt, output, logprobs []byte) (err error) {
	if t.OutputIDs, err = decodeIDs(output); err != nil {
		return err
	}
	if t.Logprobs, err = decodeLogprobs(logprobs); err != nil {
		return err
	}
	t.PromptIDs, err = c.next(prompt, t.OutputIDs)
	return err
}

// place of a turn within an attempt.
type place struct{ index, version int }

func (p place) before(q place) bool {
	return p.index < q.index || p.index == q.index && p.version < q.version
}

// tail is the last of some turns: where it is and how long its prompt was
// (−1 when the endpoint reported none).
type tail struct {
	place
	prompt int
}

// loadChain decodes the token arrays of the turns before the place.
func loadChain(ctx context.Context, q querier, parts []segment, before place) (c chain, last tail, err error) {
	for _, s := range clip(parts, 0, before.index) {
		if err := c.load(ctx, q, s, before, &last); err != nil {
			return c, last, err
		}
	}
	return c, last, nil
}

func (c *chain) load(ctx context.Context, q querier, s segment, before place, last *tail) error {
	rows, err := q.QueryContext(ctx, `SELECT idx, version, prompt, output FROM turn LEFT JOIN tokens USING (turn)
		WHERE tr = ? AND attempt = ? AND idx BETWEEN ? AND ? AND (idx, version) < (?, ?) ORDER BY idx, version`,
		s.tr, s.attempt, s.from, s.to, before.index, before.version)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var prompt, output []byte
		if err := rows.Scan(&last.index, &last.version, &prompt, &output); err != nil {
			return err
		}
		ids, err := decodeIDs(output)
		if err != nil {
			return err
		}
		whole, err := c.next(prompt, ids)
		if err != nil {
			return err
		}
		last.prompt = len(whole)
		if whole == nil {
			last.prompt = -1
		}
	}
	return rows.Err()
}
