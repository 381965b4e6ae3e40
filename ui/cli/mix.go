package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"rollbench/engine/task"
	"rollbench/sessions/stats"
)

// mixing are the flags of mix.
type mixing struct {
	shares    string
	size      int
	seed      uint64
	balance   string
	file      string
	overwrite bool
}

const defaultShares = "easy=25,medium=30,hard=30,impossible=15"

func (a *app) mixCommand() *cobra.Command {
	m := mixing{}
	c := &cobra.Command{
		Use:   "mix [RUN…]",
		Short: "Draw a training set with given shares of easy, medium, hard and impossible instances",
		Long: `Draw instances for training by how hard they were in the runs (default: the
newest; rollbench difficulty says what the levels are) and write their ids, as
"run --instances @FILE" takes them. The default shares are 25 % easy, 30 % medium,
30 % hard and 15 % impossible; perfect ones teach nothing while all their
trajectories have the same reward, so there are none of them.

Without --size the set is the largest in which every share can be filled, and an
error where a level with a share has no instance. With it, what a level lacks is
said, and is not made up for by others. --balance FIELD, a field of the tasks' rows,
draws as evenly as can be over its values; it needs --tasks. The same runs, flags and
--seed draw the same set.`,
		Example: `  rollbench mix latest -o train.txt
  rollbench mix r-1129-1842 r-1130-0901 --size 200 --seed 7 --tasks rows.jsonl --balance repo -o train.txt
  rollbench mix latest --shares medium=50,hard=50 -o train.txt
  rollbench run --tasks rows.jsonl --instances @train.txt`,
		ValidArgsFunction: completeMoreRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := rateRuns(cmd.Context(), args)
			if err != nil {
				return bad(err)
			}
			return a.mix(r, m, cmd.Flags().Changed("size"))
		},
	}
	f := c.Flags()
	f.StringVar(&m.shares, "shares", defaultShares, "percent of each level as `LEVEL=N` parted by commas, 100 together")
	f.IntVar(&m.size, "size", 0, "draw `N` instances")
	f.Uint64Var(&m.seed, "seed", 0, "draw by this `SEED`")
	f.StringVar(&m.balance, "balance", "", "draw evenly over the values of a `FIELD` of the tasks' rows, such as repo")
	f.StringVarP(&m.file, "output", "o", "-", "`FILE` to write, - for standard output")
	f.BoolVar(&m.overwrite, "overwrite", false, "replace FILE if it exists")
	f.StringVar(&a.flags.tasks, "tasks", "", "the dataset that has the field, a `PATH` as of run")
	f.StringVar(&a.flags.format, "format", "", "its `FORMAT`, where looking does not tell")
	f.StringVar(&a.flags.split, "split", "", "its `SPLIT`, where it has several")
	f.BoolVar(&a.flags.json, "json", false, "print one JSON object instead of the ids")
	offer(c, "format", task.Formats()...)
	complete(c, "split", a.completeSplit)
	var levels []string
	for _, l := range stats.Levels() {
		levels = append(levels, string(l)+"=")
	}
	offerList(c, "shares", levels...)
	return c
}

func parseShares(text string) (stats.Shares, error) {
	s, sum := stats.Shares{}, 0
	for part := range strings.SplitSeq(text, ",") {
		name, number, _ := strings.Cut(strings.TrimSpace(part), "=")
		l := stats.Level(name)
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n > 100 || !slices.Contains(stats.Levels(), l) {
			return nil, fmt.Errorf("--shares: %q is no LEVEL=N, with a level of %v and a whole percentage", part, stats.Levels())
		}
		if _, twice := s[l]; twice {
			return nil, fmt.Errorf("--shares: %s is there twice", l)
		}
		s[l] = n
		sum += n
	}
	if sum != 100 {
		return nil, fmt.Errorf("--shares %s: they add up to %d, and must to 100", text, sum)
	}
	return s, nil
}

// mixed is what --json prints.
type mixed struct {
	Runs   []string      `json:"runs"`
	Seed   uint64        `json:"seed"`
	Size   int           `json:"size"`   // drawn
	Wanted int           `json:"wanted"` // asked for
	Levels []stats.Drawn `json:"levels"`
}

