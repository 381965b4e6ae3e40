package cli

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rollbench/engine"
	"rollbench/engine/task"
)

func (a *app) predictionsGradeCommand() *cobra.Command {
	var report string
	var overwrite, resume bool
	c := &cobra.Command{
		Use:   "grade FILE",
		Short: "Grade a file of predictions, without any model",
		Long: `Grade predictions, {instance_id, model_name_or_path, model_patch}: JSON lines, a
list, or an object by id. Each patch is verified in a fresh sandbox as a policy's
is, under the limits of [dispatcher] and [limits]. --instances and --limit choose
among the tasks; a prediction for a task that the data does not have is an error.

--report has for each instance the keys of the SWE-bench harness's report, and a
summary. It is written while the work goes on; ctrl+c stops it, and --resume goes on
with the same --report, also after a crash: a patch of which it has a verdict is not
graded again. Exit code 0 when everything was graded, whatever came of it; 1 when some
verifier could not run, or the work was stopped.`,
		Example: `  rollbench predictions grade predictions.jsonl --tasks rows.jsonl
  rollbench predictions grade predictions.json --tasks ./SWE-bench_Verified --split test --report report.json
  rollbench predictions grade predictions.jsonl --tasks rows.jsonl --json | jq .resolved_instances`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return bad(fmt.Errorf("grade takes one file of predictions, not %d; see rollbench predictions grade --help", len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			g := &gradingRun{app: a, entries: map[string]*graded{}}
			if err := g.read(args[0]); err != nil {
				return err
			}
			switch {
			case overwrite && resume:
				err = bad(errors.New("--overwrite and --resume: the report is either replaced or gone on with"))
			case resume:
				err = bad(g.resume(report))
			default:
				g.report, err = newListing("--report", report, overwrite)
			}
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, g.report.Close()) }()
			return g.run(cmd.Context())
		},
	}
	a.taskFlags(c)
	f := c.Flags()
	f.StringVar(&report, "report", "", "write the results as JSON to `FILE`")
	f.BoolVar(&resume, "resume", false, "go on with the report of a grading that was stopped")
	f.BoolVar(&overwrite, "overwrite", false, "replace FILE if it exists")
	f.BoolVar(&a.flags.json, "json", false, "print the summary as one JSON object; lines go to standard error")
	return c
}

// gradingRun grades predictions.
type gradingRun struct {
	app       *app
	config    *config
	instances []*task.Instance // that there is a prediction for
	wide      int              // columns of their ids
	without   int              // chosen instances that there is none for
	order     []string
	entries   map[string]*graded
	models    []string
	report    *listing
	shows     *counter
	before    map[string]bool // graded in the report that this grading goes on with
	began     time.Time
	saved     time.Time // the report, last
}

// graded is an instance of the report, with the harness's keys first.
type graded struct {
	None    bool         `json:"patch_is_None"`
	Exists  bool         `json:"patch_exists"`
	Applied bool         `json:"patch_successfully_applied"`
	Solved  bool         `json:"resolved"`
	Infra   bool         `json:"infra_failure"` // the verifier could not run
	Tests   *testsStatus `json:"tests_status,omitempty"`

	Status string             `json:"status"` // one of the words below
	Reward *float64           `json:"reward"`
	Parts  map[string]float64 `json:"parts,omitempty"`
	Note   string             `json:"note"`
	WallS  float64            `json:"wall_s"`
	Sum    string             `json:"patch_sha256"` // by which --resume knows the patch

	patch []byte
}

// What can become of a prediction.
const (
	resolved   = "resolved"
	unresolved = "unresolved"
	noPatch    = "no patch"
	noApply    = "does not apply"
	broke      = "error"
)

type testsStatus struct {
	FailToPass namedTests `json:"FAIL_TO_PASS"`
	PassToPass namedTests `json:"PASS_TO_PASS"`
}

type namedTests struct {
	Success []string `json:"success"`
	Failure []string `json:"failure"`
}

