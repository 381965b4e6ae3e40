package rows

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Table is the files of one split, read one after the other.
type Table struct {
	Files []string // absolute
	// Split keeps only the rows whose column "split" says so, "" all of them.
	Split string
}

// extensions of files that hold rows.
var extensions = []string{".parquet", ".jsonl", ".json"}

// Find the table at a path: a file, or the files of a folder or of the folder
// data in it, as datasets are laid out. split chooses among several.
func Find(path, split string) (Table, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Table{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return Table{}, err
	}
	if !info.IsDir() {
		return Table{Files: []string{path}, Split: rowSplit(path, split)}, nil
	}
	files, err := filesOf(path)
	if err != nil {
		return Table{}, err
	}
	if len(files) == 0 {
		return Table{}, ErrNoTable
	}
	return choose(files, split)
}

// filesOf a folder that hold rows. Documents only where there is nothing else: clones
// hold some that are no rows.
func filesOf(folder string) (files []string, err error) {
	for _, ext := range extensions {
		for _, dir := range []string{folder, filepath.Join(folder, "data")} {
			found, err := filepath.Glob(filepath.Join(escape(dir), "*"+ext))
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
		}
		if ext != ".parquet" && len(files) > 0 {
			break
		}
	}
	return files, nil
}

// Splits that the names of a folder's files say, sorted; none where they say nothing.
func Splits(folder string) []string {
	files, err := filesOf(folder)
	if err != nil {
		return nil
	}
	_, names := bySplit(files)
	if !areSplits(names) {
		return nil
	}
	return names
}

// ErrNoTable says that a folder holds no file of rows.
var ErrNoTable = errors.New("no .parquet, .jsonl or .json file in it or in its folder data")

// escape a path for Glob.
func escape(path string) string {
	return regexp.MustCompile(`[\\*?\[]`).ReplaceAllString(path, `\$0`)
}

// shard is what the name of one of several files says: train-00000-of-00002.
var shard = regexp.MustCompile(`^(.+?)-(\d{5})-of-(\d{5})(?:-[0-9a-f]+)?$`)

// splitOf is the split that a file's name says.
func splitOf(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	if m := shard.FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	return strings.ToLower(name)
}

// known are the names of splits; files of other names belong together.
var known = []string{"train", "training", "test", "testing", "validation", "valid", "val", "dev", "eval", "evaluation"}

func areSplits(names []string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(known, n) })
}

func bySplit(files []string) (splits map[string][]string, names []string) {
	splits = map[string][]string{}
	for _, f := range files {
		name := splitOf(f)
		if splits[name] == nil {
			names = append(names, name)
		}
		splits[name] = append(splits[name], f)
	}
	slices.Sort(names)
	return splits, names
}

func choose(files []string, split string) (Table, error) {
	slices.Sort(files)
	splits, names := bySplit(files)
	named := areSplits(names)
	switch {
	case split != "" && splits[strings.ToLower(split)] != nil:
		files = splits[strings.ToLower(split)]
		split = ""
	case split != "" && named:
		return Table{}, fmt.Errorf("no file is of split %q; there are: %s", split, strings.Join(names, ", "))
	case split == "" && named && len(names) > 1:
		return Table{}, fmt.Errorf("it holds several splits: %s; choose one with --split", strings.Join(names, ", "))
	}
	return Table{Files: files, Split: split}, whole(files)
}

// rowSplit is the split that rows are chosen by, "" where the file's own name
// is that split already.
func rowSplit(file, split string) string {
	if strings.EqualFold(splitOf(file), split) {
		return ""
	}
	return split
}

// whole complains of a shard that is not there.
func whole(files []string) error {
	have := map[string]map[int]bool{}
	for _, f := range files {
		m := shard.FindStringSubmatch(strings.TrimSuffix(filepath.Base(f), filepath.Ext(f)))
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[2])
		if err != nil {
			return err
		}
		set := m[1] + " of " + m[3]
		if have[set] == nil {
			have[set] = map[int]bool{}
		}
		have[set][n] = true
	}
	for set, numbers := range have {
		name, of, _ := strings.Cut(set, " of ")
		total, err := strconv.Atoi(of)
		if err != nil {
			return err
		}
		for n := range total {
			if !numbers[n] {
				return fmt.Errorf("shard %05d of %s-…-of-%s is missing: it has %d of %d", n, name, of, len(numbers), total)
			}
		}
	}
	return nil
}

// All rows of the table. An error that is a *Bad is about one row, and others
// follow; any other ends the sequence.
func (t Table) All() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		kept, seen := 0, false
		for _, file := range t.Files {
			for row, err := range t.file(file) {
				if err == nil && t.Split != "" {
					seen = seen || row.Has("split")
					text, textErr := row.Text("split")
					if textErr != nil || !strings.EqualFold(text, t.Split) {
						continue
					}
				}
				kept++
				if !yield(row, err) || err != nil && !isBad(err) {
					return
				}
			}
		}
		if kept > 0 || t.Split == "" {
			return
		}
		err := fmt.Errorf("no row is of split %q", t.Split)
		if !seen {
			err = fmt.Errorf("split %q: neither a file's name nor a column \"split\" says which rows are of it", t.Split)
		}
		yield(Row{}, err)
	}
}

func isBad(err error) bool {
	var bad *Bad
	return errors.As(err, &bad)
}

// file yields its rows with their origin; of several files each is named.
func (t Table) file(file string) iter.Seq2[Row, error] {
	read := readJSON
	if filepath.Ext(file) == ".parquet" {
		read = readParquet
	}
	prefix := ""
	if len(t.Files) > 1 {
		prefix = filepath.Base(file) + " "
	}
	return func(yield func(Row, error) bool) {
		for row, err := range read(file) {
			row.File, row.Origin = file, strings.TrimSuffix(file+" "+row.Place, " ")
			row.Place = strings.TrimSuffix(prefix+row.Place, " ")
			var bad *Bad
			switch {
			case errors.As(err, &bad):
				err = &Bad{row.Place, bad.Err}
			case err != nil && prefix != "":
				err = fmt.Errorf("%s%w", prefix, err)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}
