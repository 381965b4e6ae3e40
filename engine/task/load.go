package task

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"rollbench/engine/task/rows"
)

// Options of loading. The zero value is fine.
type Options struct {
	// BuildArgs are given to every Dockerfile build and are part of the image's tag.
	BuildArgs map[string]string
	// Getenv answers ${VAR} of task.toml; nil means os.LookupEnv.
	Getenv func(string) (string, bool)
	// Format names the format, see Formats; "" finds it by looking.
	Format string
	// Split chooses among the splits of a dataset, "" where there is one.
	Split string
	// ImagePrefix stands before image names that are made of an instance's id,
	// instead of what the family publishes them under.
	ImagePrefix string
	// Network is given to tasks whose format has no word about it.
	Network bool
	// Verifier names how answers are graded, whatever the row's data_source; "":
	// that decides.
	Verifier string
	// Verify says where tasks are graded that Harbor and terminal-bench grade in the
	// policy's own sandbox: VerifyShared, or "", or VerifyFresh.
	Verify string
	// Ask is the judge of answers that no rule can grade; nil: their rows are bad.
	Ask Asker
	// Label names a field of rows that is kept with the instance, "" for none.
	Label string
	// Each is given every instance instead of Load's caller, so that a large dataset
	// is never held as a whole.
	Each func(*Instance)
	// OnBad is told of each broken row or task, which is then left out; nil: the
	// first one is an error of Load.
	OnBad func(error)
}

func merge(opts []Options) Options {
	var o Options
	if len(opts) > 0 {
		o = opts[len(opts)-1]
	}
	if o.Getenv == nil {
		o.Getenv = os.LookupEnv
	}
	return o
}

// Load reads the instances at a path: a file of rows, a folder of such files, a
// task folder, a folder or registry of those. The format is found by looking,
// or is Options.Format.
func Load(path string, opts ...Options) ([]Instance, error) {
	o := merge(opts)
	ins, err := load(path, o)
	if err != nil {
		return nil, fmt.Errorf("load tasks %s: %w", path, err)
	}
	return ins, nil
}

func load(path string, o Options) ([]Instance, error) {
	if o.Format != "" && !slices.Contains(Formats(), o.Format) {
		return nil, fmt.Errorf("format %q is unknown: use one of %s", o.Format, strings.Join(Formats(), ", "))
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("no such file or folder; give rows as .jsonl, .json or .parquet, or a folder of tasks")
	case err != nil:
		return nil, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	to := &collection{options: o, seen: map[string]string{}}
	l, err := findLayout(abs, info.IsDir(), o.Format)
	if err == nil {
		err = l.load(abs, to)
	}
	if err != nil {
		return nil, err
	}
	if len(to.seen) == 0 {
		return nil, fmt.Errorf("none of its %d rows or tasks can be used", to.bad)
	}
	return to.ins, nil
}

// collection is what was loaded so far.
type collection struct {
	options Options
	ins     []Instance
	seen    map[string]string // origin by id
	bad     int
}

// add an instance, or what is wrong with the row or task at a place. An error
// ends loading.
func (c *collection) add(place string, in Instance, err error) error {
	if err == nil {
		err = c.checkID(&in)
	}
	switch {
	case err == nil:
		c.seen[in.ID] = in.Origin
		if c.options.Each != nil {
			c.options.Each(&in)
		} else {
			c.ins = append(c.ins, in)
		}
		return nil
	case place != "":
		err = fmt.Errorf("%s: %w", place, err)
	}
	if c.options.OnBad == nil {
		return err
	}
	c.bad++
	c.options.OnBad(err)
	return nil
}

// checkID refuses ids that repeat or that would break names made of them.
func (c *collection) checkID(in *Instance) error {
	bad := strings.IndexFunc(in.ID, func(r rune) bool {
		return r == '/' || r == '#' || unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
	if in.ID == "" || bad >= 0 {
		return fmt.Errorf("id %q may not be empty nor hold spaces, / or #; rename it", in.ID)
	}
	if first, twice := c.seen[in.ID]; twice {
		return fmt.Errorf("id %q is already used by %s; ids must be unique", in.ID, first)
	}
	return nil
}

// tables loads rows: the format of all is that of the first, unless it is named.
func tables(path string, to *collection) error {
	table, err := rows.Find(path, to.options.Split)
	if err != nil {
		return err
	}
	of, _ := formatNamed(to.options.Format)
	for row, err := range table.All() {
		var bad *rows.Bad
		switch {
		case errors.As(err, &bad):
			if err := to.add(bad.Place, Instance{}, bad.Err); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		if of.make == nil {
			if of, err = detect(row); err != nil {
				return fmt.Errorf("%s: %w", row.Place, err)
			}
		}
		in, err := of.make(row, &to.options)
		in.Format, in.Origin = of.name, row.Origin
		if field := to.options.Label; field != "" && err == nil && row.Given(field) {
			in.Label, err = row.Label(field)
		}
		if err := to.add(row.Place, in, err); err != nil {
			return err
		}
	}
	return nil
}
