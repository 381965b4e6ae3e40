package sessions

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// What a tool returned stands in the observation of one turn and in a message
// of the next. It is stored once: the message echoes the observation, by its
// place. Which it does is found by the content, as the turn is stored.

// minEcho is the shortest text that is worth it, in bytes.
const minEcho = 128

type textSum [sha256.Size]byte

// part is the content of new message number message, at texts[from:to].
type part struct {
	message  int
	from, to int
	sum      textSum
}

// echo says that new message Message has the text of an observation of the turn
// before: of its reply with that version.
type echo struct {
	Message     int `json:"message"`
	Version     int `json:"version"`
	Observation int `json:"observation"`
}

// seen is the observations of the turn stored last that has some.
type seen struct {
	place
	sums []textSum
}

func sumsOf(list []Observation) []textSum {
	sums := make([]textSum, len(list))
	for i := range list {
		sums[i] = sha256.Sum256([]byte(list[i].Text))
	}
	return sums
}

// echoing is the row's body and texts without what the turn before holds.
func (r *turnRow) echoing(index int, last seen) (body, texts []byte, err error) {
	var found []echo
	if last.index == index-1 {
		at := 0
		for _, p := range r.parts {
			if i := slices.Index(last.sums, p.sum); i >= 0 {
				found = append(found, echo{p.message, last.version, i})
				texts = binary.AppendUvarint(append(texts, r.texts[at:p.from]...), 0)
				at = p.to
			}
		}
		texts = append(texts, r.texts[at:]...)
	}
	if found == nil {
		return r.body, r.texts, nil
	}
	list, err := json.Marshal(found)
	body = append(bytes.TrimSuffix(slices.Clone(r.body), []byte("}")), `,"echo":`...)
	return append(append(body, list...), '}'), texts, err
}

// echoes fills in messages from the observations read just before.
type echoes map[place][]Observation

// fill the turn that was read with those echoes, and remember it for the next.
func (e echoes) fill(t *Turn, list []echo) error {
	for _, x := range list {
		from := e[place{t.Index - 1, x.Version}]
		if x.Message < 0 || x.Message >= len(t.New) || x.Observation < 0 || x.Observation >= len(from) {
			return fmt.Errorf("turn %d refers to an observation that is not there: its texts are damaged", t.Index)
		}
		t.New[x.Message].Content = from[x.Observation].Text
	}
	for p := range e {
		if p.index < t.Index-1 {
			delete(e, p)
		}
	}
	e.remember(t)
	return nil
}

// remember the observations of a turn, which the next may echo.
func (e echoes) remember(t *Turn) {
	if len(t.Observations) > 0 {
		e[place{t.Index, t.Version}] = t.Observations
	}
}

// sameObservations refuses to change what later turns may echo.
func (tx *transaction) sameObservations(tr int, t *Turn) (refusal, err error) {
	var body, packed []byte
	err = tx.conn.conn.QueryRowContext(context.Background(), "SELECT body, texts FROM turn WHERE tr = ? AND attempt = ? AND idx = ? AND version = ?",
		tr, t.Attempt, t.Index, t.Version).Scan(&body, &packed)
	if err != nil {
		return nil, err
	}
	old, _, err := decodeTurn(body, packed)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(sumsOf(old.Observations), sumsOf(t.Observations)) {
		return fmt.Errorf("turn %d.%d of %s has other observations than stored; once a turn follows they cannot change", t.Index, t.Version, t.Key), nil
	}
	return nil, nil
}

var errTexts = errors.New("its texts are damaged")
