package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"rollbench/engine"
	"rollbench/engine/task"
)

// earlier trials are those of a report, by instance.
type earlier map[string][]trialRow

// readReport of a validation that was stopped. A last line that was cut is left out.
func readReport(path string) (earlier, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return earlier{}, nil
	}
	if err != nil {
		return nil, err
	}
	out := earlier{}
	lines := bytes.Split(data, []byte("\n"))
	for i, line := range lines[:len(lines)-1] {
		var row trialRow
		if err := json.Unmarshal(line, &row); err != nil || row.Instance == "" {
			return nil, fmt.Errorf("%s: line %d is no trial of a validation; --resume goes on with a report that validate wrote", path, i+1)
		}
		out[row.Instance] = append(out[row.Instance], row)
	}
	return out, nil
}

// finding of a task whose trials are all there, as often as they are wanted; nil else.
func (e earlier) finding(in *task.Instance, repeats int) *finding {
	f := &finding{in: in, repeats: repeats}
	rows := e[in.ID]
	if !in.HasReference() || len(rows) != len(f.trials()) {
		return nil
	}
	seen := map[string]bool{}
	for _, row := range rows {
		trial, name := engine.Trial{Instance: in, Kind: row.Kind, Repeat: row.Repeat}, fmt.Sprint(row.Kind, row.Repeat)
		if seen[name] || row.Repeat < 1 || row.Repeat > repeats || row.Kind != engine.Untouched && row.Kind != engine.Reference {
			return nil
		}
		seen[name] = true
		x := engine.Tried{Trial: trial}
		x.Verdict.Reward, x.Verdict.Parts, x.Verdict.Note, x.Verdict.Log = row.Reward, row.Parts, row.Note, []byte(row.Output)
		x.Wall = time.Duration(row.WallS * float64(time.Second))
		f.tried = append(f.tried, x)
	}
	return f
}

// resume takes over the tasks that are whole in the report. It and the list of sound
// tasks are left with those alone, and go on behind them.
func (v *validation) resume(report, sound string, instances []*task.Instance) error {
	if report == "" {
		return errors.New("--resume needs --report FILE, the report of the validation that it goes on with")
	}
	before, err := readReport(report)
	if err != nil {
		return err
	}
	var trials, ids bytes.Buffer
	v.before = map[string]*finding{}
	rows, good := 0, 0
	for _, in := range instances {
		f := before.finding(in, v.repeats)
		if f == nil {
			continue
		}
		v.before[in.ID] = f
		for _, row := range f.rows() {
			text, err := json.Marshal(row)
			if err != nil {
				return err
			}
			trials.Write(append(text, '\n'))
			rows++
		}
		if f.problem() == "" {
			ids.WriteString(in.ID + "\n")
			good++
		}
	}
	if v.report, err = goOn("--report", report, trials.Bytes(), rows); err != nil {
		return err
	}
	v.sound, err = goOn("--sound", sound, ids.Bytes(), good)
	return err
}

// goOn with a listing that holds n lines so far; nil for no path. Until they are
// written the old file stays.
func goOn(flag, path string, content []byte, n int) (*listing, error) {
	if path == "" {
		return nil, nil
	}
	path = filepath.Clean(path)
	next := path + ".next"
	err := os.WriteFile(next, content, 0o644)
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return &listing{file: f, n: n}, nil
}
