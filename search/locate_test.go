package search

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The data of the localisation figures are no part of this repository. To measure:
//
//	ROLLBENCH_SEARCH_REPOS=dir       holds OWNER+NAME/repo, bare git directories
//	ROLLBENCH_SEARCH_CASES=a,b       files with a case a line
//	go test ./search -run Locate -v
//
// A case is {id, snapshot: "owner/name", base: a commit, title, query, files, functions}.
const (
	reposVariable = "ROLLBENCH_SEARCH_REPOS"
	casesVariable = "ROLLBENCH_SEARCH_CASES"
)

type locateCase struct {
	ID        string
	Snapshot  string
	Base      string
	Title     string
	Query     string
	Files     []string
	Functions []string
}

// TestLocate asks once with the text of each case. acc@k is the share of cases whose
// whole truth is among the first k distinct files, or functions and classes.
func TestLocate(t *testing.T) {
	repos, cases := os.Getenv(reposVariable), os.Getenv(casesVariable)
	if repos == "" || cases == "" {
		t.Skip(reposVariable + " and " + casesVariable + " say what to measure")
	}
	for name := range strings.SplitSeq(cases, ",") {
		rows := readCases(t, name)
		store := newSnapshots(repos)
		var sum accuracy
		for _, group := range byBase(rows) {
			base := store.base(t, group[0].Snapshot, group[0].Base)
			for _, c := range group {
				got := judge(base.View(), c)
				sum.add(got, c)
				if testing.Verbose() && os.Getenv("ROLLBENCH_SEARCH_EACH") != "" {
					t.Logf("%s files %d functions %d", c.ID, got.file, got.function)
				}
			}
		}
		store.close()
		t.Logf("%s: %s", filepath.Base(name), sum)
	}
}

// verdict is how many distinct files and functions one must read for the whole truth;
// a large number if it is not found.
type verdict struct{ file, function int }

const never = 1 << 20

func judge(v *View, c locateCase) verdict {
	hits, _ := v.Hits(Query{Terms: []string{c.Query}, Limit: 300})
	var files, functions []string
	for _, h := range hits {
		if !slices.Contains(files, h.Path) {
			files = append(files, h.Path)
		}
		if h.Kind != "file" && h.Kind != "directory" && h.Kind != "variable" {
			functions = append(functions, h.ID())
		}
	}
	return verdict{needed(files, c.Files), needed(functions, c.Functions)}
}

func needed(found, truth []string) int {
	most := 0
	for _, t := range truth {
		i := slices.Index(found, t)
		if i < 0 {
			return never
		}
		most = max(most, i+1)
	}
	return most
}

// accuracy counts cases.
type accuracy struct {
	files, functions       int
	file5, file10, f5, f10 int
	fileRank, functionRank float64
}

func (a *accuracy) add(v verdict, c locateCase) {
	count := func(n *int, ok bool) {
		if ok {
			*n++
		}
	}
	a.files++
	count(&a.file5, v.file <= 5)
	count(&a.file10, v.file <= 10)
	a.fileRank += 1 / float64(v.file)
	if len(c.Functions) == 0 {
		return
	}
	a.functions++
	count(&a.f5, v.function <= 5)
	count(&a.f10, v.function <= 10)
	a.functionRank += 1 / float64(v.function)
}

func (a accuracy) String() string {
	p := func(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
	return fmt.Sprintf("%d cases, file@5 %.1f file@10 %.1f func@5 %.1f func@10 %.1f; mean 1/rank file %.3f func %.3f", a.files,
		p(a.file5, a.files), p(a.file10, a.files), p(a.f5, a.functions), p(a.f10, a.functions),
		a.fileRank/float64(max(a.files, 1)), a.functionRank/float64(max(a.functions, 1)))
}

func readCases(t testing.TB, name string) []locateCase {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []locateCase
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		var c locateCase
		if err := d.Decode(&c); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
}

func byBase(rows []locateCase) [][]locateCase {
	var out [][]locateCase
	at := map[string]int{}
	for _, c := range rows {
		key := c.Snapshot + c.Base
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], c)
	}
	return out
}

// snapshots reads commits of bare repositories; a blob is read and scanned once.
type snapshots struct {
	root  string
	units map[string]file
	pipes map[string]*blobPipe
	words *words
}

type blobPipe struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func newSnapshots(root string) *snapshots {
	return &snapshots{root: root, units: map[string]file{}, pipes: map[string]*blobPipe{}, words: newWords()}
}

func (s *snapshots) dir(snapshot string) string {
	return filepath.Join(s.root, strings.ReplaceAll(snapshot, "/", "+"), "repo")
}

func (s *snapshots) close() {
	for _, p := range s.pipes {
		p.in.Close()
		p.cmd.Wait()
	}
}

// base indexes the Python files of a commit.
func (s *snapshots) base(t testing.TB, snapshot, commit string) *Base {
	t.Helper()
	b := &Base{}
	for _, line := range s.list(t, snapshot, commit) {
		head, name, _ := strings.Cut(line, "\t")
		fields := strings.Fields(head)
		if fields[1] != "blob" || !strings.HasSuffix(name, ".py") || fields[0] == "120000" {
			continue
		}
		f := s.file(t, snapshot, fields[2], name)
		u := *f.unit
		b.files = append(b.files, file{path: name, test: isTest(name), generated: f.generated, unit: &u})
	}
	slices.SortFunc(b.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	b.finish()
	return b
}

func (s *snapshots) list(t testing.TB, snapshot, commit string) []string {
	out, err := exec.Command("git", "-C", s.dir(snapshot), "ls-tree", "-rz", commit).Output()
	if err != nil {
		t.Fatalf("list %s of %s: %v", commit, snapshot, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func (s *snapshots) file(t testing.TB, snapshot, blob, name string) file {
	f, ok := s.units[blob]
	if !ok {
		f = newFile(name, string(s.blob(t, snapshot, blob)), s.words)
		s.units[blob] = f
	}
	return f
}

func (s *snapshots) blob(t testing.TB, snapshot, blob string) []byte {
	p := s.pipes[snapshot]
	if p == nil {
		cmd := exec.Command("git", "-C", s.dir(snapshot), "cat-file", "--batch")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		p = &blobPipe{cmd, in, bufio.NewReaderSize(out, 1<<20)}
		s.pipes[snapshot] = p
	}
	fmt.Fprintln(p.in, blob)
	head, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var id, kind string
	var size int
	if _, err := fmt.Sscan(head, &id, &kind, &size); err != nil {
		t.Fatalf("%q: %v", head, err)
	}
	data := make([]byte, size+1)
	if _, err := io.ReadFull(p.out, data); err != nil {
		t.Fatal(err)
	}
	return data[:size]
}
