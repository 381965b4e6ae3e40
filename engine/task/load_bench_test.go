package task

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// fullRow is as long as a row of SWE-bench is on average: 2,294 of them have
// some 90 MB as JSON.
type fullRow struct {
	Repo       string `json:"repo" parquet:"repo"`
	ID         string `json:"instance_id" parquet:"instance_id"`
	Base       string `json:"base_commit" parquet:"base_commit"`
	Patch      string `json:"patch" parquet:"patch,snappy"`
	TestPatch  string `json:"test_patch" parquet:"test_patch,snappy"`
	Statement  string `json:"problem_statement" parquet:"problem_statement,snappy"`
	Hints      string `json:"hints_text" parquet:"hints_text,snappy"`
	Version    string `json:"version" parquet:"version,dict"`
	FailToPass string `json:"FAIL_TO_PASS" parquet:"FAIL_TO_PASS,snappy"`
	PassToPass string `json:"PASS_TO_PASS" parquet:"PASS_TO_PASS,snappy"`
	SetUp      string `json:"environment_setup_commit" parquet:"environment_setup_commit"`
}

func fullRows(b *testing.B) []fullRow {
	b.Helper()
	diff := "diff --git a/f.py b/f.py\n--- a/f.py\n+++ b/f.py\n@@ -1,40 +1,40 @@\n" + strings.Repeat(" context of a line\n-old line\n+new line\n", 20)
	var all []fullRow
	for i := range 2294 {
		var tests []string
		for n := range 300 {
			tests = append(tests, fmt.Sprintf("tests/test_module_%d.py::TestCase::test_number_%d[parameter-%d]", n%7, n, i))
		}
		kept, err := json.Marshal(tests)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, fullRow{Repo: "psf/requests", ID: fmt.Sprintf("psf__requests-%d", i), Base: fmt.Sprintf("%040x", i+1), Patch: diff, TestPatch: diff, Statement: strings.Repeat("It breaks. ", 150),
			Hints: strings.Repeat("Perhaps so. ", 200), Version: "2.0", FailToPass: `["tests/a.py::b"]`, PassToPass: string(kept), SetUp: fmt.Sprintf("%040x", i)})
	}
	return all
}

// BenchmarkLoad: all of SWE-bench in a second.
func BenchmarkLoad(b *testing.B) {
	all, dir := fullRows(b), b.TempDir()
	var lines bytes.Buffer
	for _, r := range all {
		text, err := json.Marshal(r)
		if err != nil {
			b.Fatal(err)
		}
		lines.Write(append(text, '\n'))
	}
	if err := os.WriteFile(filepath.Join(dir, "rows.jsonl"), lines.Bytes(), 0o644); err != nil {
		b.Fatal(err)
	}
	if err := parquet.WriteFile(filepath.Join(dir, "rows.parquet"), all, parquet.MaxRowsPerRowGroup(1000)); err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"rows.jsonl", "rows.parquet"} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(lines.Len()))
			b.ReportAllocs()
			for b.Loop() {
				ins, err := Load(filepath.Join(dir, name))
				if err != nil || len(ins) != len(all) {
					b.Fatal(len(ins), err)
				}
			}
		})
	}
}
