package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"rollbench/search"
	"rollbench/tools"
)

func (a *app) searchCommand() *cobra.Command {
	var q search.Query
	asJSON := false
	c := &cobra.Command{
		Use:   "search DIR QUERY…",
		Short: "Search a repository as the policy's search tool does",
		Long: `Index the source below a folder and answer queries as the policy's search tool
answers them. Each QUERY is a name (QuerySet.in_bulk, query.py:QuerySet.in_bulk,
get_*_display), a relation (callers:NAME, tests:NAME, …), a path, or free text.
With --pattern or --line no QUERY is needed. docs/search.md explains all of it.`,
		Example: `  rollbench search . parse_url
  rollbench search ./django "crash when a file has no name" --limit 5
  rollbench search ./django callers:QuerySet.in_bulk --json
  rollbench search ./django --pattern 'except $E: pass' --path 'django/db/**'
  rollbench search ./django --path django/db/models/query.py --line 120`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return bad(errors.New("search needs a folder and a query: rollbench search DIR QUERY"))
			case len(args) == 1 && q.Pattern == "" && len(q.Lines) == 0:
				return bad(errors.New("search needs a query after the folder, or --pattern, or --path with --line"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Terms = args[1:]
			return a.search(cmd.Context(), args[0], q, asJSON)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	f := c.Flags()
	f.IntVar(&q.Limit, "limit", 0, "at most `N` hits for each query (default: as many as are useful)")
	f.StringVar(&q.Path, "path", "", "only look in this file, folder or `GLOB`")
	f.StringVar(&q.Kind, "kind", "", "only find this `KIND`: "+strings.Join(search.Kinds, ", "))
	f.StringVar(&q.Pattern, "pattern", "", "find code of this shape: $X is one expression, $$$ anything, such as `CODE` 'raise $E'")
	f.IntSliceVar(&q.Lines, "line", nil, "show what stands around this `LINE` of the file of --path; may be repeated")
	f.BoolVar(&asJSON, "json", false, "an array of {path, kind, name, qualified, start, end, score}")
	offer(c, "kind", search.Kinds...)
	return c
}

func (a *app) search(ctx context.Context, dir string, q search.Query, asJSON bool) error {
	q.Terms = slices.DeleteFunc(q.Terms, func(t string) bool { return strings.TrimSpace(t) == "" })
	switch {
	case len(q.Terms) == 0 && strings.TrimSpace(q.Pattern) == "" && len(q.Lines) == 0:
		return bad(errors.New("search needs a query that is not empty: a name, a path or some words"))
	case q.Limit < 0:
		return bad(fmt.Errorf("--limit is %d: it must be at least 1, or 0 for as many as are useful", q.Limit))
	case q.Kind != "" && !slices.Contains(search.Kinds, q.Kind):
		return bad(fmt.Errorf("--kind is %q: use %s", q.Kind, strings.Join(search.Kinds, ", ")))
	case len(q.Lines) > 0 && q.Path == "":
		return bad(errors.New("--line needs the file in --path"))
	}
	for _, n := range q.Lines {
		if n < 1 {
			return bad(fmt.Errorf("--line is %d: lines are counted from 1", n))
		}
	}
	files, unread, err := readTree(ctx, dir)
	if err != nil {
		return err
	}
	if unread > 0 {
		fmt.Fprintf(a.err, "%d files or folders could not be read and are left out\n", unread)
	}
	if len(files) == 0 {
		fmt.Fprintf(a.err, "nothing below %s can be searched: binary and very large files and folders such as .git are left out\n", dir)
	}
	view := search.Build(files).View()
	if asJSON {
		hits, err := view.Hits(q)
		if err != nil {
			return err
		}
		if hits == nil {
			hits = []search.Hit{}
		}
		out := json.NewEncoder(a.out)
		out.SetEscapeHTML(false) // names of operators stay readable
		return out.Encode(hits)
	}
	if len(files) == 0 {
		return nil
	}
	_, err = fmt.Fprintln(a.out, tools.Clean([]byte(view.Query(q).String())))
	return err
}

// mostText bounds what is read into memory: 2 GiB.
const mostText = 2 << 30

// readTree reads what an index wants of the files below a folder, and counts those
// that cannot be read, which are left out.
func readTree(ctx context.Context, dir string) (_ []search.File, unread int, err error) {
	root, err := filepath.EvalSymlinks(dir)
	if err == nil {
		var st fs.FileInfo
		if st, err = os.Stat(root); err == nil && !st.IsDir() {
			err = fmt.Errorf("%s is not a folder: name the folder, and the file with --path", dir)
		}
	}
	if err != nil {
		return nil, 0, bad(fmt.Errorf("search: %w", err))
	}
	files, sizes, unread, err := listTree(ctx, root)
	if err != nil {
		return nil, 0, err
	}
	var next, failed atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(files) && ctx.Err() == nil; i = next.Add(1) - 1 {
				f := &files[i]
				if sizes[i] == 0 { // what a kernel makes up as it is read has no size, too
					continue
				}
				var err error
				if f.Content, err = os.ReadFile(filepath.Join(root, filepath.FromSlash(f.Path))); err != nil {
					f.Path = ""
					failed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, 0, context.Cause(ctx)
	}
	files = slices.DeleteFunc(files, func(f search.File) bool { return f.Path == "" })
	return files, unread + int(failed.Load()), nil
}

// listTree lists the regular files that an index wants, with their sizes. Links are
// not followed.
func listTree(ctx context.Context, root string) (files []search.File, sizes []int64, unread int, err error) {
	total := int64(0)
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rel, rerr := filepath.Rel(root, p)
		if rerr != nil {
			return rerr
		}
		rel = filepath.ToSlash(rel)
		switch {
		case err != nil && rel == ".":
			return bad(fmt.Errorf("search: %w", err))
		case err != nil:
			unread++
			return nil
		case d.IsDir() && rel != "." && !search.Wanted(rel+"/x", 0):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		st, err := d.Info()
		if err != nil || !search.Wanted(rel, st.Size()) {
			return nil // gone meanwhile, or not text
		}
		if total += st.Size(); total > mostText {
			return bad(fmt.Errorf("search: below %s are more than %d GiB to read: name a folder of it", root, mostText>>30))
		}
		files, sizes = append(files, search.File{Path: rel}), append(sizes, st.Size())
		return nil
	})
	return files, sizes, unread, err
}
