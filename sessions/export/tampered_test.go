package export

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"rollbench/sessions"
)

// Signs of tampering: kept by default and counted; with mask no token trains and the
// baseline is as it was (rewards 1 and 0); with drop neither row nor place in the group.
func TestTampered(t *testing.T) {
	for _, c := range []struct {
		tampered               string
		written, masked, left  int
		trains, inBase, inMeta int
	}{
		{"", 2, 0, 0, 4, 2, 1},
		{"keep", 2, 0, 0, 4, 2, 1},
		{"mask", 2, 1, 0, 2, 2, 1},
		{"drop", 1, 0, 1, 2, 1, 0},
	} {
		r := record(t, d0, d1)
		for _, k := range []sessions.Key{d0, d1} {
			r.turn(sessions.Turn{Key: k, Index: 1, PromptIDs: []int32{1}, OutputIDs: []int32{2, 3}, Logprobs: []float64{-1, -2}, Content: "yes",
				New: []sessions.Message{{Role: "user", Content: "?", Source: sessions.FromTask}}}, 0)
		}
		signs := []sessions.Sign{{Kind: "tests", What: "changed tests/test_a.py"}}
		if err := r.Store.Commit(t.Context(), sessions.Write{Events: []sessions.Event{sessions.NewEvent(r.Store.Run().Created, d1, sessions.KindTampering, sessions.Tampering{Signs: signs})}}); err != nil {
			t.Fatal(err)
		}
		r.end(d0, sessions.Done, sessions.FinishTool, one(1))
		r.end(d1, sessions.Done, sessions.FinishTool, one(0))
		path := filepath.Join(t.TempDir(), "f")
		sum, err := File(t.Context(), path, "transitions", r.Store, Options{Tampered: c.tampered})
		if err != nil {
			t.Fatal(err)
		}
		if report, err := Check(t.Context(), path, ""); err != nil || report.Total != 0 {
			t.Errorf("%s: %v, %+v", c.tampered, err, report)
		}
		if sum.Trajectories != c.written || sum.Masked != c.masked || sum.Masks["tampering"] != c.masked || sum.LeftTampered != c.left || sum.TrainTokens != c.trains ||
			len(sum.Baselines[0].IDs) != c.inBase || sum.Tampered != c.inMeta || len(sum.Tampering) != c.inMeta {
			t.Errorf("%s: %+v", c.tampered, sum)
		}
		meta, err := os.ReadFile(metaOf(path))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(meta, []byte(`"what": "changed tests/test_a.py"`)); n != c.inMeta {
			t.Errorf("%s: the meta names %d:\n%s", c.tampered, n, meta)
		}
	}
	if _, err := (Options{Tampered: "off"}).normal("chat"); err == nil {
		t.Error("any word is taken")
	}
}
