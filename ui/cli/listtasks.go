package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rollbench/engine/task"
)

func (a *app) tasksCommand() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "tasks [PATH]",
		Short: "List the instances of a dataset, and what in it cannot be used",
		Long: `Read a dataset as run does, and list its instances: id, format, image, whether a
reference solution is known, and warnings. Nothing is run. Default: the bundled
tasks. docs/tasks.md has a table of all formats.`,
		Example: `  rollbench tasks ./SWE-bench_Verified --split test --limit 5
  rollbench tasks rows.jsonl --on-bad-row skip
  rollbench tasks ./tasks --json | jq -r 'select(.reference) | .id' > sound.txt
  rollbench run --tasks ./tasks --instances @sound.txt`,
		ValidArgsFunction: completePath,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return bad(fmt.Errorf("tasks takes one PATH, got %d; see %s --help", len(args), cmd.CommandPath()))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			source := "bundled"
			if len(args) > 0 {
				source = args[0]
			}
			return a.listTasks(source, asJSON)
		},
	}
	a.datasetFlags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "a JSON object a line, with all that is known of the instance")
	return c
}

// listedTask is an instance as --json prints it.
type listedTask struct {
	ID        string   `json:"id"`
	Format    string   `json:"format"`
	Origin    string   `json:"origin"`
	Repo      string   `json:"repo,omitempty"`
	Image     string   `json:"image"`
	Builds    bool     `json:"builds"` // the image is made of a Dockerfile
	Workdir   string   `json:"workdir"`
	Local     bool     `json:"local"` // may run in a local sandbox
	Network   bool     `json:"network"`
	Judges    string   `json:"judges"` // what the verifier looks at: patch, answer, place (the policy's sandbox), artifacts
	Reference bool     `json:"reference"`
	Verify    string   `json:"verify_limit"`
	Warnings  []string `json:"warnings"`
}

func (a *app) listTasks(source string, asJSON bool) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	a.flags.eachBad = true
	listed, err := a.outlines(c, source)
	if err != nil {
		return bad(err)
	}
	if asJSON {
		return a.printTasks(listed)
	}
	id, format := len("ID"), len("FORMAT")
	for _, t := range listed {
		id, format = max(id, len(t.ID)), max(format, len(t.Format))
	}
	fmt.Fprintf(a.out, "%-*s  %-*s  %-3s  %s\n", id, "ID", format, "FORMAT", "REF", "IMAGE")
	warned := map[string][]string{} // ids
	for _, t := range listed {
		reference := "yes"
		if !t.Reference {
			reference = "-"
		}
		fmt.Fprintf(plain{a.out}, "%-*s  %-*s  %-3s  %s\n", id, t.ID, format, t.Format, reference, t.imageWord())
		for _, w := range t.Warnings {
			warned[w] = append(warned[w], t.ID)
		}
	}
	for _, w := range slices.SortedFunc(maps.Keys(warned), func(a, b string) int { return cmp.Or(len(warned[b])-len(warned[a]), strings.Compare(a, b)) }) {
		fmt.Fprintf(plain{a.err}, "warning (%s): %s\n", whose(warned[w], len(listed)), word(w))
	}
	fmt.Fprintln(a.out, count(len(listed), "instance"))
	return nil
}

// whose a warning is: of all that are listed, or of how many, and the first of them.
func whose(ids []string, of int) string {
	switch {
	case len(ids) == of:
		return fmt.Sprintf("%d of %d", of, of)
	case len(ids) == 1:
		return fmt.Sprintf("1 of %d, %s", of, ids[0])
	}
	return fmt.Sprintf("%d of %d, the first %s", len(ids), of, ids[0])
}

// outlines of the instances that the flags name. Only what is listed of them is held.
func (a *app) outlines(c *config, source string) ([]listedTask, error) {
	if err := a.checkLimit(); err != nil {
		return nil, err
	}
	var all []listedTask
	add := func(in *task.Instance) { all = append(all, outline(in)) }
	if _, _, err := a.readTasks(c, source, add); err != nil {
		return nil, err
	}
	chosen, err := a.choose(len(all), func(i int) string { return all[i].ID })
	if err != nil {
		return nil, err
	}
	out := make([]listedTask, len(chosen))
	for i, at := range chosen {
		out[i] = all[at]
	}
	return out, nil
}

func outline(in *task.Instance) listedTask {
	return listedTask{ID: strings.Clone(in.ID), Format: in.Format, Origin: in.Origin, Repo: strings.Clone(in.Repo), Image: strings.Clone(in.Image), Builds: in.Build != nil,
		Workdir: in.Workdir, Local: in.LocalOK, Network: in.Network, Judges: string(in.Grading()), Reference: in.HasReference(),
		Verify: in.VerifyLimit.String(), Warnings: append([]string{}, in.Warnings...)}
}

func (t listedTask) imageWord() string {
	switch {
	case t.Builds:
		return t.Image + " (built)"
	case t.Image == "":
		return "none (local)"
	}
	return t.Image
}

func (a *app) printTasks(listed []listedTask) error {
	out := json.NewEncoder(a.out)
	out.SetEscapeHTML(false)
	var errs []error
	for _, t := range listed {
		errs = append(errs, out.Encode(t))
	}
	return errors.Join(errs...)
}
