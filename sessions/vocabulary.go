package sessions

import (
	"context"
	"encoding/json"
	"slices"
)

// vocabularyTable holds the text of each id that was sampled and came with its
// text. Ids mean the same in all of a run, so each stands here once.
const vocabularyTable = "CREATE TABLE IF NOT EXISTS vocabulary (id INTEGER PRIMARY KEY, text BLOB NOT NULL);\n"

// cutsFit says that the cuts part the text, one piece for each output id.
func (t *Turn) cutsFit() bool {
	n := len(t.Cuts)
	return n > 0 && n == len(t.OutputIDs) && t.Cuts[0] >= 0 && slices.IsSorted(t.Cuts) && int(t.Cuts[n-1]) == len(t.Raw)
}

// storeVocabulary adds what the turn says of ids that were not known yet.
func (tx *transaction) storeVocabulary(t *Turn) error {
	if !t.cutsFit() {
		return nil
	}
	from := int32(0)
	for i, id := range t.OutputIDs {
		text := t.Raw[from:t.Cuts[i]]
		from = t.Cuts[i]
		if text == "" || tx.conn.known[id] {
			continue
		}
		if _, err := tx.conn.exec("INSERT INTO vocabulary VALUES (?, ?) ON CONFLICT DO NOTHING", id, []byte(text)); err != nil {
			return err
		}
		tx.conn.known[id] = true
	}
	return nil
}

// Spell gives the texts of those ids that the run knows: of tokens that were
// sampled and came with their text. A token may be a part of a character.
func (v *view) Spell(ctx context.Context, ids []int32) (map[int32]string, error) {
	if there, err := v.has(ctx, "vocabulary"); err != nil || !there || len(ids) == 0 {
		return nil, err
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, v.fail("the texts of tokens", err)
	}
	rows, err := v.db.QueryContext(ctx, "SELECT id, text FROM vocabulary WHERE id IN (SELECT value FROM json_each(?))", string(list))
	if err != nil {
		return nil, v.fail("the texts of tokens", err)
	}
	defer rows.Close()
	texts := map[int32]string{}
	for rows.Next() {
		var id int32
		var text []byte
		if err := rows.Scan(&id, &text); err != nil {
			return nil, v.fail("the texts of tokens", err)
		}
		texts[id] = string(text)
	}
	if err := rows.Err(); err != nil {
		return nil, v.fail("the texts of tokens", err)
	}
	return texts, nil
}
