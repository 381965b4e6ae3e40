package cli

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rollbench/engine"
	"rollbench/engine/task"
)

// datasetFlags choose among the instances of a dataset.
func (a *app) datasetFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&a.flags.format, "format", "", "the dataset's `FORMAT`, where looking does not tell (sets tasks.format): "+strings.Join(task.Formats(), ", "))
	f.StringVar(&a.flags.split, "split", "", "the `SPLIT` of a dataset with several (sets tasks.split)")
	f.StringVar(&a.flags.onBadRow, "on-bad-row", "", "error, or skip rows that cannot be used (sets tasks.on_bad_row)")
	f.StringSliceVar(&a.flags.instances, "instances", nil, "only instances whose id matches one of these `GLOB`s; @FILE reads them from a file, one a line")
	f.Int64Var(&a.flags.shuffle, "shuffle", 0, "draw the instances in an order made of this `SEED`")
	f.IntVar(&a.flags.limit, "limit", 0, "only the first `N` instances, once they are shuffled")
	offer(c, "format", task.Formats()...)
	offer(c, "on-bad-row", engine.OnBadRows()...)
	complete(c, "split", a.completeSplit)
	complete(c, "instances", a.completeInstances)
	before := c.PreRunE
	c.PreRunE = func(cmd *cobra.Command, args []string) error {
		a.flags.shuffled = cmd.Flags().Changed("shuffle")
		if before != nil {
			return before(cmd, args)
		}
		return nil
	}
}

// loadTasks reads the instances that the flags name.
func (a *app) loadTasks(c *config, source string) ([]*task.Instance, string, error) {
	if err := a.checkLimit(); err != nil {
		return nil, "", bad(err)
	}
	all, title, err := a.readTasks(c, source, nil)
	if err != nil {
		return nil, "", bad(err)
	}
	chosen, err := a.choose(len(all), func(i int) string { return all[i].ID })
	if err != nil {
		return nil, "", bad(err)
	}
	out := make([]*task.Instance, len(chosen))
	for i, at := range chosen {
		out[i] = &all[at]
	}
	return out, title, nil
}

// tellSkipped says what rows are left out: the first and how many, or where the listing
// is what was asked for, each of them.
func (a *app) tellSkipped(skipped []error, of int) {
	if len(skipped) == 0 {
		return
	}
	what := fmt.Sprintf("%d of %d rows or tasks are skipped", len(skipped), of)
	switch {
	case a.flags.eachBad:
		for _, err := range skipped {
			a.progress("skipped: " + oneLine(err))
		}
	case len(skipped) > 1:
		what += ` (rollbench tasks PATH --on-bad-row skip lists them), the first: ` + oneLine(skipped[0])
	default:
		what += ": " + oneLine(skipped[0])
	}
	a.progress(what)
}

func (a *app) checkLimit() error {
	if a.flags.limit < 0 {
		return fmt.Errorf("--limit is %d: it must not be negative", a.flags.limit)
	}
	return nil
}

// readTasks reads all instances of a source. Where each is not nil it is given them
// instead, those of a dataset one by one as they are read.
func (a *app) readTasks(c *config, source string, each func(*task.Instance)) (all []task.Instance, title string, err error) {
	opt := task.Options{BuildArgs: c.Sandbox.BuildArgs, Format: c.Tasks.Format, Split: c.Tasks.Split, ImagePrefix: c.Tasks.ImagePrefix, Network: c.Tasks.Network, Verifier: c.Tasks.Verifier, Verify: c.Tasks.Verify, Label: a.flags.label, Each: each}
	if opt.Ask, err = c.judge(); err != nil {
		return nil, "", err
	}
	read := 0
	if each != nil {
		opt.Each = func(in *task.Instance) { read++; each(in) }
	}
	var skipped []error
	if c.Tasks.OnBadRow == "skip" {
		opt.OnBad = func(err error) { skipped = append(skipped, err) }
	}
	switch source {
	case "":
		all, err = task.Default(hasProgram, opt)
		title = "bundled"
	case "bundled":
		all, err = task.Bundled(opt)
		title = "bundled"
	default:
		all, err = task.Load(source, opt)
		title = filepath.Base(source)
	}
	a.tellSkipped(skipped, len(skipped)+len(all)+read)
	if each == nil || err != nil {
		return all, title, err
	}
	for i := range all { // the bundled ones
		each(&all[i])
	}
	return nil, title, nil
}

