package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"rollbench/sessions"
	"rollbench/sessions/compare"
)

func (a *app) compareCommand() *cobra.Command {
	var intervened bool
	c := &cobra.Command{
		Use:   "compare RUN RUN",
		Short: "Two runs against each other: pass@k, rewards, finish reasons, tool use, flips",
		Long: `Compare two runs over the instances both have: pass@k (estimated without bias),
rewards, turns, tokens, search calls and tool errors a trajectory, finish reasons,
and which instances are solved more or less often. How many settings of their
fingerprints differ stands above, a difference may be theirs; which, at the end.

A number is the mean over instances of what each instance's trajectories have on
average, ± its standard error; a difference is taken instance by instance, with the
interval that holds it with 95 % confidence. Rewards that are absent are not 0, they
are left out, as are trajectories that were dropped or changed by a person
(--intervened takes the latter in). Masked ones with a reward are in.`,
		Example: `  rollbench compare r-1129-1842 r-1130-0901
  rollbench compare r-1129-1842 latest --json | jq '.pass_at'`,
		Args:              twoRuns,
		ValidArgsFunction: completeTwoRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := compareRuns(cmd.Context(), args[0], args[1], intervened)
			if err != nil {
				return bad(err)
			}
			if a.flags.json {
				return json.NewEncoder(a.out).Encode(r)
			}
			_, err = io.WriteString(a.out, comparison(r))
			return err
		},
	}
	c.Flags().BoolVar(&a.flags.json, "json", false, "print one JSON object")
	c.Flags().BoolVar(&intervened, "intervened", false, "take trajectories in that a person changed")
	return c
}

func twoRuns(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return bad(fmt.Errorf("compare takes two runs, not %d; rollbench ls lists them", len(args)))
	}
	return nil
}

// completeTwoRuns offers the runs there are, for either place; none twice.
func completeTwoRuns(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	runs, how := completeRuns(cmd, nil, begun)
	return slices.DeleteFunc(runs, func(id string) bool { return slices.Contains(args, id) }), how
}

func compareRuns(ctx context.Context, first, second string, intervened bool) (r compare.Report, err error) {
	dir, err := home()
	if err != nil {
		return r, err
	}
	readers := make([]sessions.Reader, 2)
	for i, id := range []string{first, second} {
		if readers[i], err = sessions.OpenReader(ctx, dir, id); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, readers[i].Close()) }()
	}
	if id := readers[0].Run().ID; id == readers[1].Run().ID {
		return r, fmt.Errorf("%s and %s are the same run, %s; name another one", first, second, id)
	}
	a, b, err := compare.ReadSides(ctx, readers[0], readers[1], nil, nil)
	if err != nil {
		return r, err
	}
	return compare.Runs(a, b, intervened)
}

// recordedRuns are the runs that the workbench can compare its own with.
type recordedRuns struct{}

func (recordedRuns) List(ctx context.Context) ([]sessions.Summary, error) {
	dir, err := home()
	if err != nil {
		return nil, err
	}
	return sessions.List(ctx, dir)
}

func (recordedRuns) Open(ctx context.Context, id string) (sessions.Reader, error) {
	dir, err := home()
	if err != nil {
		return nil, err
	}
	return sessions.OpenReader(ctx, dir, id)
}

// comparison is the report as text, at most 80 columns wide where names allow.
func comparison(r compare.Report) string {
	var b strings.Builder
	for i, c := range []compare.Counted{r.A, r.B} {
		fmt.Fprintf(&b, "%c  %s  %s  %s%s\n", 'A'+i, c.Run, word(c.Title), word(c.Model), simulatedMark(c.Simulated))
	}
	fmt.Fprintf(&b, "instances in both: %d%s%s\n", len(r.Shared), onlyIn("A", r.OnlyA), onlyIn("B", r.OnlyB))
	if len(r.Shared) == 0 {
		b.WriteString("There is nothing to compare.\n")
		return b.String()
	}
	for i, c := range []compare.Counted{r.A, r.B} {
		fmt.Fprintf(&b, "%c  %d trajectories of them: %d count, %d with a reward", 'A'+i, c.Members, c.Ended, c.Rated)
		if out := c.LeftOut(); out != "" {
			b.WriteString(" (out: " + out + ")")
		}
		b.WriteString("\n")
	}
	b.WriteString(settingsDiffer(r))
	b.WriteString("\n" + measured("", "n", "A", "B", "B − A", "95 % interval of it"))
	for _, m := range r.Numbers() {
		b.WriteString(estimates(m.Name, m.A, m.B, m.Diff))
	}
	b.WriteString("± standard error over the n instances; * an interval without 0\n\n")
	fmt.Fprintf(&b, "%-26s%16s%16s\n", "FINISH REASON", "A", "B")
	for _, f := range r.Finish {
		reason := f.Reason
		if reason == "" {
			reason = "not recorded"
		}
		fmt.Fprintf(&b, "%-26s%16s%16s\n", word(reason), share(f.A, r.A.Ended), share(f.B, r.B.Ended))
	}
	printFlips(&b, r)
	printSettings(&b, r)
	return b.String()
}

