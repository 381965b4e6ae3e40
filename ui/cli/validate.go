package cli

import (
	"context"
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

func (a *app) validateCommand() *cobra.Command {
	v := &validation{app: a, repeats: 1}
	var report, sound string
	var overwrite, resume bool
	c := &cobra.Command{
		Use:   "validate",
		Short: "Run the verifiers on the untouched repository (must fail) and on the reference solution (must pass)",
		Long: `Run the verifier of each task without any model: on the untouched repository,
where it must find a failure, and on the reference solution, which must pass; of
a question the empty answer must fail and the right one pass. Each --repeats
times: a task whose verdicts differ between repeats is flaky, and not sound.

It works under the limits of [dispatcher] and [limits], as a run does. --report
has a line for each trial, with the end of what the verifier printed where it did
not find what it must, --sound the ids of the sound tasks, as "run --instances @FILE"
takes them; both are written while the work goes on, and are not left where they
would be empty. ctrl+c stops it and says what was done; --resume goes on with the
same --report, also after a crash: tasks of which it has all trials are not run
again. Exit code 1 when a task is not sound.`,
		Example: `  rollbench validate
  rollbench validate --tasks ./my-task --sandbox docker
  rollbench validate --tasks rows.jsonl --repeats 3 --report trials.jsonl --sound sound.txt
  rollbench validate --tasks rows.jsonl --repeats 3 --report trials.jsonl --sound sound.txt --resume
  rollbench run --tasks rows.jsonl --instances @sound.txt
  rollbench validate --tasks rows.jsonl --set dispatcher.max_eval_parallel_agents=8`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if v.repeats < 1 {
				return bad(fmt.Errorf("--repeats is %d: it must be at least 1", v.repeats))
			}
			config, instances, err := a.trialTasks()
			if err != nil {
				return err
			}
			if report != "" && report == sound {
				return bad(fmt.Errorf("--report and --sound are both %s: name two files", report))
			}
			if overwrite && resume {
				return bad(errors.New("--overwrite and --resume: the report is either replaced or gone on with"))
			}
			var files closers
			defer func() { err = errors.Join(err, files.Close()) }()
			if resume {
				err = bad(v.resume(report, sound, instances))
			} else if v.report, err = newListing("--report", report, overwrite); err == nil {
				v.sound, err = newListing("--sound", sound, overwrite)
			}
			files.add(v.report)
			files.add(v.sound)
			if err != nil {
				return err
			}
			v.soundFile = sound
			return v.run(cmd.Context(), config, instances)
		},
	}
	a.taskFlags(c)
	f := c.Flags()
	f.IntVar(&v.repeats, "repeats", v.repeats, "run each verifier `N` times")
	f.StringVar(&report, "report", "", "write a line of JSON for each trial to `FILE`")
	f.StringVar(&sound, "sound", "", "write the ids of the sound tasks to `FILE`, one a line")
	f.BoolVar(&resume, "resume", false, "go on with the report of a validation that was stopped")
	f.BoolVar(&overwrite, "overwrite", false, "replace FILE if it exists")
	f.BoolVar(&a.flags.json, "json", false, "print one JSON object; lines go to standard error")
	return c
}

// trialTasks reads the tasks of a command that runs verifiers only.
func (a *app) trialTasks() (*config, []*task.Instance, error) {
	c, err := a.load()
	if err != nil {
		return nil, nil, err
	}
	source := a.flags.tasks
	if source == "" {
		source = "bundled"
	}
	instances, _, err := a.loadTasks(c, source)
	return c, instances, err
}

// validation of a set of tasks.
type validation struct {
	app           *app
	repeats       int
	report, sound *listing
	soundFile     string
	before        map[string]*finding // of a validation that this one goes on with

	findings map[string]*finding
	wide     int // columns of ids
	done     validated
	shows    *counter
}

// validated is what --json prints.
type validated struct {
	Tasks       int       `json:"tasks"`
	Sound       int       `json:"sound"`
	Unsound     int       `json:"unsound"` // flaky ones among them
	Flaky       int       `json:"flaky"`
	NotFinished int       `json:"not_finished"` // when it was interrupted
	Repeats     int       `json:"repeats"`
	WallS       float64   `json:"wall_s"`
	Problems    []problem `json:"problems"`
}

type problem struct {
	Instance string `json:"instance_id"`
	Flaky    bool   `json:"flaky"`
	Problem  string `json:"problem"`
}

