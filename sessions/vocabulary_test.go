package sessions

import (
	"maps"
	"testing"
)

// Ids are spelled as the turns that sampled them said; the first text of an id
// stays, half a character is kept as its bytes, and what no turn had is absent.
func TestSpell(t *testing.T) {
	home := t.TempDir()
	s := newStore(t, home, "r-1", keyA0, keyA1)
	turn := func(key Key, index int, raw string, ids, cuts []int32) {
		commit(t, s, Write{Turn: &Turn{Key: key, Attempt: 1, Index: index, Version: 1, Raw: raw, OutputIDs: ids, Cuts: cuts}})
	}
	turn(keyA0, 1, "rm \xe6\xbc\xa2", []int32{7, 8, 9, 10}, []int32{2, 3, 5, 6}) // 漢 in two tokens
	turn(keyA0, 2, "", nil, nil)
	turn(keyA1, 1, "ls rm", []int32{11, 7, 12}, []int32{2, 5, 5}) // 7 has a text; 12 is empty here
	turn(keyA1, 2, "abc", []int32{13, 14}, []int32{1, 2})         // the text goes on behind the last id
	turn(keyA1, 3, "abc", []int32{13, 14, 15}, []int32{2, 1, 3})  // not in order
	turn(keyA1, 4, "abc", []int32{13, 14}, []int32{3})            // not one each
	want := map[int32]string{7: "rm", 8: " ", 9: "\xe6\xbc", 10: "\xa2", 11: "ls"}
	r, err := OpenReader(t.Context(), home, "r-1")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for name, reader := range map[string]Reader{"store": s, "reader": r} {
		got, err := reader.Spell(t.Context(), []int32{7, 8, 9, 10, 11, 12, 13, 14, 15, 7, -1})
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
		if got, err := reader.Spell(t.Context(), nil); err != nil || len(got) != 0 {
			t.Errorf("%s: no ids: %q, %v", name, got, err)
		}
	}
}

// A file of an earlier version has no vocabulary, and gets one when it is
// written again.
func TestSpellWithoutVocabulary(t *testing.T) {
	home := t.TempDir()
	s := newStore(t, home, "r-1", keyA0)
	if _, err := s.db.ExecContext(t.Context(), "PRAGMA query_only = 0; DROP TABLE vocabulary"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Spell(t.Context(), []int32{7}); err != nil || got != nil {
		t.Errorf("without a table: %q, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(t.Context(), home, "r-1")
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	commit(t, again, Write{Turn: &Turn{Key: keyA0, Attempt: 1, Index: 1, Version: 1, Raw: "a", OutputIDs: []int32{7}, Cuts: []int32{1}}})
	if got, err := again.Spell(t.Context(), []int32{7}); err != nil || got[7] != "a" {
		t.Errorf("written again: %q, %v", got, err)
	}
}
