package task

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"rollbench/sandbox"
)

// Exclusions as tar's --exclude has them (GNU tar's manual, "Controlling
// Pattern-Matching": unanchored, wildcards match slashes, folders with their content).
func TestExcluder(t *testing.T) {
	for pattern, c := range map[string]struct{ out, in []string }{
		"*.tmp":   {[]string{"a.tmp", "d/a.tmp", "d.tmp/x"}, []string{"a.tmpx", "tmp"}},
		".git":    {[]string{".git", ".git/config", "sub/.git/x"}, []string{".gitignore", "x.git"}},
		"d/e":     {[]string{"d/e", "c/d/e/f"}, []string{"d", "d/ee", "e"}},
		"a*z":     {[]string{"az", "a/b/z", "x/abz"}, []string{"a/b", "za"}},
		"./x/":    {[]string{"x", "x/y"}, []string{"xy"}},
		"f?.[ab]": {[]string{"f1.a", "d/fz.b"}, []string{"f.a", "f1.c"}},
		"[!a]x":   {[]string{"bx"}, []string{"ax", "x"}},
		"[]a]x":   {[]string{"]x", "ax"}, []string{"bx"}},
		"a[b":     {[]string{"a[b"}, []string{"ab"}},
		`\*`:      {[]string{"*"}, []string{"a"}},
		"ü*":      {[]string{"über", "d/ü"}, []string{"u"}},
	} {
		skip := excluder([]string{"never", pattern})
		for _, name := range c.out {
			if !skip(name) {
				t.Errorf("%s does not leave out %s", pattern, name)
			}
		}
		for _, name := range c.in {
			if skip(name) {
				t.Errorf("%s leaves out %s", pattern, name)
			}
		}
	}
}

func FuzzExcluder(f *testing.F) {
	for _, s := range []string{"*.tmp", "[!a-z]", "[z-a]", `[\]`, "[[:alpha:]]", "a[^", "\\", "\xff[", "(?P<"} {
		f.Add(s, "a/b.tmp")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) { excluder([]string{pattern})(name) })
}

// packedNames are the entries of what was collected, a folder with a slash at its end,
// a link with where it leads.
func packedNames(t *testing.T, packed []byte) []string {
	t.Helper()
	var names []string
	for in := tar.NewReader(bytes.NewReader(packed)); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			slices.Sort(names)
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		name := head.Name
		switch head.Typeflag {
		case tar.TypeDir:
			name = path.Clean(name) + "/"
		case tar.TypeSymlink, tar.TypeLink:
			name += " > " + head.Linkname
		}
		names = append(names, name)
	}
}

// rooted is a host whose own paths are what a container's would be.
type rooted struct{ *host }

func (r rooted) Path(p string) string { return p }