// choose by id, then shuffle, then cut: the places of those that are left.
func (a *app) choose(n int, id func(int) string) ([]int, error) {
	globs, err := readGlobs(a.flags.instances)
	if err != nil {
		return nil, err
	}
	var out []int
	for i := range n {
		keep, err := globs.match(id(i))
		if err != nil {
			return nil, err
		}
		if keep {
			out = append(out, i)
		}
	}
	if unknown := globs.unmatched(); len(unknown) > 0 {
		return nil, fmt.Errorf("--instances: the dataset has no %s (%d of %d ids are not in it)", unknown[0], len(unknown), len(globs.exact))
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no instance is left: --instances %v matches none of %d", a.flags.instances, n)
	}
	if a.flags.shuffled {
		lots := map[int]string{}
		for _, i := range out {
			lots[i] = lot(a.flags.shuffle, id(i))
		}
		slices.SortFunc(out, func(i, j int) int { return cmp.Or(strings.Compare(lots[i], lots[j]), cmp.Compare(i, j)) })
	}
	if a.flags.limit > 0 && a.flags.limit < len(out) {
		out = out[:a.flags.limit]
	}
	return out, nil
}

// lot that an id draws: it depends on the seed and the id alone, so that a dataset in
// another order, or with more rows, is shuffled alike.
func lot(seed int64, id string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", seed, id))
	return string(sum[:])
}

// globs are patterns of ids. Those without a wildcard are looked up, and must be
// there: a file may list thousands.
type globs struct {
	given    bool
	exact    map[string]bool // whether it was found
	patterns []string
}

// readGlobs takes patterns, and files of them as @FILE: one a line, # begins a
// remark.
func readGlobs(given []string) (*globs, error) {
	g := &globs{given: len(given) > 0, exact: map[string]bool{}}
	for _, one := range given {
		file, isFile := strings.CutPrefix(one, "@")
		if !isFile {
			g.add(one)
			continue
		}
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("--instances @%s: %w", file, err)
		}
		defer f.Close()
		lines, before := bufio.NewScanner(f), len(g.exact)+len(g.patterns)
		for lines.Scan() {
			text, _, _ := strings.Cut(lines.Text(), "#")
			if text = strings.TrimSpace(text); text != "" {
				g.add(text)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("--instances @%s: %w", file, err)
		}
		if len(g.exact)+len(g.patterns) == before {
			return nil, fmt.Errorf("--instances @%s: the file lists no id", file)
		}
	}
	return g, nil
}

func (g *globs) add(text string) {
	if strings.ContainsAny(text, `*?[\`) {
		g.patterns = append(g.patterns, text)
		return
	}
	g.exact[text] = false
}

func (g *globs) match(id string) (bool, error) {
	if _, ok := g.exact[id]; ok {
		g.exact[id] = true
		return true, nil
	}
	for _, p := range g.patterns {
		if p == id { // ids may hold what patterns are made of
			return true, nil
		}
		ok, err := path.Match(p, id)
		if err != nil {
			return false, fmt.Errorf("--instances %s: %w", p, err)
		}
		if ok {
			return true, nil
		}
	}
	return !g.given, nil
}

// unmatched are the ids that no instance has, sorted.
func (g *globs) unmatched() []string {
	var out []string
	for id, found := range g.exact {
		if !found {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

func hasProgram(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}
