package search

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Benchmarks run on the repositories that ROLLBENCH_SEARCH_REPOS names (see
// locate_test.go), at the newest commit there, or on a small made-up one.

type benchRepo struct {
	name  string
	files []File
}

func benchRepos(b *testing.B) []benchRepo {
	root := os.Getenv(reposVariable)
	if root == "" {
		return []benchRepo{{"made-up", madeUp(300)}}
	}
	dirs, err := filepath.Glob(filepath.Join(root, "*", "repo"))
	if err != nil {
		b.Fatal(err)
	}
	var out []benchRepo
	for _, d := range dirs {
		snapshot := strings.ReplaceAll(filepath.Base(filepath.Dir(d)), "+", "/")
		s := newSnapshots(root)
		r := benchRepo{name: snapshot}
		for _, line := range s.list(b, snapshot, "HEAD") {
			head, name, _ := strings.Cut(line, "\t")
			if f := strings.Fields(head); f[1] == "blob" && f[0] != "120000" && Wanted(name, 0) {
				r.files = append(r.files, File{name, s.blob(b, snapshot, f[2])})
			}
		}
		s.close()
		if len(python(r.files)) > 20 {
			out = append(out, r)
		}
	}
	return out
}

// perOp reports the processor time of a benchmark.
func perOp(b *testing.B, start time.Duration) {
	b.ReportMetric(float64((cpuTime()-start).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

// madeUp is a repository of n modules that call each other.
func madeUp(n int) []File {
	var out []File
	for i := range n {
		var s strings.Builder
		fmt.Fprintf(&s, "\"\"\"Module %d of shapes.\"\"\"\nfrom pkg.mod_%d import Shape%d\n\n", i, (i+1)%n, (i+1)%n)
		fmt.Fprintf(&s, "class Shape%d(Shape%d):\n    \"\"\"A shape with %d corners.\"\"\"\n", i, (i+1)%n, i)
		for m := range 12 {
			fmt.Fprintf(&s, "    def measure_%d_%d(self, width, height=%d):\n        if width < %d:\n            raise ValueError('too small')\n        return self.measure_%d_%d(width) * height\n\n", i, m, m, m, i, (m+1)%12)
		}
		out = append(out, File{fmt.Sprintf("pkg/mod_%d.py", i), []byte(s.String())})
	}
	return out
}

func python(files []File) []File {
	var out []File
	for _, f := range files {
		if strings.HasSuffix(f.Path, ".py") {
			out = append(out, f)
		}
	}
	return out
}

func BenchmarkBuild(b *testing.B) {
	for _, r := range benchRepos(b) {
		b.Run(r.name, func(b *testing.B) {
			files := python(r.files)
			var before, after runtime.MemStats
			var base *Base
			start := cpuTime()
			for b.Loop() {
				base = Build(files)
			}
			perOp(b, start)
			base = nil
			runtime.GC()
			runtime.ReadMemStats(&before)
			base = Build(files)
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
			b.ReportMetric(float64(len(files)), "files")
			runtime.KeepAlive(base)
		})
	}
}

// BenchmarkUpdate edits the middle one of the files by size, then the largest.
func BenchmarkUpdate(b *testing.B) {
	for _, r := range benchRepos(b) {
		files := python(r.files)
		slices.SortFunc(files, func(a, b File) int { return len(a.Content) - len(b.Content) })
		v := Build(files).View()
		for name, f := range map[string]File{"median": files[len(files)/2], "largest": files[len(files)-1]} {
			b.Run(fmt.Sprintf("%s/%s-%dKB", r.name, name, len(f.Content)>>10), func(b *testing.B) {
				n := 0
				start := cpuTime()
				defer func() { perOp(b, start) }()
				for b.Loop() {
					n++
					if err := v.Update(f.Path, fmt.Appendf(slices.Clone(f.Content), "\n# edit %d\n", n)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// benchQueries are of every kind; names are taken from the index.
func benchQueries(base *Base) []Query {
	var out []Query
	names := base.uniqueNames()
	for i := 0; i < len(names); i += max(len(names)/40, 1) {
		n := names[i]
		out = append(out, Query{Terms: []string{n}}, Query{Terms: []string{"callers:" + n}})
		if len(n) > 6 {
			out = append(out, Query{Terms: []string{n[:3] + n[4:]}}) // misspelt
		}
	}
	for _, t := range []string{
		"crash when the file has no name", "raises ValueError for empty input", "get_*", "*Error",
		"cache is not cleared after an update", "wrong result with negative index",
		strings.Repeat("The first call of QuerySet.filter() returns the wrong rows when the field has a default. ", 20),
	} {
		out = append(out, Query{Terms: []string{t}})
	}
	for _, p := range []string{"except $E: pass", "raise ValueError($$$)", "def $F($$$): … raise NotImplementedError", "class $C($$$Base$$$):"} {
		out = append(out, Query{Pattern: p})
	}
	for _, c := range benchCases {
		out = append(out, Query{Terms: []string{c}})
	}
	return out
}

// benchCases are the texts of issues that the environment names.
var benchCases []string

func BenchmarkQuery(b *testing.B) {
	for _, r := range benchRepos(b) {
		base := Build(python(r.files))
		v := base.View()
		if cases := os.Getenv(casesVariable); cases != "" && benchCases == nil {
			for name := range strings.SplitSeq(cases, ",") {
				for _, c := range readCases(b, name) {
					benchCases = append(benchCases, c.Query)
				}
			}
		}
		queries := benchQueries(base)
		b.Run(r.name, func(b *testing.B) {
			var took []time.Duration
			v.Query(queries[2]) // makes the list of names, once
			for b.Loop() {
				for _, q := range queries {
					took = append(took, threadTime(func() { v.Query(q) }))
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-median")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-p99")
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms-max")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, r := range benchRepos(b) {
		b.Run(r.name, func(b *testing.B) {
			name := filepath.Join(b.TempDir(), "index")
			if err := writeBase(name, Build(python(r.files))); err != nil {
				b.Fatal(err)
			}
			info, err := os.Stat(name)
			if err != nil {
				b.Fatal(err)
			}
			start := cpuTime()
			defer func() { perOp(b, start) }()
			for b.Loop() {
				if _, err := readBase(name); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(info.Size())/(1<<20), "MiB-disk")
		})
	}
}