// What the task declares is packed at its paths; what is missing, or lies in another
// artifact, is told of.
func TestCollect(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, root, map[string]string{"site/index.html": "hi", "site/old.tmp": "x", "site/.git/config": "x", "out/result": "42", "elsewhere/deep/file": "z"})
	for link, to := range map[string]string{"site/link": "index.html", "latest": "out/result", "linked": root + "/elsewhere"} {
		if err := os.Symlink(to, root+"/"+link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(root+"/site/index.html", root+"/site/same.html"); err != nil {
		t.Fatal(err)
	}
	h := &harbor{roles: roles{graded: ByArtifacts,
		collect: []hook{{command: "echo made >" + root + "/hooked", limit: hookLimit}, {command: "echo no; exit 3", limit: hookLimit}},
		artifacts: []artifact{{source: root + "/nothing"}, {source: root + "/site", exclude: []string{"*.tmp", ".git"}}, {source: root + "/site/index.html"},
			{source: root + "/latest"}, {source: root + "/linked"}, {source: root + "/hooked"}}}}
	in := &Instance{ID: "x", Workdir: "/w", kind: h}
	var packed bytes.Buffer
	notes, err := in.Collect(t.Context(), rooted{openHost(t, in)}, &packed)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{`collect command "echo no; exit 3": exit code 3: no`, "artifact " + root + "/nothing: it is not there",
		"artifact " + root + "/site/index.html is left out: " + root + "/site was collected before"}; !slices.Equal(notes, want) {
		t.Errorf("notes %q", notes)
	}
	var got []string
	for _, name := range packedNames(t, packed.Bytes()) {
		got = append(got, strings.ReplaceAll(name, root[1:], "R"))
	}
	plain := slices.DeleteFunc(slices.Clone(got), func(s string) bool {
		return strings.HasPrefix(s, "R/site/index") || strings.HasPrefix(s, "R/site/same")
	})
	if want := []string{"R/hooked", "R/latest", "R/linked/", "R/linked/deep/", "R/linked/deep/file", "R/site/", "R/site/link > index.html"}; !slices.Equal(plain, want) {
		t.Errorf("packed %q", got)
	}
	// One of the two names of a file is a link to the other, whichever comes first.
	if !slices.Contains(got, "R/site/same.html > R/site/index.html") && !slices.Contains(got, "R/site/index.html > R/site/same.html") {
		t.Errorf("packed %q", got)
	}
	folders, parents, err := packedPlaces(bytes.NewReader(packed.Bytes()))
	if err != nil || !slices.Equal(folders, []string{root + "/site", root + "/linked"}) || !slices.Equal(parents, []string{root}) {
		t.Errorf("places %q and %q, %v", folders, parents, err)
	}
}

// A policy that writes where only the verifier does gains nothing, and is seen.
func TestVerifierFoldersOfAHostilePolicy(t *testing.T) {
	in, h := smallTask(t, map[string]string{"tests/test.sh": "[ \"$(cat $TESTS_DIR/data)\" = real ] && [ ! -e $TESTS_DIR/fake ] && echo 0 >$LOGS_DIR/verifier/reward.txt\n", "tests/data": "real"})
	for name, script := range map[string]string{
		"a reward":           `echo 1 >"$R/logs/verifier/reward.txt"; mkdir -p "$R/tests"; echo x >"$R/tests/fake"`,
		"a better one":       `echo '{"reward": 1}' >"$R/logs/verifier/reward.json"`,
		"a link":             `mkdir "$R/mine"; echo '{"reward": 1}' >"$R/mine/reward.json"; rm -r "$R/logs/verifier"; ln -s "$R/mine" "$R/logs/verifier"`,
		"links":              `mkdir -p "$R/other/verifier"; echo '{"reward": 1}' >"$R/other/verifier/reward.json"; rm -r "$R/logs"; ln -s "$R/other" "$R/logs"; ln -s "$R/other" "$R/tests"`,
		"files":              `rm -r "$R/logs"; echo x >"$R/logs"; echo x >"$R/tests"`,
		"nothing to write":   `chmod 0 "$R/logs/verifier" "$R/logs"`,
		"a pipe":             `mkfifo "$R/logs/verifier/reward.json"`,
		"without a workdir":  `rm -rf "$R/app"`,
		"a file as workdir":  `rm -rf "$R/app"; echo x >"$R/app"`,
		"a folder as reward": `mkdir -p "$R/logs/verifier/reward.json/x"`,
	} {
		h = openHost(t, in)
		if err := in.Prepare(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		h.sh(t, "R="+h.root+"; cd \"$R\"; "+script)
		left, err := in.Left(t.Context(), h)
		unseen := slices.Contains([]string{"files", "nothing to write", "without a workdir", "a file as workdir"}, name)
		if err != nil || (len(left) == 0) != unseen {
			t.Errorf("%s: signs %v, %v", name, left, err)
		}
		got, err := in.VerifyInPlace(t.Context(), h)
		if err != nil || got.Reward == nil || *got.Reward != 0 {
			t.Errorf("%s: %v %q, %v\n%s", name, got.Reward, got.Note, err, got.Log)
		}
	}
}

// In a workdir without a repository, and in one with its own, the changes are told, and
// nothing of ours is there.
func TestWholeSandboxIsLeftAlone(t *testing.T) {
	in, h := smallTask(t, nil)
	h.sh(t, gitSetup+"echo a >tracked; commit one; git checkout -q -b lost; echo b >more; commit two; git checkout -q -; git branch -q -D lost; echo dirty >>tracked; echo new >untracked")
	before := h.sh(t, "git reflog; git for-each-ref; git status --porcelain; git fsck --unreachable --no-reflogs 2>/dev/null | sort; ls -A; git rev-parse HEAD; cat .git/config")
	if err := in.Prepare(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	if after := h.sh(t, "git reflog; git for-each-ref; git status --porcelain; git fsck --unreachable --no-reflogs 2>/dev/null | sort; ls -A; git rev-parse HEAD; cat .git/config"); after != before {
		t.Errorf("prepared:\n%s\nbefore:\n%s", after, before)
	}
	h.sh(t, "echo changed >f; echo c >extra; git add extra; rm untracked")
	patch := string(takePatch(t, in, h))
	for _, want := range []string{"a/f b/f", "+changed", "a/extra b/extra", "a/untracked b/untracked", "deleted file"} {
		if !strings.Contains(patch, want) {
			t.Errorf("%q is not in\n%s", want, patch)
		}
	}
	if strings.Contains(patch, "tracked\n+++ b/tracked") {
		t.Errorf("what the environment had changed is in\n%s", patch)
	}
	if look, size, err := in.LookPatch(t.Context(), h, 1<<20); err != nil || size != len(look) || len(look) == 0 {
		t.Errorf("look: %d of %d bytes, %v", len(look), size, err)
	}
	// Without the store there is no patch, and that is told by its own error.
	h.sh(t, "rm -rf ../var/tmp/.rollbench")
	if _, _, err := in.TakePatch(t.Context(), h); !errors.Is(err, ErrNoBase) {
		t.Errorf("without a base: %v", err)
	}
	if got, err := in.Verify(t.Context(), openHost(t, in), []byte(smallFix)); err != nil || !got.NoApply {
		t.Errorf("a patch for a file that is not there: %+v, %v", got, err)
	}
}

// Whatever a reward file holds, it is a finite number, or absent with one line that says
// why.
func FuzzReward(f *testing.F) {
	for _, s := range []string{"1", "-0.5e3\n", "nan", `{"reward": 1}`, `{"a": 1, "b": 2}`, `{"reward": 1e999}`, "\xef\xbb\xbf{\"reward\":0}", `[1]`, `null`, `{"reward": {"reward": 1}}`, "1\x00", strings.Repeat("[", 20000)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, parse := range []func([]byte) (*float64, map[string]float64, string){parseRewardText, parseRewardJSON} {
			reward, parts, problem := parse(data)
			if (reward == nil) != (problem != "") || strings.Contains(problem, "\n") {
				t.Errorf("%v with problem %q", reward, problem)
			}
			for v := range maps.Values(parts) {
				if v-v != 0 {
					t.Errorf("part %v", v)
				}
			}
			if reward != nil && *reward-*reward != 0 {
				t.Errorf("reward %v", *reward)
			}
		}
		countsOf(data)
	})
}

var _ sandbox.Sandbox = rooted{}
