package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rollbench/engine"
	"rollbench/engine/task"
)

// finding is what the trials of a task say about it.
type finding struct {
	in      *task.Instance
	repeats int
	tried   []engine.Tried
}

// trials of a task: each kind as often as asked, or none without a reference.
func (f *finding) trials() (out []engine.Trial) {
	if !f.in.HasReference() {
		return nil
	}
	for n := range f.repeats {
		for _, kind := range kinds {
			out = append(out, engine.Trial{Instance: f.in, Kind: kind, Repeat: n + 1})
		}
	}
	return out
}

var kinds = []engine.TrialKind{engine.Untouched, engine.Reference}

func (f *finding) whole() bool { return len(f.tried) == len(f.trials()) }

// ran lists what was tried of a kind, by repeat.
func (f *finding) ran(kind engine.TrialKind) (out []engine.Tried) {
	for _, x := range f.tried {
		if x.Kind == kind {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b engine.Tried) int { return cmp.Compare(a.Repeat, b.Repeat) })
	return out
}

// verdictOf a trial: what a repeat must find again.
type verdictOf string

const (
	passes verdictOf = "passes"
	fails  verdictOf = "fails"
	absent verdictOf = "no reward"
)

func verdictIn(x engine.Tried) verdictOf {
	switch {
	case x.Err != nil || x.Verdict.Reward == nil:
		return absent
	case *x.Verdict.Reward >= 1:
		return passes
	}
	return fails
}

// due are the verdicts of the trials of a sound task.
var due = map[engine.TrialKind]verdictOf{engine.Untouched: fails, engine.Reference: passes}

// tally of the verdicts of a kind, in the order of the constants.
func (f *finding) tally(kind engine.TrialKind) (counts map[verdictOf]int, text string) {
	counts = map[verdictOf]int{}
	ran := f.ran(kind)
	for _, x := range ran {
		counts[verdictIn(x)]++
	}
	var parts []string
	for _, v := range []verdictOf{passes, fails, absent} {
		if counts[v] > 0 {
			parts = append(parts, fmt.Sprintf("%s in %d", v, counts[v]))
		}
	}
	return counts, fmt.Sprintf("%s of %d", strings.Join(parts, ", "), len(ran))
}

// flaky kinds have verdicts that differ between repeats.
func (f *finding) flaky() (out []engine.TrialKind) {
	for _, kind := range kinds {
		if counts, _ := f.tally(kind); len(counts) > 1 {
			out = append(out, kind)
		}
	}
	return out
}

var objects = map[engine.TrialKind]string{engine.Untouched: "the untouched repository", engine.Reference: "the reference solution"}

func (f *finding) object(kind engine.TrialKind) string {
	if f.in.NeedsPatch() {
		return objects[kind]
	}
	return map[engine.TrialKind]string{engine.Untouched: "the empty answer", engine.Reference: "the right answer"}[kind]
}

// problem in a line, "" of a sound task.
func (f *finding) problem() string {
	if !f.in.HasReference() {
		return "it has no reference solution"
	}
	var all []string
	for _, kind := range kinds {
		counts, tally := f.tally(kind)
		want := due[kind]
		if counts[want] == len(f.ran(kind)) {
			continue
		}
		i := slices.IndexFunc(f.ran(kind), func(x engine.Tried) bool { return verdictIn(x) != want })
		first := f.ran(kind)[i]
		switch {
		case len(counts) > 1:
			all = append(all, fmt.Sprintf("flaky: %s %s (%s)", f.object(kind), tally, noteOf(first)))
		case counts[passes] > 0:
			all = append(all, f.object(kind)+" passes")
		case counts[absent] > 0:
			all = append(all, fmt.Sprintf("the verifier could not run on %s: %s", f.object(kind), noteOf(first)))
		default:
			all = append(all, fmt.Sprintf("%s fails (reward %g): %s", f.object(kind), *first.Verdict.Reward, noteOf(first)))
		}
	}
	if why := f.neverRan(); why != "" {
		return "the verifier could not run: " + why
	}
	return strings.Join(all, "; ")
}

// neverRan is what kept the verifier from running in every trial, where it is the same
// for both kinds; else "".
func (f *finding) neverRan() string {
	why := ""
	for _, kind := range kinds {
		ran := f.ran(kind)
		if counts, _ := f.tally(kind); len(ran) == 0 || counts[absent] < len(ran) || why != "" && why != noteOf(ran[0]) {
			return ""
		}
		why = noteOf(ran[0])
	}
	return why
}

func noteOf(x engine.Tried) string {
	if x.Err != nil {
		return oneLine(x.Err)
	}
	return oneLine(errors.New(strings.TrimPrefix(cmp.Or(x.Verdict.Note, "the verifier says no more"), "verifier could not run: ")))
}

// word for the task's line.
func (f *finding) word() string {
	switch {
	case len(f.flaky()) > 0:
		return "FLAKY"
	case f.problem() != "":
		return "UNSOUND"
	}
	return "sound"
}

// trialRow is a line of the report.
type trialRow struct {
	Instance string             `json:"instance_id"`
	Kind     engine.TrialKind   `json:"kind"`
	Repeat   int                `json:"repeat"`
	Reward   *float64           `json:"reward"` // null: the verifier could not run
	Parts    map[string]float64 `json:"parts,omitempty"`
	Note     string             `json:"note"`
	Output   string             `json:"output,omitempty"` // its end, of a trial that a sound task has not
	WallS    float64            `json:"wall_s"`
	Flaky    bool               `json:"flaky"` // verdicts of this kind differ between repeats
	Sound    bool               `json:"sound"` // the whole task
}

func (f *finding) rows() []trialRow {
	sound, flaky := f.whole() && f.problem() == "", f.flaky()
	if !f.in.HasReference() {
		return []trialRow{{Instance: f.in.ID, Kind: engine.Reference, Note: f.problem()}}
	}
	var out []trialRow
	for _, kind := range kinds {
		for _, x := range f.ran(kind) {
			row := trialRow{Instance: f.in.ID, Kind: kind, Repeat: x.Repeat, Reward: x.Verdict.Reward, Parts: x.Verdict.Parts, Note: x.Verdict.Note,
				WallS: x.Wall.Seconds(), Flaky: slices.Contains(flaky, kind), Sound: sound}
			if x.Err != nil {
				row.Note = oneLine(x.Err)
			}
			if verdictIn(x) != due[kind] {
				row.Output = endOf(x.Verdict.Log)
			}
			out = append(out, row)
		}
	}
	return out
}

// outputKept of a verifier, in bytes, is where a runner's summary of its failures is.
const outputKept = 4 << 10

// endOf an output as text.
func endOf(log []byte) string {
	return strings.ToValidUTF8(string(log[max(len(log)-outputKept, 0):]), "\uFFFD")
}
