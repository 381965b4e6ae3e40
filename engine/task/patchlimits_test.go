package task

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// What a policy can put in git's way that has no end: what matters of it is taken as if
// it were not there, and what git cannot do without is missing. Nothing waits, and
// nothing is read without a limit.
func TestPatchOfEndlessFiles(t *testing.T) {
	for name, c := range map[string]struct{ script, lost string }{
		"configuration":     {script: `printf '[include]\n\tpath = /dev/zero\n[core]\n\tattributesFile = /dev/zero\n' >>.git/config`},
		"exclude":           {script: "ln -sf /dev/zero .git/info/exclude"},
		"exclude, a pipe":   {script: "rm .git/info/exclude; mkfifo .git/info/exclude"},
		"attributes":        {script: "ln -sf /dev/zero .git/info/attributes"},
		"index":             {script: "ln -sf /dev/zero .git/index"},
		"index, a pipe":     {script: "rm .git/index; mkfifo .git/index"},
		"base":              {script: "mkdir -p .git/refs/rollbench; ln -sf /dev/zero .git/refs/rollbench/base"},
		"base, a pipe":      {script: "mkdir -p .git/refs/rollbench; mkfifo .git/refs/rollbench/base"},
		"linked ignore":     {script: "ln -sf /dev/zero src/.gitignore"},
		"refs":              {"ln -sf /dev/zero .git/packed-refs", "the repository is gone: its base commit was removed"},
		"ignore, a pipe":    {"mkfifo src/.gitignore", "the repository is gone: ./src/.gitignore is no file"},
		"attributes, piped": {"mkfifo .gitattributes", "the repository is gone: ./.gitattributes is no file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, h := openRepo(t, patchRepo)
			h.sh(t, "echo 'print(2)' >src/a.py\n"+c.script)
			start := time.Now()
			patch, _, err := in.TakePatch(t.Context(), h)
			look, _, lookErr := in.LookPatch(t.Context(), h, 1<<20)
			if took := time.Since(start); took > lookLimit {
				t.Errorf("it took %v", took)
			}
			if c.lost != "" {
				if !errors.Is(err, ErrNoPatch) || !strings.HasSuffix(err.Error(), c.lost) || lookErr == nil {
					t.Errorf("%v, look: %v", err, lookErr)
				}
				return
			}
			if err != nil || lookErr != nil || !bytes.Contains(patch, []byte("+print(2)\n")) || !bytes.Equal(patch, look) {
				t.Errorf("%s\nlook: %s\n%v, %v", patch, look, err, lookErr)
			}
		})
	}
}

// A file that git would read whole, and a patch that tells of one, are refused before
// they take the machine's memory.
func TestPatchesMayNotTakeAllMemory(t *testing.T) {
	in, h := openRepo(t, patchRepo)
	h.sh(t, "truncate -s 5G src/.gitignore")
	if _, _, err := in.TakePatch(t.Context(), h); !errors.Is(err, ErrNoPatch) || !strings.HasSuffix(err.Error(), "the repository is gone: ./src/.gitignore is larger than 16 MB") {
		t.Errorf("%v", err)
	}
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, fresh := openRepo(t, patchRepo)
	bomb := fmt.Sprintf("diff --git a/new b/new\nnew file mode 100644\nindex %040d..%040d\nGIT binary patch\nliteral 5000000000\n%s\n\nliteral 0\nHcmV?d00001\n\n", 0, 1, base85Line(packed.Bytes()))
	err := new(Instance).apply(t.Context(), fresh, []byte(bomb))
	if !errors.Is(err, errNoApply) || !strings.Contains(err.Error(), "Out of memory") {
		t.Errorf("%v", err)
	}
}

// A patch that is too large goes without its large new files. One that is too large
// even so is the policy's doing, and so is a file that it closed: they are no patch.
func TestPatchThatIsTooLarge(t *testing.T) {
	_, h := openRepo(t, patchRepo)
	h.sh(t, "echo 'print(2)' >src/a.py; seq 1 300000 >results; seq 1 200000 >more; seq 1 1000 >small; ln -s results linked")
	take := func(limit string) (patch, left string, err error) {
		out, err := runScript(t.Context(), h, differenceScript+takePatchScript, map[string]string{"ROLLBENCH_MAX_PATCH": limit}, patchLimit)
		if err != nil {
			return "", "", withoutPatch(err)
		}
		_, left, _ = strings.Cut(out, "rollbench-left-out\n")
		return h.sh(t, "grep '^diff --git\\|print' .git/rollbench.patch"), left, nil
	}
	const small = "diff --git a/linked b/linked\ndiff --git a/small b/small\ndiff --git a/src/a.py b/src/a.py\n-print(1)\n+print(2)"
	if patch, left, err := take("100000"); err != nil || patch != small || left != "larger than 1 MB, in too large a patch\x00more\x00larger than 1 MB, in too large a patch\x00results\x00" {
		t.Errorf("%s\nleft %q, %v", patch, left, err)
	}
	if patch, left, err := take("10000000"); err != nil || !strings.Contains(patch, "b/results\n") || left != "" {
		t.Errorf("%s\nleft %q, %v", patch, left, err)
	}
	if _, _, err := take("1000"); !errors.Is(err, ErrNoPatch) || !strings.Contains(err.Error(), "bytes, more than 1000") {
		t.Errorf("%v", err)
	}
	tools := t.TempDir()
	writeFiles(t, tools, map[string]string{"git": "#!/bin/sh\ncase $* in *--full-index*) echo 'fatal: Out of memory' >&2; exit 128 ;; esac\nPATH=" + quote(os.Getenv("PATH")) + " exec git \"$@\"\n"})
	if err := os.Chmod(tools+"/git", 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := runScript(t.Context(), h, differenceScript+takePatchScript, map[string]string{"ROLLBENCH_MAX_PATCH": "10000000", "PATH": tools + ":" + os.Getenv("PATH")}, patchLimit)
	if err = withoutPatch(err); !errors.Is(err, ErrNoPatch) || !strings.HasSuffix(err.Error(), "git cannot tell the difference: what was changed is too large for it") {
		t.Errorf("%v", err)
	}
	script := "setpriv --reuid 65534 --regid 65534 --clear-groups "
	if os.Geteuid() != 0 {
		script = ""
	} else if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("root reads every file, and setpriv is not here")
	}
	h.sh(t, "chmod 000 src/a.py; chmod a+rx .. ../..; chmod -R a+rwX .git")
	script = fmt.Sprintf("%ssh -c %s", script, quote("git config --global safe.directory '*' 2>/dev/null; "+differenceScript+takePatchScript))
	_, err = runScript(t.Context(), h, script, map[string]string{"ROLLBENCH_MAX_PATCH": "10000000"}, patchLimit)
	if err = withoutPatch(err); !errors.Is(err, ErrNoPatch) || !strings.HasSuffix(err.Error(), "a changed file cannot be read") {
		t.Errorf("%v", err)
	}
}

// base85Line is a line of git's binary patches: its length, and five characters for
// each four bytes.
func base85Line(data []byte) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
	var b strings.Builder
	if n := len(data); n <= 26 {
		b.WriteByte(byte('A' + n - 1))
	} else {
		b.WriteByte(byte('a' + n - 27))
	}
	for len(data) > 0 {
		var word uint32
		for i := range 4 {
			word <<= 8
			if i < len(data) {
				word |= uint32(data[i])
			}
		}
		data = data[min(4, len(data)):]
		var five [5]byte
		for i := 4; i >= 0; i-- {
			five[i] = digits[word%85]
			word /= 85
		}
		b.Write(five[:])
	}
	return b.String()
}
