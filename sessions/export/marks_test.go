package export

import (
	"bytes"
	"path/filepath"
	"testing"

	"rollbench/sessions"
)

// A person's mask: every format says the reason and trains no token of the
// trajectory, and its reward stays in its group's baseline. Two solved and
// unsolved members: the other one's advantage is still 1 − 0.
func TestMaskedByAPerson(t *testing.T) {
	for _, format := range Formats() {
		r := record(t, d0, d1)
		for _, k := range []sessions.Key{d0, d1} {
			r.turn(sessions.Turn{Key: k, Index: 1, PromptIDs: []int32{1}, OutputIDs: []int32{2, 3}, Logprobs: []float64{-1, -2}, Content: "yes",
				New: []sessions.Message{{Role: "user", Content: "?", Source: sessions.FromTask}}}, 0)
		}
		r.end(d0, sessions.Done, sessions.FinishTool, one(1))
		r.end(d1, sessions.Done, sessions.FinishTool, one(0))
		r.events(d1, sessions.Marks{Mask: true, Tags: []string{"odd"}, By: "operator"})
		path := filepath.Join(t.TempDir(), "f")
		sum, err := File(t.Context(), path, format, r.Store, Options{})
		if err != nil {
			t.Fatal(err)
		}
		report, err := Check(t.Context(), path, format)
		if err != nil || report.Total != 0 {
			t.Errorf("%s: %v, %+v", format, err, report)
		}
		if len(sum.Baselines) != 1 || len(sum.Baselines[0].IDs) != 2 || sum.Intervened != 0 || sum.Dropped != 0 {
			t.Errorf("%s: %+v", format, sum)
		}
		rows, _ := checkable(t, r, format, Options{})
		switch format {
		case "chat":
			if sum.LeftMasked != 1 || sum.Trajectories != 1 {
				t.Errorf("%s: %+v", format, sum)
			}
		case "verl-parquet": // Check has read it
		default:
			if n := bytes.Count(rows, []byte(`"mask_reason":"masked_by_person"`)); n != 1 {
				t.Errorf("%s says %d times that it is masked:\n%s", format, n, rows)
			}
		}
		if format != "chat" && (sum.Masks[sessions.MaskedByPerson] != 1 || sum.TrainTokens != 2) {
			t.Errorf("%s: %+v", format, sum)
		}
		r.events(d1, sessions.Marks{Drop: true, By: "operator"})
		if _, sum := r.rows(format, Options{IncludeIntervened: true}); sum.Dropped != 1 || len(sum.Baselines[0].IDs) != 1 {
			t.Errorf("%s, dropped: %+v", format, sum)
		}
	}
}
