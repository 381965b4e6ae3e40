package ui

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCopy(t *testing.T) {
	t.Setenv("TMUX", "")
	for _, c := range []struct{ name, keys, want string }{
		{"a name", "jjy", "flask-4045#2"},
		{"a group", "ky", "flask-4045"},
		{"run and name", "jjY", "r-0412 flask-4045#2"},
		{"run and group", "kY", "r-0412 flask-4045"},
		{"a command as it is", "jj<enter>kkkky", "rm -rf tests && \\\n    python -m pytest -q"},
	} {
		out := &strings.Builder{}
		b := open(t, fakeWhole(), 120, 40, func(o *Options) { o.Output = out })
		b.keys(c.keys)
		data, ok := strings.CutPrefix(out.String(), "\x1b]52;c;")
		text, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(data, "\x07"))
		if !ok || err != nil || string(text) != c.want {
			t.Errorf("%s: copied %q (%v)", c.name, text, err)
		}
		if got, _ := b.w.toasts.shown(b.w.now); !strings.Contains(got.text, "characters) to the terminal; if nothing can be pasted") {
			t.Errorf("%s: says %q", c.name, got.text)
		}
	}
}

// What no terminal takes goes into a file.
func TestCopyLong(t *testing.T) {
	t.Setenv("TMUX", "")
	t.Setenv("TMPDIR", t.TempDir())
	out := &strings.Builder{}
	b := open(t, fakeWhole(), 120, 40, func(o *Options) { o.Output = out })
	long := strings.Repeat("x", maxOSC52+1)
	b.do(b.w.copyText("this block", long))
	got, _ := b.w.toasts.shown(b.w.now)
	_, path, ok := strings.Cut(got.text, "is in ")
	if !ok || out.Len() > 0 {
		t.Fatalf("says %q, wrote %d bytes to the terminal", got.text, out.Len())
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != long {
		t.Errorf("the file: %v", err)
	}
}

// The editor may carry arguments; its last newline is not the person's.
func TestExternalEditor(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	path, err := writeTemp("rm -rf tests", ".sh")
	if err != nil || filepath.Ext(path) != ".sh" {
		t.Fatalf("%s %v", path, err)
	}
	if err := editorCommand("printf '%s\\n' 'ls tests' >", path).Run(); err != nil {
		t.Fatal(err)
	}
	if got := readTemp(path, "rm -rf tests", nil); got != (editedMsg{text: "ls tests"}) {
		t.Errorf("edited to %+v", got)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%d files are left behind", len(left))
	}

	b := open(t, fakeWhole(), 120, 40, nil)
	b.keys("jje")
	b.send(editedMsg{text: "ls\n\ttests"})
	b.keys("<ctrl+s>")
	if want := `edit flask-4045#2 0 execute_bash {"command": "ls\n\ttests"}`; len(b.f.calls) != 1 || b.f.calls[0] != want {
		t.Errorf("engine was asked %q", b.f.calls)
	}

	path, err = writeTemp("x", ".txt")
	if err != nil {
		t.Fatal(err)
	}
	failed := editorCommand("exit 3;", path).Run()
	if m := readTemp(path, "x", failed).(editedMsg); m.err == nil || !strings.Contains(m.err.Error(), "set $EDITOR") {
		t.Errorf("a failing editor gives %v", m.err)
	}
}
