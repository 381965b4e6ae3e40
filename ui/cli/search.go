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
	switch {
	case q.Limit < 0:
		return bad(fmt.Errorf("--limit is %d: it must be at least 1", q.Limit))
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
	files, err := readTree(ctx, dir)
	if err != nil {
		return err
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
		return json.NewEncoder(a.out).Encode(hits)
	}
	_, err = fmt.Fprintln(a.out, tools.Clean([]byte(view.Query(q).String())))
	return err
}

// readTree reads what an index wants of the files below a folder. Files that cannot be
// read are left out, as an index of a sandbox leaves them out.
func readTree(ctx context.Context, dir string) ([]search.File, error) {
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		if err == nil {
			err = fmt.Errorf("%s is not a folder", dir)
		}
		return nil, bad(fmt.Errorf("search: %w", err))
	}
	var files []search.File
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rel, rerr := filepath.Rel(dir, p)
		if rerr != nil {
			return rerr
		}
		rel = filepath.ToSlash(rel)
		switch {
		case err != nil && rel == ".":
			return bad(fmt.Errorf("search: %w", err))
		case err != nil:
			return nil
		case d.IsDir() && rel != "." && !search.Wanted(rel+"/x", 0):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		if st, err := d.Info(); err == nil && search.Wanted(rel, st.Size()) {
			files = append(files, search.File{Path: rel})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(files) && ctx.Err() == nil; i = next.Add(1) - 1 {
				f := &files[i]
				content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Path)))
				if err != nil {
					f.Path = ""
				}
				f.Content = content
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return slices.DeleteFunc(files, func(f search.File) bool { return f.Path == "" }), nil
}
