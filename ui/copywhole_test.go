package ui

import (
	"context"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rollbench/sessions"
)

// copied runs keys and gives what went to the terminal's clipboard.
func copied(t *testing.T, f *fakeRun, keys string) string {
	t.Helper()
	out := &strings.Builder{}
	b := open(t, f, 120, 40, func(o *Options) { o.Output = out })
	b.keys(keys)
	data, ok := strings.CutPrefix(out.String(), "\x1b]52;c;")
	text, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(data, "\x07"))
	if !ok || err != nil {
		got, _ := b.w.toasts.shown(b.w.now)
		t.Fatalf("%q copied nothing: %q %s", keys, got.text, b.failed())
	}
	return string(text)
}

func TestCopyWhole(t *testing.T) {
	t.Setenv("TMUX", "")
	turn := copied(t, fakeWhole(), "jj<enter>:copy turn<enter>")
	want := "── turn 7 ── 169 tok · 1.4 s model\n[think]\nThe old tests get in the way. I will remove them and run everything again.\n[bash]\nrm -rf tests && \\\n    python -m pytest -q\n"
	if turn != want {
		t.Errorf("a turn:\n%s\nwant:\n%s", turn, want)
	}
	all := copied(t, fakeWhole(), "jj<enter>:copy view<enter>")
	for n, part := range []string{"── turn 1 ──", "── turn 5 · reply 1 superseded ──", "── turn 7 ──", "attribute_200"} {
		if n < 3 && !strings.Contains(all, part) || n == 3 && strings.Count(all, "⋯") > 0 {
			t.Errorf("the transcript lacks %q, or is folded", part)
		}
	}
	if !strings.HasSuffix(all, turn) {
		t.Error("the transcript does not end in its last turn")
	}
	if got := copied(t, fakeWhole(), ":copy patch<enter>"); got != fakePatch {
		t.Errorf("the patch: %q", got)
	}
	if got := copied(t, fakeWhole(), "3:copy view<enter>"); got != fakePatch {
		t.Errorf("the view of the patch: %q", got)
	}
	if got := copied(t, fakeWhole(), "jj:copy name<enter>"); got != "flask-4045#2" {
		t.Errorf("the name: %q", got)
	}
	if got := copied(t, fakeWhole(), ":copy<enter>"); got != "flask-4045#0" {
		t.Errorf("without a word: %q", got)
	}
	if got := copied(t, fakeWhole(), "?:copy sheet<enter>"); !strings.Contains(got, "── Anywhere ──") || !strings.Contains(got, "?\tall keys") {
		t.Errorf("the help: %q", got[:min(len(got), 300)])
	}
	if got := copied(t, fakeTokenized(), "6:copy turn<enter>"); !strings.Contains(got, "<|im_end|>") {
		t.Errorf("of the tokens the raw text is copied: %q", got)
	}
}

// A patch is copied as it is, or not by a way that would type what is in it.
func TestCopyHostilePatch(t *testing.T) {
	t.Setenv("TMUX", "")
	t.Setenv("TMPDIR", t.TempDir())
	f := fakeWhole()
	k := sessions.Key{Instance: "flask-4045"}
	f.patch[k] = []byte(fakePatch + "+\x1b]0;owned\x07\x15rm -rf ~\n")
	out := &strings.Builder{}
	b := open(t, f, 120, 40, func(o *Options) { o.Output = out })
	b.keys(":copy patch<enter>")
	got, _ := b.w.toasts.shown(b.w.now)
	path, ok := strings.CutPrefix(got.text, "it has control characters, which a paste would type: the patch is in ")
	if !ok || out.Len() > 0 {
		t.Fatalf("says %q, and wrote %q", got.text, out)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != string(f.patch[k]) {
		t.Errorf("the file: %q %v", data, err)
	}
	delete(f.patch, k)
	b.keys(":copy patch<enter>")
	if got, _ := b.w.toasts.shown(b.w.now); got.text != "there is no patch to copy" {
		t.Errorf("without one it says %q", got.text)
	}
}

// What no clipboard holds is written to a file as it is read.
func TestCopyPile(t *testing.T) {
	t.Setenv("TMUX", "")
	t.Setenv("TMPDIR", t.TempDir())
	p := &pile{}
	want := ""
	for range 5 {
		part := strings.Repeat("x", 1<<20) + "\n"
		p.write(part)
		want += part
	}
	if p.b.Len() > 0 || p.file == nil {
		t.Fatal("5 MB are kept in memory")
	}
	m := p.deliver(t.Context(), &strings.Builder{}, "the view").(copiedMsg)
	path, ok := strings.CutPrefix(m.said, "too long for a clipboard: the view is in ")
	if !ok || !m.ok {
		t.Fatalf("says %q", m.said)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != want {
		t.Errorf("the file has %d bytes (%v)", len(data), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v: a transcript may hold secrets", info.Mode())
	}
	p = &pile{}
	p.write(strings.Repeat("x", maxTmux+1))
	p.drop()
	if _, err := os.Stat(p.file.Name()); !os.IsNotExist(err) {
		t.Errorf("a file is left behind: %v", err)
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	p = &pile{}
	p.write(strings.Repeat("x", maxTmux+1))
	if m := p.deliver(t.Context(), &strings.Builder{}, "x").(copiedMsg); m.ok || !strings.HasPrefix(m.said, "could not copy: ") {
		t.Errorf("where no file can be made: %+v", m)
	}
}

// Inside tmux it says how far the text got: tmux passes nothing on where it may not,
// and nothing that is too long.
func TestCopyToTmux(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	t.Setenv("TMUX", "x")
	script := func(clipboard string) {
		text := "#!/bin/sh\ncase $1 in load-buffer) cat > " + bin + "/got;; show-options) echo " + clipboard + ";; esac\n"
		if clipboard == "broken" {
			text = "#!/bin/sh\nexit 1\n"
		}
		if err := os.WriteFile(filepath.Join(bin, "tmux"), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh")
	}
	long := strings.Repeat("y", maxOSC52+1)
	for _, c := range []struct{ clipboard, text, want string }{
		{"external", "ls", "copied it (2 characters) to tmux's buffer and the terminal's clipboard"},
		{"off", "ls", "copied it (2 characters) to tmux's buffer; tmux's set-clipboard is off, so the terminal's clipboard has it not"},
		{"on", long, "copied it (74 001 characters) to tmux's buffer; it is too long for the terminal's clipboard"},
		{"broken", "ls", "sent it (2 characters) to the terminal; if nothing can be pasted, it does not allow OSC 52"},
	} {
		script(c.clipboard)
		m := deliver(context.Background(), &strings.Builder{}, "it", c.text).(copiedMsg)
		if strings.ReplaceAll(m.said, ",", " ") != strings.ReplaceAll(c.want, ",", " ") {
			t.Errorf("%s: says %q, want %q", c.clipboard, m.said, c.want)
		}
		if got, err := os.ReadFile(bin + "/got"); c.clipboard != "broken" && (err != nil || string(got) != c.text) {
			t.Errorf("%s: tmux got %d bytes (%v)", c.clipboard, len(got), err)
		}
	}
}
