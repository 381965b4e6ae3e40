package sessions

import (
	"context"
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
	tr, latest, err := v.member(ctx, key)
	if err != nil {
		return err
	}
	if attempt == 0 {
		attempt = latest
	}
	if to <= 0 {
		to = 1<<31 - 1
	}
	if !withIDs {
		return v.eachPlain(ctx, key, tr, attempt, from, to, fn)
	}
	var c chain
	if from > 1 { // prompts before from are needed to rebuild those after
		if c, _, err = loadChain(ctx, v.db, tr, attempt, place{from, 0}); err != nil {
			return v.fail("turns of "+key.String(), err)
		}
	}
	return v.eachWithIDs(ctx, key, tr, attempt, from, to, &c, fn)
}

func (v *view) eachPlain(ctx context.Context, key Key, tr, attempt, from, to int, fn func(Turn) error) error {
	rows, err := v.db.QueryContext(ctx, `SELECT superseded, body, texts FROM turn
		WHERE tr = ? AND attempt = ? AND idx BETWEEN ? AND ? ORDER BY idx, version`, tr, attempt, from-1, to)
	if err != nil {
		return v.fail("turns of "+key.String(), err)
	}
	defer rows.Close()
	past := echoes{}
	for rows.Next() {
		var body, packed []byte
		var superseded bool
		if err := rows.Scan(&superseded, &body, &packed); err != nil {
			return v.fail("turns of "+key.String(), err)
		}
		t, list, err := decodeTurn(body, packed)
		if err == nil && t.Index < from {
			past.remember(&t)
			continue
		}
		if err == nil {
			err = past.fill(&t, list)
		}
		if err != nil {
			return v.fail("turns of "+key.String(), err)
		}
		t.Superseded = superseded
		if err := fn(t); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return v.fail("turns of "+key.String(), err)
	}
	return nil
}

func (v *view) eachWithIDs(ctx context.Context, key Key, tr, attempt, from, to int, c *chain, fn func(Turn) error) error {
	rows, err := v.db.QueryContext(ctx, `SELECT superseded, body, texts, prompt, output, logprobs
		FROM turn LEFT JOIN tokens USING (turn)
		WHERE tr = ? AND attempt = ? AND idx BETWEEN ? AND ? ORDER BY idx, version`, tr, attempt, from-1, to)
	if err != nil {
		return v.fail("turns of "+key.String(), err)
	}
	defer rows.Close()
	past := echoes{}
	for rows.Next() {
		var body, packed, prompt, output, logprobs []byte
		var superseded bool
		if err := rows.Scan(&superseded, &body, &packed, &prompt, &output, &logprobs); err != nil {
			return v.fail("turns of "+key.String(), err)
		}
		t, list, err := decodeTurn(body, packed)
		if err == nil && t.Index < from {
			past.remember(&t)
			continue
		}
		if err == nil {
			err = past.fill(&t, list)
		}
		if err == nil {
			err = c.fill(&t, prompt, output, logprobs)
		}
		if err != nil {
			return v.fail("turns of "+key.String(), err)
		}
		t.Superseded = superseded
		if err := fn(t); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return v.fail("turns of "+key.String(), err)
	}
	return nil
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

// loadChain decodes the token arrays of the attempt's turns before the place.
func loadChain(ctx context.Context, q querier, tr, attempt int, before place) (c chain, last tail, err error) {
	rows, err := q.QueryContext(ctx, `SELECT idx, version, prompt, output FROM turn LEFT JOIN tokens USING (turn)
		WHERE tr = ? AND attempt = ? AND (idx, version) < (?, ?) ORDER BY idx, version`, tr, attempt, before.index, before.version)
	if err != nil {
		return c, last, err
	}
	defer rows.Close()
	for rows.Next() {
		var prompt, output []byte
		if err := rows.Scan(&last.index, &last.version, &prompt, &output); err != nil {
			return c, last, err
		}
		ids, err := decodeIDs(output)
		if err != nil {
			return c, last, err
		}
		whole, err := c.next(prompt, ids)
		if err != nil {
			return c, last, err
		}
		last.prompt = len(whole)
		if whole == nil {
			last.prompt = -1
		}
	}
	return c, last, rows.Err()
}