func (v *validation) run(ctx context.Context, c *config, instances []*task.Instance) error {
	began := time.Now()
	v.findings, v.wide, v.done = map[string]*finding{}, widestID(instances), validated{Tasks: len(instances), Repeats: v.repeats, Problems: []problem{}}
	r := &trialRun{app: v.app, label: "validate"}
	v.shows = newCounter(v.app.err, 0)
	r.ended = func(x engine.Tried) error {
		v.shows = r.shows
		f := v.findings[x.Instance.ID]
		f.tried = append(f.tried, x)
		if !f.whole() {
			return nil
		}
		return v.tell(f)
	}
	var trials []engine.Trial
	var checked []*task.Instance
	for _, in := range instances {
		f := v.before[in.ID]
		if f != nil {
			v.findings[in.ID] = f
			if err := v.count(f); err != nil {
				return err
			}
			continue
		}
		f = &finding{in: in, repeats: v.repeats}
		v.findings[in.ID] = f
		if !in.HasReference() {
			if err := v.tell(f); err != nil {
				return err
			}
			continue
		}
		trials = append(trials, f.trials()...)
		checked = append(checked, in)
	}
	err := r.runTrials(ctx, c, checked, trials)
	v.done.WallS = time.Since(began).Seconds()
	if err != nil && ctx.Err() == nil {
		return err
	}
	return v.conclude(instances)
}

// tell of a task whose trials are over, and keep them.
func (v *validation) tell(f *finding) error {
	if f.problem() == "" {
		if err := v.sound.line(f.in.ID); err != nil {
			return err
		}
	}
	for _, row := range f.rows() {
		if err := v.report.json(row); err != nil {
			return err
		}
	}
	return v.count(f)
}

// count a task, and print its line.
func (v *validation) count(f *finding) error {
	word := f.word()
	if what := f.problem(); what == "" {
		v.done.Sound++
	} else {
		v.done.Unsound++
		if word == "FLAKY" {
			v.done.Flaky++
		}
		v.done.Problems = append(v.done.Problems, problem{Instance: f.in.ID, Flaky: word == "FLAKY", Problem: what})
	}
	return v.shows.print(v.lines(), strings.TrimRight(fmt.Sprintf("%-8s %-*s %s", word, v.wide, f.in.ID, f.problem()), " "))
}

// lines go beside standard output where that is one JSON object.
func (v *validation) lines() io.Writer {
	if v.app.flags.json {
		return v.app.err
	}
	return v.app.out
}

// conclude reports what trials there are of tasks that were not finished, and sums up.
func (v *validation) conclude(instances []*task.Instance) error {
	for _, in := range instances {
		f := v.findings[in.ID]
		if f.whole() {
			continue
		}
		v.done.NotFinished++
		for _, row := range f.rows() {
			if err := v.report.json(row); err != nil {
				return err
			}
		}
	}
	sum := fmt.Sprintf("%d of %d tasks are sound", v.done.Sound, v.done.Tasks)
	if v.done.Flaky > 0 {
		sum += fmt.Sprintf(", %d flaky", v.done.Flaky)
	}
	if v.done.NotFinished > 0 {
		sum += fmt.Sprintf(", %d not finished", v.done.NotFinished)
	}
	if v.app.flags.json {
		if err := json.NewEncoder(v.app.out).Encode(v.done); err != nil {
			return err
		}
	} else if _, err := fmt.Fprintln(v.app.out, sum); err != nil {
		return err
	}
	v.next()
	switch {
	case v.done.NotFinished > 0:
		return &exit{1, fmt.Errorf("stopped: %d of %d tasks were checked, %d of them sound", v.done.Tasks-v.done.NotFinished, v.done.Tasks, v.done.Sound)}
	case v.done.Unsound > 0:
		return &exit{1, fmt.Errorf("%d of %d tasks are not sound", v.done.Unsound, v.done.Tasks)}
	}
	return nil
}

// next says what to do with the outcome.
func (v *validation) next() {
	source := v.app.flags.dataset()
	switch {
	case v.done.Sound == 0 || v.done.Sound == v.done.Tasks:
	case v.soundFile != "":
		v.app.progress("run the sound ones: rollbench run" + source + " --instances @" + shellWord(v.soundFile))
	default:
		v.app.progress("--sound FILE keeps the ids of the sound ones, for rollbench run" + source + " --instances @FILE")
	}
	if v.done.Unsound > 0 && v.report == nil {
		v.app.progress("--report FILE keeps the end of what a verifier printed that went wrong, as output")
	}
	if v.done.NotFinished > 0 && v.report != nil {
		v.app.progress("the same command with --resume goes on from here")
	}
}

// dataset is how the same tasks are named to another command.
func (f *flags) dataset() (text string) {
	add := func(flag, value string) {
		if value != "" {
			text += " " + flag + " " + shellWord(value)
		}
	}
	add("--tasks", f.tasks)
	add("--format", f.format)
	add("--split", f.split)
	add("--on-bad-row", f.onBadRow)
	add("--config", f.config)
	for _, set := range f.set {
		add("--set", set)
	}
	return text
}

// shellWord is a text as one word of a shell.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r > 127 || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./@:=,+-", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
