package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Bugs of real projects: in each form that people have them, the untouched
// repository fails, upstream's fix passes, and another change does not.
func TestRealInstances(t *testing.T) {
	t.Parallel()
	testImage(t)
	all := readReals(t)
	t.Cleanup(func() { removeImages(t, all) })
	if !t.Run("images", func(t *testing.T) {
		for _, r := range all {
			t.Run(r.ID, func(t *testing.T) { t.Parallel(); r.buildImage(t) })
		}
	}) {
		return
	}
	t.Run("rows", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "rows.jsonl")
		writeRows(t, file, rowsOf(t, all, true))
		soundInstances(t, all, file)
	})
	t.Run("harbor", func(t *testing.T) {
		dir := t.TempDir()
		for _, r := range all {
			r.writeHarbor(t, dir, baseOf(t, r))
		}
		soundInstances(t, all, dir)
	})
	t.Run("predictions", func(t *testing.T) { gradesReal(t, all) })
	t.Run("rollout", func(t *testing.T) { rollsOut(t, all) })
}

// In each form their format is found by itself, and nothing is warned of.
func TestRealInstancesAreRead(t *testing.T) {
	t.Parallel()
	s, all := newShop(t), readReals(t)
	for _, r := range all {
		r.base = strings.Repeat("a", 40) // no image is asked
	}
	rows, older, dir := filepath.Join(s.home, "rows.jsonl"), filepath.Join(s.home, "older.jsonl"), filepath.Join(s.home, "tasks")
	writeRows(t, rows, rowsOf(t, all, true))
	writeRows(t, older, rowsOf(t, all, false))
	for _, r := range all {
		r.writeHarbor(t, dir, "base:1")
	}
	for path, format := range map[string]string{rows: "swebench", older: "swebench", dir: "harbor"} {
		n := 0
		for d := json.NewDecoder(strings.NewReader(s.run("tasks", "--json", path))); ; n++ {
			var got listedTask
			if err := d.Decode(&got); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if got.Format != format || got.Workdir != "/testbed" || got.Builds != (format == "harbor") || !got.Reference || got.Local || got.Network || len(got.Warnings) != 0 ||
				format == "swebench" && got.Image != all[n].tag() || format == "harbor" && !strings.HasPrefix(got.Image, all[n].harborImage()+":") {
				t.Errorf("%s: %+v", path, got)
			}
		}
		if n != len(all) {
			t.Errorf("%s: %d of %d instances", path, n, len(all))
		}
	}
}

// rowsOf all instances, in the newest form or the older one.
func rowsOf(t *testing.T, all []*real, newest bool) (rows []map[string]string) {
	for _, r := range all {
		rows = append(rows, r.row(t, newest))
	}
	return rows
}

// soundInstances validates the tasks, and reads the report of each trial.
func soundInstances(t *testing.T, all []*real, tasks string) {
	t.Helper()
	s := newShop(t)
	file, sound := filepath.Join(s.home, "report.jsonl"), filepath.Join(s.home, "sound.txt")
	var sum validated
	if err := json.Unmarshal([]byte(s.run("validate", "--json", "--tasks", tasks, "--sandbox", "docker", "--report", file, "--sound", sound)), &sum); err != nil {
		t.Fatal(err)
	}
	if sum.Tasks != len(all) || sum.Sound != len(all) {
		t.Errorf("%+v", sum)
	}
	var trials []string
	lines := bufio.NewScanner(bytes.NewReader(readFile(t, file)))
	for lines.Scan() {
		var row trialRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s %s: %.1f s, %v %s", row.Instance, row.Kind, row.WallS, row.Parts, row.Note)
		want := 0.0
		if row.Kind == "reference" {
			want = 1
		}
		if row.Reward == nil || *row.Reward != want || !row.Sound || row.Flaky {
			t.Errorf("%s %s: %+v", row.Instance, row.Kind, row)
		}
		// Without the fix nothing else is broken, where that is told.
		if kept, told := row.Parts["pass_to_pass"]; told && (kept != 1 || row.Parts["fail_to_pass"] != want) {
			t.Errorf("%s %s: parts %v", row.Instance, row.Kind, row.Parts)
		}
		trials = append(trials, row.Instance+" "+string(row.Kind))
	}
	if n := len(slices.Compact(slices.Sorted(slices.Values(trials)))); n != 2*len(all) || len(trials) != n {
		t.Errorf("trials %v", trials)
	}
	if left := s.containers(); len(left) != 0 {
		t.Errorf("containers left: %v", left)
	}
}

// gradesReal grades upstream's fixes, and changes that fix nothing, by rows of the
// older form, which says neither image nor script.
func gradesReal(t *testing.T, all []*real) {
	s := newShop(t)
	rows := filepath.Join(s.home, "rows.jsonl")
	writeRows(t, rows, rowsOf(t, all, false))
	for model, patch := range map[string]func(*real) string{
		"upstream": func(r *real) string { return r.gold },
		"remark":   func(r *real) string { return r.remarked(t) },
	} {
		var predictions []prediction
		for _, r := range all {
			predictions = append(predictions, prediction{Instance: r.ID, Model: model, Patch: patch(r)})
		}
		file, report := filepath.Join(s.home, model+".jsonl"), filepath.Join(s.home, model+".json")
		writeRows(t, file, predictions)
		s.run("predictions", "grade", file, "--tasks", rows, "--report", report)
		var got struct {
			Summary   gradedSum
			Instances map[string]*graded
		}
		if err := json.Unmarshal(readFile(t, report), &got); err != nil {
			t.Fatal(err)
		}
		solved := model == "upstream"
		if sum := got.Summary; sum.Completed != len(all) || sum.Errors != 0 || (sum.Resolved == len(all)) != solved || (sum.Unresolved == len(all)) == solved {
			t.Errorf("%s: %+v", model, sum)
		}
		for _, r := range all {
			g := got.Instances[r.ID]
			if g == nil || !g.Exists || !g.Applied || g.Solved != solved || g.Infra || g.Tests == nil {
				t.Errorf("%s of %s: %+v", model, r.ID, g)
				continue
			}
			fixed, broken := g.Tests.FailToPass.Success, g.Tests.FailToPass.Failure
			if !solved {
				fixed, broken = broken, fixed
			}
			if !sameNames(fixed, r.FailToPass) || len(broken) != 0 || !sameNames(g.Tests.PassToPass.Success, r.PassToPass) || len(g.Tests.PassToPass.Failure) != 0 {
				t.Errorf("%s of %s: tests %+v", model, r.ID, g.Tests)
			}
		}
	}
}

func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