func namesOf(n task.Named) namedTests {
	return namedTests{Success: append([]string{}, n.Success...), Failure: append([]string{}, n.Failure...)}
}

// gradedSum has the names of the harness's run report where it has one.
type gradedSum struct {
	Models     []string `json:"models"`
	Total      int      `json:"total_instances"`     // chosen tasks
	Submitted  int      `json:"submitted_instances"` // with a prediction
	Completed  int      `json:"completed_instances"` // verified
	Resolved   int      `json:"resolved_instances"`
	Unresolved int      `json:"unresolved_instances"`
	Empty      int      `json:"empty_patch_instances"`
	NoApply    int      `json:"not_applied_instances"`
	Errors     int      `json:"error_instances"`
	Unfinished int      `json:"unfinished_instances"` // when it was stopped
	WallS      float64  `json:"wall_s"`
}

// read the predictions and the tasks, and see that they fit.
func (g *gradingRun) read(file string) (err error) {
	predictions, err := readPredictions(file)
	if err != nil {
		return bad(err)
	}
	if g.app.flags.tasks == "" {
		return bad(errors.New("--tasks PATH is missing: predictions name instances, the tasks say how they are graded"))
	}
	if g.config, err = g.app.load(); err != nil {
		return err
	}
	if err := g.app.checkLimit(); err != nil {
		return bad(err)
	}
	all, _, err := g.app.readTasks(g.config, g.app.flags.tasks, nil)
	if err != nil {
		return bad(err)
	}
	byID := map[string]bool{}
	for i := range all {
		byID[all[i].ID] = true
	}
	var unknown []string
	given := map[string]prediction{}
	for _, p := range predictions {
		given[p.Instance] = p
		if !byID[p.Instance] {
			unknown = append(unknown, p.Instance)
		}
	}
	if len(unknown) > 0 {
		return bad(fmt.Errorf("%s: the tasks have no %q (%d of %d predictions are for none of them)", file, unknown[0], len(unknown), len(predictions)))
	}
	chosen, err := g.app.choose(len(all), func(i int) string { return all[i].ID })
	if err != nil {
		return bad(err)
	}
	g.models = modelsOf(predictions)
	for _, at := range chosen {
		in := &all[at]
		p, there := given[in.ID]
		switch {
		case !there:
			g.without++
			continue
		case !in.NeedsPatch():
			return bad(fmt.Errorf("task %s is graded by an answer, and predictions hold patches: leave it out with --instances", in.ID))
		}
		g.instances = append(g.instances, in)
		g.order = append(g.order, in.ID)
		patch := patchIn(p)
		g.entries[in.ID] = &graded{patch: patch, Sum: fmt.Sprintf("%x", sha256.Sum256(patch))}
	}
	if len(g.instances) == 0 {
		return bad(fmt.Errorf("%s: it has no prediction for any of the %d chosen tasks", file, len(chosen)))
	}
	g.wide = widestID(g.instances)
	return nil
}

func (g *gradingRun) run(ctx context.Context) error {
	g.began = time.Now()
	g.saved = g.began
	g.shows = newCounter(g.app.err, 0)
	r := &trialRun{app: g.app, label: "predictions"}
	r.ended = func(x engine.Tried) error {
		g.shows = r.shows
		e := g.entries[x.Instance.ID]
		e.see(x)
		err := g.tell(x.Instance.ID, e)
		if err == nil && time.Since(g.saved) >= saveEvery {
			err = g.save()
		}
		return err
	}
	var trials []engine.Trial
	var graded []*task.Instance
	for _, in := range g.instances {
		e := g.entries[in.ID]
		if g.before[in.ID] {
			if err := g.tell(in.ID, e); err != nil {
				return err
			}
			continue
		}
		if len(e.patch) == 0 {
			e.None, e.Status = true, noPatch
			if err := g.tell(in.ID, e); err != nil {
				return err
			}
			continue
		}
		e.Exists = true
		graded = append(graded, in)
		trials = append(trials, engine.Trial{Instance: in, Kind: engine.Given, Repeat: 1, Patch: e.patch})
	}
	err := r.runTrials(ctx, g.config, graded, trials)
	if err != nil && ctx.Err() == nil {
		return err
	}
	return g.conclude()
}

