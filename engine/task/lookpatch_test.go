package task

import (
	"bytes"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// everything of the sandbox's files, also below .git, with the times of change. Those
// of objects are left out: git renews them where it finds that it has one already.
func everything(t *testing.T, h *host) string {
	t.Helper()
	return h.sh(t, `find . -path ./.git/objects -prune -o -printf '%p %y %m %T@ %s %l\n' | sort; find . -type f -exec sha1sum {} + | sort`)
}

// changedLines are those of two listings that only one has.
func changedLines(a, b string) string {
	var out []string
	for _, side := range [][2]string{{a, b}, {b, a}} {
		for line := range strings.Lines(side[0]) {
			if !strings.Contains(side[1], line) {
				out = append(out, line)
			}
		}
		out = append(out, "---\n")
	}
	return strings.Join(out, "")
}

// binaryBytes is what TakePatch has and a look leaves out.
var binaryBytes = regexp.MustCompile(`(?m)^GIT binary patch\n(?:.+\n)*\n(?:.+\n)*\n`)

// A look is what TakePatch would take, for all that a policy may do, and leaves no
// trace: no file below the workdir has changed, not even its times, and what git says
// to the policy is the same.
func TestLookPatch(t *testing.T) {
	for name, script := range patchCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, h := openRepo(t, patchRepo)
			h.sh(t, script)
			before := everything(t, h)
			look, size, err := in.LookPatch(t.Context(), h, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if after := everything(t, h); after != before {
				t.Errorf("the repository was disturbed:\n%s", changedLines(before, after))
			}
			if size != len(look) || size == 0 {
				t.Errorf("%d bytes of %d", len(look), size)
			}
			status := "git status --porcelain=v2 --branch 2>&1 || true"
			said := h.sh(t, status)
			if _, _, err := in.LookPatch(t.Context(), h, 1<<20); err != nil {
				t.Fatal(err)
			}
			if again := h.sh(t, status); again != said {
				t.Errorf("git status said\n%s\nand then\n%s", said, again)
			}
			patch := takePatch(t, in, h)
			want := binaryBytes.ReplaceAll(patch, nil)
			if got := binaryNamed.ReplaceAll(look, nil); !bytes.Equal(got, want) {
				t.Errorf("a look:\n%s\nwhat is taken:\n%s", got, want)
			}
		})
	}
}

var binaryNamed = regexp.MustCompile(`(?m)^Binary files .* differ\n`)

// However much has changed, so much is told, and nothing is left where a look works.
func TestLookPatchIsBounded(t *testing.T) {
	in, h := openRepo(t, patchRepo)
	place, long := t.TempDir(), time.Unix(1, 0)
	h.env = maps.Clone(h.env)
	if h.env == nil {
		h.env = map[string]string{}
	}
	h.env["TMPDIR"] = place
	if err := os.Chtimes(place, long, long); err != nil {
		t.Fatal(err)
	}
	if look, size, err := in.LookPatch(t.Context(), h, 100); err != nil || len(look) != 0 || size != 0 {
		t.Errorf("nothing has changed: %q, %d, %v", look, size, err)
	}
	h.sh(t, "seq 1 100000 >numbers.txt; head -c 8000000 /dev/zero | tr '\\000' a >large.txt; printf 'x\\ny\\n' >src/a.py")
	look, size, err := in.LookPatch(t.Context(), h, 5000)
	if err != nil || len(look) != 5000 || size < 588895 || size > 800000 {
		t.Errorf("%d bytes of %d, %v", len(look), size, err)
	}
	if !bytes.HasPrefix(look, []byte("diff --git a/large.txt b/large.txt\nnew file mode 100644\n")) || !bytes.Contains(look, []byte("Binary files /dev/null and b/large.txt differ\n")) {
		t.Errorf("%.300s", look)
	}
	if left, err := os.ReadDir(place); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if at, err := os.Stat(place); err != nil || at.ModTime().Equal(long) {
		t.Errorf("it worked elsewhere: %v, %v", at.ModTime(), err)
	}
}

func TestLookPatchFails(t *testing.T) {
	in, h := openRepo(t, patchRepo)
	h.sh(t, "git update-ref -d refs/rollbench/base")
	if _, _, err := in.LookPatch(t.Context(), h, 100); err == nil || err.Error() != "look at the changes of test: the repository is gone: its base commit was removed" {
		t.Errorf("%v", err)
	}
	h.sh(t, "rm -rf .git")
	if _, _, err := in.LookPatch(t.Context(), h, 100); err == nil || err.Error() != "look at the changes of test: the repository is gone: .git was removed" {
		t.Errorf("%v", err)
	}
}
