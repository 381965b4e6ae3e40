package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// gradedReport is the file of --report.
type gradedReport struct {
	Summary   gradedSum          `json:"summary"`
	Instances map[string]*graded `json:"instances"`
}

// saveEvery is how long what was graded is in no file. Each time the whole report is
// written.
const saveEvery = 10 * time.Second

// save the report of what was graded so far. Until it is written the old one stays.
func (g *gradingRun) save() error {
	if g.report == nil {
		return nil
	}
	whole := gradedReport{g.sum(time.Since(g.began)), map[string]*graded{}}
	for id, e := range g.entries {
		if e.Status != "" {
			whole.Instances[id] = e
		}
	}
	text, err := json.Marshal(whole)
	if err != nil {
		return err
	}
	path := g.report.file.Name()
	if err := os.WriteFile(path+".next", append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	if err := os.Rename(path+".next", path); err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	g.report.n = 1
	g.saved = time.Now()
	return nil
}

// resume takes the verdicts over that a report has of the same patches. What could not
// be graded is tried again.
func (g *gradingRun) resume(path string) error {
	if path == "" {
		return errors.New("--resume needs --report FILE, the report of the grading that it goes on with")
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		g.report, err = newListing("--report", path, false)
		return err
	}
	if err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	var old gradedReport
	if err := json.Unmarshal(data, &old); err != nil || old.Instances == nil {
		return fmt.Errorf("%s is no report of a grading; --resume goes on with one that predictions grade wrote", path)
	}
	g.before = map[string]bool{}
	for id, e := range old.Instances {
		if now := g.entries[id]; now != nil && e != nil && e.Sum == now.Sum && e.Status != "" && e.Status != broke {
			g.entries[id], g.before[id] = e, true
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	g.report = &listing{file: f, n: 1}
	return nil
}