// onlyIn names what one run alone has.
func onlyIn(side string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	shown := make([]string, 0, 3)
	for _, name := range names[:min(3, len(names))] {
		shown = append(shown, word(name))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("; only in %s: %s", side, text)
}

// tasksShown is how many tasks that differ the text names.
const tasksShown = 10

// settingsDiffer says before any number that a difference may be theirs.
func settingsDiffer(r compare.Report) string {
	switch n := len(r.Settings); {
	case len(r.Unknown) > 0:
		return "no fingerprint: what " + strings.Join(r.Unknown, " and ") + " was run with is not known\n"
	case n == 0:
		return "their fingerprints are the same\n"
	case n == 1:
		return "1 setting differs, see the end\n"
	default:
		return fmt.Sprintf("%d settings differ, see the end\n", n)
	}
}

func printSettings(b *strings.Builder, r compare.Report) {
	if len(r.Unknown) > 0 || len(r.Settings) == 0 {
		return
	}
	b.WriteString("\nTHEY DIFFER IN\n")
	tasks := 0
	for _, s := range r.Settings {
		if s.IsTask() {
			if tasks++; tasks > tasksShown {
				continue
			}
		}
		fmt.Fprintf(b, "  %-34s %-20s %s\n", cutWord(s.Key, 34), cutWord(orNone(s.A), 20), cutWord(orNone(s.B), 20))
	}
	if more := tasks - tasksShown; more > 0 {
		fmt.Fprintf(b, "  … and %d more tasks: --json lists them\n", more)
	}
}

func orNone(value string) string {
	if value == "" {
		return "–"
	}
	return value
}

// cutWord is a word of at most n characters.
func cutWord(text string, n int) string {
	runes := []rune(word(text))
	if len(runes) <= n {
		return string(runes)
	}
	return string(runes[:n-1]) + "…"
}

// measured is a row of the table of numbers. It pads by characters: all are one
// column wide.
func measured(name, n, a, b, diff, interval string) string {
	return fmt.Sprintf("%-14s%4s%15s%15s%10s%20s\n", name, n, a, b, diff, interval)
}

func estimates(name string, a, b, diff compare.Estimate) string {
	if diff.Mean == nil {
		return measured(name, "0", "–", "–", "–", "–")
	}
	return measured(name, strconv.Itoa(diff.N), a.Text(), b.Text(), compare.Signed(*diff.Mean), diff.Interval())
}

func share(n, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%d (%.0f %%)", n, 100*float64(n)/float64(of))
}

func printFlips(b *strings.Builder, r compare.Report) {
	more := 0
	for _, f := range r.Flips {
		if f.Change() > 0 {
			more++
		}
	}
	fmt.Fprintf(b, "\n%d of %d instances flip between never, sometimes and always solved", len(r.Flips), r.Rated)
	if len(r.Flips) > 0 {
		fmt.Fprintf(b, ":\n%d more often, %d less often", more, len(r.Flips)-more)
	}
	b.WriteString("\n")
	for _, f := range r.Flips {
		fmt.Fprintf(b, "  %-34s %9s %9s  %s → %s\n", cutWord(f.Instance, 34), score(f.A), score(f.B), f.A.Word(), f.B.Word())
	}
}

func score(s compare.Score) string { return fmt.Sprintf("%d of %d", s.Solved, s.Of) }
