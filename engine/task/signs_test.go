package task

import (
	"fmt"
	"testing"
	"testing/fstest"
)

// changeOf is a patch of one line of a file.
func changeOf(file string) []byte {
	return fmt.Appendf(nil, "diff --git a/%[1]s b/%[1]s\n--- a/%[1]s\n+++ b/%[1]s\n@@ -1 +1 @@\n-a\n+b\n", file)
}

// What an instance's verdict comes from, by its family.
func TestTestsOfAnInstance(t *testing.T) {
	d := &row{FailToPass: []string{"pkg/tests/test_a.py::test_x", "test_old_style"}, TestPatch: string(changeOf("pkg/tests/data.txt"))}
	tests, err := rowTests(d)
	if err != nil {
		t.Fatal(err)
	}
	folder := fstest.MapFS{"tests/test.sh": {}, "tests/test_page.py": {}}
	for name, c := range map[string]struct {
		kind verifier
		file string
		want string
	}{
		"row, named by a test":   {&swebench{tests: tests}, "pkg/tests/test_a.py", "[{tests 0 changed pkg/tests/test_a.py}]"},
		"row, by the test patch": {&swebench{tests: tests}, "pkg/tests/data.txt", "[{tests 0 changed pkg/tests/data.txt}]"},
		"row, another":           {&swebench{tests: tests}, "pkg/tests/test_b.py", "[]"},
		"smith":                  {&smith{swebench: swebench{tests: tests}}, "pkg/tests/test_a.py", "[{tests 0 changed pkg/tests/test_a.py}]"},
		"r2e":                    {&r2e{}, "r2e_tests/test_1.py", "[{tests 0 changed r2e_tests/test_1.py}]"},
		"harbor":                 {&harbor{folder: folder}, "tests/test_page.py", "[{tests 0 changed tests/test_page.py}]"},
		"harbor, another":        {&harbor{folder: folder}, "tests/test_more.py", "[]"},
		"terminal":               {&terminal{folder: folder}, "tests/test_page.py", "[{tests 0 changed tests/test_page.py}]"},
		"plain, a folder":        {&plain{command: "python3 -m pytest -q tests/"}, "tests/test_a.py", "[{tests 0 changed tests/test_a.py}]"},
		"plain, a file":          {&plain{command: "bash ./check.sh && true"}, "check.sh", "[{tests 0 changed check.sh}]"},
		"plain, the source":      {&plain{command: "python3 src/latest.py --selftest"}, "src/latest.py", "[]"},
	} {
		in := &Instance{ID: "x", kind: c.kind}
		signs, err := in.Signs(changeOf(c.file), nil)
		if got := fmt.Sprint(signs); err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
	}
	if _, err := rowTests(&row{TestPatch: "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n"}); err == nil {
		t.Error("a cut test patch is taken")
	}
}