// see what came of an entry's patch.
func (e *graded) see(x engine.Tried) {
	v := x.Verdict
	e.Reward, e.Parts, e.Note, e.WallS = v.Reward, v.Parts, oneLine(errors.New(v.Note)), x.Wall.Seconds()
	switch {
	case x.Err != nil:
		e.Status, e.Infra, e.Note = broke, true, oneLine(x.Err)
		return
	case v.NoApply:
		e.Status = noApply
		return
	case v.Reward == nil:
		e.Status, e.Infra = broke, true
		e.Applied = !v.Broken // a broken one may not have got so far
		return
	case *v.Reward >= 1:
		e.Status, e.Solved = resolved, true
	default:
		e.Status = unresolved
	}
	e.Applied = true
	if v.Tests != nil {
		e.Tests = &testsStatus{namesOf(v.Tests.FailToPass), namesOf(v.Tests.PassToPass)}
	}
}

// shares of tests by name, "" without.
func (e *graded) shares() string {
	if e.Tests == nil {
		return ""
	}
	share := func(n namedTests) string {
		return fmt.Sprintf("%d/%d", len(n.Success), len(n.Success)+len(n.Failure))
	}
	return fmt.Sprintf("FAIL_TO_PASS %s  PASS_TO_PASS %s", share(e.Tests.FailToPass), share(e.Tests.PassToPass))
}

func (g *gradingRun) tell(id string, e *graded) error {
	what := e.shares()
	if what == "" {
		what = e.Note
	}
	return g.shows.print(g.lines(), strings.TrimRight(fmt.Sprintf("%-14s  %-*s  %s", e.Status, g.wide, id, what), " "))
}

// lines go beside standard output where that is one JSON object.
func (g *gradingRun) lines() io.Writer {
	if g.app.flags.json {
		return g.app.err
	}
	return g.app.out
}

func (g *gradingRun) sum(wall time.Duration) gradedSum {
	s := gradedSum{Models: append([]string{}, g.models...), Total: len(g.order) + g.without, Submitted: len(g.order), WallS: wall.Seconds()}
	for _, e := range g.entries {
		switch e.Status {
		case resolved:
			s.Resolved++
		case unresolved:
			s.Unresolved++
		case noPatch:
			s.Empty++
		case noApply:
			s.NoApply++
		case broke:
			s.Errors++
		default:
			s.Unfinished++
		}
	}
	s.Completed = s.Resolved + s.Unresolved
	return s
}

func (g *gradingRun) conclude() error {
	s := g.sum(time.Since(g.began))
	if err := g.save(); err != nil {
		return &exit{1, err}
	}
	if g.app.flags.json {
		if err := json.NewEncoder(g.app.out).Encode(s); err != nil {
			return err
		}
	} else if err := g.shows.print(g.app.out, s.String()); err != nil {
		return err
	}
	switch {
	case s.Unfinished > 0:
		if g.report != nil {
			g.app.progress("the same command with --resume goes on from here")
		}
		return &exit{1, fmt.Errorf("stopped: %d of %d predictions were graded", s.Submitted-s.Unfinished, s.Submitted)}
	case s.Errors > 0:
		return &exit{1, fmt.Errorf("%d of %d predictions could not be graded", s.Errors, s.Submitted)}
	}
	return nil
}

func (s gradedSum) String() string {
	parts := []string{fmt.Sprintf("%d of %d predictions are resolved", s.Resolved, s.Submitted)}
	for _, c := range []struct {
		n    int
		what string
	}{{s.Unresolved, "unresolved"}, {s.Empty, noPatch}, {s.NoApply, "do not apply"}, {s.Errors, broke}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if n := s.Total - s.Submitted; n > 0 {
		parts = append(parts, fmt.Sprintf("%s without a prediction", count(n, "task")))
	}
	return strings.Join(parts, ", ")
}
