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
	instances, _, err := a.loadTasks(c, source)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printTasks(instances)
	}
	id, format := len("ID"), len("FORMAT")
	for _, in := range instances {
		id, format = max(id, len(in.ID)), max(format, len(in.Format))
	}
	fmt.Fprintf(a.out, "%-*s  %-*s  %-3s  %s\n", id, "ID", format, "FORMAT", "REF", "IMAGE")
	counts := map[string]int{}
	for _, in := range instances {
		reference := "yes"
		if !in.HasReference() {
			reference = "-"
		}
		fmt.Fprintf(plain{a.out}, "%-*s  %-*s  %-3s  %s\n", id, in.ID, format, in.Format, reference, imageWord(in))
		for _, w := range in.Warnings {
			counts[w]++
		}
	}
	for _, w := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) }) {
		fmt.Fprintf(plain{a.err}, "warning (%d of %d): %s\n", counts[w], len(instances), word(w))
	}
	fmt.Fprintf(a.out, "%d instances\n", len(instances))
	return nil
}

func imageWord(in *task.Instance) string {
	switch {
	case in.Build != nil:
		return in.Image + " (built)"
	case in.Image == "":
		return "none (local)"
	}
	return in.Image
}

func (a *app) printTasks(instances []*task.Instance) error {
	out := json.NewEncoder(a.out)
	out.SetEscapeHTML(false)
	var errs []error
	for _, in := range instances {
		errs = append(errs, out.Encode(listedTask{ID: in.ID, Format: in.Format, Origin: in.Origin, Repo: in.Repo, Image: in.Image, Builds: in.Build != nil,
			Workdir: in.Workdir, Local: in.LocalOK, Network: in.Network, Judges: string(in.Grading()), Reference: in.HasReference(),
			Verify: in.VerifyLimit.String(), Warnings: append([]string{}, in.Warnings...)}))
	}
	return errors.Join(errs...)
}