func (a *app) mix(r ratedRuns, m mixing, sized bool) error {
	shares, err := parseShares(m.shares)
	if err != nil {
		return bad(err)
	}
	if sized && m.size < 1 {
		return bad(fmt.Errorf("--size is %d: it must be at least 1", m.size))
	}
	group, err := a.grouping(m.balance, r.rated)
	if err != nil {
		return bad(err)
	}
	by := stats.ByLevel(r.rated)
	limit := stats.Level("")
	if !sized {
		m.size, limit = shares.Fits(by)
	}
	if m.size == 0 {
		return bad(fmt.Errorf("no set has these shares: there is no %s instance in %s; --size N draws without and says what it lacks, or give --shares without %s", limit, r.title(), limit))
	}
	out := mixed{Runs: r.runs, Seed: m.seed, Wanted: m.size, Levels: shares.Mix(by, m.size, m.seed, group)}
	var parts, short []string
	for _, d := range out.Levels {
		out.Size += len(d.IDs)
		if d.Wanted > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", len(d.IDs), d.Level))
		}
		if lack := d.Wanted - len(d.IDs); lack > 0 {
			short = append(short, fmt.Sprintf("%d more %s (there are %d)", lack, d.Level, d.Have))
		}
	}
	if out.Size == 0 {
		return bad(fmt.Errorf("nothing can be drawn of %s: a set of %d lacks %s", r.title(), m.size, strings.Join(short, ", ")))
	}
	sum := fmt.Sprintf("%s of %s, seed %d: %s", count(out.Size, "instance"), r.title(), m.seed, strings.Join(parts, ", "))
	if len(short) > 0 {
		sum += "; could not be filled: " + strings.Join(short, ", ")
	}
	if limit != "" {
		sum += fmt.Sprintf("; a larger set would lack %s ones", limit)
	}
	return a.writeMix(out, m, word(sum))
}

// grouping is the value of a field by instance, nil for no field.
func (a *app) grouping(field string, rated []stats.Rated) (func(id string) string, error) {
	if field == "" {
		return nil, nil
	}
	if a.flags.tasks == "" {
		return nil, errors.New("--balance needs --tasks PATH: the field is in the tasks' rows")
	}
	c, err := a.load()
	if err != nil {
		return nil, err
	}
	a.flags.label = field
	value, has := map[string]string{}, false
	add := func(in *task.Instance) {
		label := in.Label
		if label == "" && field == "repo" { // of formats that have it under another name
			label = in.Repo
		}
		value[in.ID] = label
		has = has || label != ""
	}
	if _, _, err := a.readTasks(c, a.flags.tasks, add); err != nil {
		return nil, err
	}
	if !has {
		return nil, fmt.Errorf("--balance %s: no row of %s has such a field", field, a.flags.tasks)
	}
	for _, r := range rated {
		if _, there := value[r.Instance]; !there {
			return nil, fmt.Errorf("--tasks %s has no %q, which was run", a.flags.tasks, r.Instance)
		}
	}
	return func(id string) string { return value[id] }, nil
}

func (a *app) writeMix(out mixed, m mixing, sum string) (err error) {
	w := a.out
	if m.file != "-" {
		l, failed := newListing("-o", m.file, m.overwrite)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, l.Close()) }()
		l.n = out.Size
		w = l.file
	}
	if !a.flags.json || m.file != "-" {
		text := "# " + sum + "\n"
		for _, d := range out.Levels {
			if len(d.IDs) > 0 {
				text += "# " + string(d.Level) + "\n" + strings.Join(d.IDs, "\n") + "\n"
			}
		}
		if _, err := io.WriteString(w, text); err != nil {
			return &exit{1, err}
		}
	}
	switch {
	case a.flags.json:
		return json.NewEncoder(a.out).Encode(out)
	case m.file == "-":
		a.progress(sum)
		return nil
	}
	_, err = fmt.Fprintf(a.out, "%s: %s\n", m.file, sum)
	return err
}
