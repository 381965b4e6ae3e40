package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// edits calls the editor with arguments given as pairs.
func edits(t testing.TB, r *Registry, command, file string, pairs ...any) Result {
	t.Helper()
	args := map[string]any{"command": command, "path": file}
	for i := 0; i < len(pairs); i += 2 {
		args[pairs[i].(string)] = pairs[i+1]
	}
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return call(t, r, "str_replace_editor", string(text))
}

func has(t testing.TB, got Result, status Status, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got.Text, p) {
			t.Errorf("%q is not in: %s", p, got.Text)
		}
	}
	if got.Status != status {
		t.Errorf("status %s: %s", got.Status, got.Text)
	}
}

func TestView(t *testing.T) {
	f := newFake()
	f.files["/work/a.txt"] = []byte("one\ntwo\nthree\n")
	f.files["/work/empty"] = nil
	f.files["/work/blob"] = []byte("a\x00b")
	f.files["/work/odd"] = []byte("\x1b[31mred\x01\xff é")
	f.files["/work/src/deep/x.go"] = []byte("x")
	f.files["/work/src/b.go"] = []byte("x")
	f.files["/work/.git/config"] = []byte("x")
	f.files["/work/src/.hidden"] = []byte("x")
	r := newTools(t, f, Limits{})
	tests := []struct {
		name, file string
		span       any
		status     Status
		want       string
	}{
		{"whole", "/work/a.txt", nil, OK, "/work/a.txt, lines 1 to 3 of 3:\n     1\tone\n     2\ttwo\n     3\tthree"},
		{"range", "/work/a.txt", []int{2, 2}, OK, "/work/a.txt, lines 2 to 2 of 3:\n     2\ttwo"},
		{"to the end", "/work/a.txt", []int{2, -1}, OK, "/work/a.txt, lines 2 to 3 of 3:\n     2\ttwo\n     3\tthree"},
		{"beyond the end", "/work/a.txt", []int{3, 99}, OK, "/work/a.txt, lines 3 to 3 of 3:\n     3\tthree"},
		{"untidy path", "/work/src/../a.txt", []int{1, 1}, OK, "/work/a.txt, lines 1 to 1 of 3:\n     1\tone"},
		{"empty", "/work/empty", nil, OK, "/work/empty is empty."},
		{"controls", "/work/odd", nil, OK, "/work/odd, lines 1 to 1 of 1:\n     1\t␛[31mred␁\uFFFD é"},
		{"directory", "/work", nil, OK, "/work, two levels deep, without hidden files:\n/work/\n/work/a.txt\n/work/blob\n/work/empty\n/work/odd\n/work/src/\n/work/src/b.go\n/work/src/deep/"},
		{"binary", "/work/blob", nil, Failed, "ERROR: /work/blob is not a text file; look at it with a command such as file, xxd or strings"},
		{"missing, near name", "/work/a.tx", nil, Failed, "ERROR: /work/a.tx does not exist; did you mean /work/a.txt?"},
		{"missing folder", "/work/srcs/deep/x.go", nil, Failed, "ERROR: /work/srcs does not exist; did you mean /work/src?"},
		{"missing, nothing near", "/work/zzz", nil, Failed, "ERROR: /work/zzz does not exist; view /work to see what is there"},
		{"relative", "a.txt", nil, Invalid, "ERROR: path must be absolute, and \"a.txt\" is not. Did you mean /work/a.txt?"},
		{"range from 0", "/work/a.txt", []int{0, 2}, Invalid, "ERROR: view_range [0, 2] does not fit /work/a.txt, which has 3 lines: the first number must be from 1 to 3, the second not before it, or -1 for the end."},
		{"range after the end", "/work/a.txt", []int{4, 5}, Invalid, "ERROR: view_range [4, 5] does not fit /work/a.txt, which has 3 lines: the first number must be from 1 to 3, the second not before it, or -1 for the end."},
		{"range backwards", "/work/a.txt", []int{3, 2}, Invalid, "ERROR: view_range [3, 2] does not fit /work/a.txt, which has 3 lines: the first number must be from 1 to 3, the second not before it, or -1 for the end."},
		{"range of a directory", "/work", []int{1, 2}, Invalid, "ERROR: view_range is for files, and /work is a directory."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := edits(t, r, "view", tt.file, "view_range", tt.span)
			if got.Text != tt.want || got.Status != tt.status {
				t.Errorf("%s\n%s", got.Status, got.Text)
			}
		})
	}
}

func TestViewIsCutAtALine(t *testing.T) {
	f := newFake()
	f.files["/work/a"] = []byte(strings.Repeat("123456789\n", 2000)) // 17 characters a line with its number
	f.files["/work/long"] = []byte(strings.Repeat("x", 20000))
	r := newTools(t, f, Limits{})
	got := edits(t, r, "view", "/work/a")
	// 10000 - 34 (title) - 160 (note) = 9806 = 576 * 17 + 14
	has(t, got, OK, "[Cut after line 576 of 2000: use view_range [577, 2000] to go on.]")
	if n := len([]rune(got.Text)); n > 10000 || got.Dropped == 0 || len(got.Full) < 34000 {
		t.Errorf("%d characters, dropped %d, full %d", n, got.Dropped, len(got.Full))
	}
	got = edits(t, r, "view", "/work/long")
	has(t, got, OK, "characters are cut here", "too long to be shown whole")
	if len(got.Text) > 10000 || len(got.Text) < 9000 {
		t.Errorf("%d characters", len(got.Text))
	}
}

func TestCreate(t *testing.T) {
	f := newFake()
	f.files["/work/a"] = []byte("x")
	f.files["/work/dir/b"] = []byte("x")
	r := newTools(t, f, Limits{})
	has(t, edits(t, r, "create", "/work/new/c.py", "file_text", "\n  x = 1\n\n"), OK, "Created /work/new/c.py (3 lines).")
	if got := string(f.files["/work/new/c.py"]); got != "\n  x = 1\n\n" {
		t.Errorf("%q", got)
	}
	has(t, edits(t, r, "create", "/work/a", "file_text", "y"), Failed, "exists already")
	has(t, edits(t, r, "create", "/work/dir", "file_text", "y"), Failed, "is a directory")
	has(t, edits(t, r, "create", "/work/d"), Invalid, "needs file_text")
	if string(f.files["/work/a"]) != "x" {
		t.Error("a changed")
	}
	has(t, edits(t, r, "undo_edit", "/work/new/c.py"), OK, "the file is removed")
	if _, there := f.files["/work/new/c.py"]; there {
		t.Error("undo left the file")
	}
}

func TestReplace(t *testing.T) {
	tests := []struct {
		name, before, old, fresh, after string
		status                          Status
		want                            string
	}{
		{"one line", "a\nb\nc\n", "b", "B", "a\nB\nc\n", OK, "Edited /work/f. Lines 1 to 3 of 3 are now:\n     1\ta\n     2\tB\n     3\tc"},
		{"outer white space counts", "  a\n a\n", "\n a", "\n\n  b", "  a\n\n  b\n", OK, "     3\t  b"},
		{"delete", "a\nb\n", "b\n", "", "a\n", OK, "Lines 1 to 1 of 1"},
		{"delete everything", "a\n", "a\n", "", "", OK, "The file is empty now."},
		{"no final newline", "a\nb", "b", "c", "a\nc", OK, "2\tc"},
		{"crlf stays", "a\r\nb\r\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\n", OK, "2\tx"},
		{"mixed ends", "a\r\nb\nc\r\nd\r\n", "c\nd", "c\ne", "a\r\nb\nc\r\ne\r\n", OK, "4\te"},
		{"byte order mark", "\ufeffa\n", "a", "b", "\ufeffb\n", OK, "1\tb"},
		{"latin-1", "caf\xe9 x\n", "é x", "é ü", "caf\xe9 \xfc\n", OK, "café ü"},
		{"latin-1 cannot hold it", "caf\xe9\n", "caf", "→", "caf\xe9\n", Failed, "8-bit encoding (Latin-1), which cannot hold '→'"},
		{"utf-16", "\xff\xfea\x00\n\x00", "a", "é", "\xff\xfe\xe9\x00\n\x00", OK, "1\té"},
		{"a broken byte stays", "é\xff\nb\n", "b", "→", "é\xff\n→\n", OK, "2\t→"},
		{"several", "x\ny\nx\n", "x", "z", "x\ny\nx\n", Failed, "old_str is 2 times in /work/f, at lines 1, 3;"},
		{"overlapping", "aaa", "aa", "b", "aaa", Failed, "2 times in /work/f, at lines 1, 1;"},
		{"similar", "def total(items):\n    return sum(items)\n", "def total(item):\n    return 1", "x", "def total(items):\n    return sum(items)\n", Failed, "the most similar lines are:\n     1\tdef total(items):\n     2\t    return sum(items)"},
		{"white space only", "if a:\n\treturn b\n", "if a:\n    return b", "x", "if a:\n\treturn b\n", Failed, "differ from it in white space only:\n     1\tif a:\n     2\t\treturn b"},
		{"nothing like it", "a\n", "zzzzzz", "x", "a\n", Failed, "view the file and copy the text exactly"},
		{"numbers of a view", "a\nb\n", "     1\ta\n     2\tb", "x", "a\nb\n", Failed, "leave out the numbers"},
		{"same", "a\n", "a", "a", "a\n", Invalid, "are the same"},
		{"empty old_str", "a\n", "", "b", "a\n", Invalid, "must not be empty"},
		{"binary", "a\x00", "a", "b", "a\x00", Failed, "is not a text file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake()
			f.files["/work/f"] = []byte(tt.before)
			r := newTools(t, f, Limits{})
			got := edits(t, r, "str_replace", "/work/f", "old_str", tt.old, "new_str", tt.fresh)
			has(t, got, tt.status, tt.want)
			if after := string(f.files["/work/f"]); after != tt.after {
				t.Errorf("%q, want %q", after, tt.after)
			}
			if tt.status == OK {
				has(t, edits(t, r, "undo_edit", "/work/f"), OK, "Undid the last edit")
				if after := string(f.files["/work/f"]); after != tt.before {
					t.Errorf("undo: %q", after)
				}
			}
		})
	}
}

func TestEditShowsFourLinesAround(t *testing.T) {
	f := newFake()
	var text strings.Builder
	for i := 1; i <= 20; i++ {
		fmt.Fprintf(&text, "l%d\n", i)
	}
	f.files["/work/f"] = []byte(text.String())
	got := edits(t, newTools(t, f, Limits{}), "str_replace", "/work/f", "old_str", "l10\nl11", "new_str", "x\ny\nz")
	want := "Edited /work/f. Lines 6 to 16 of 21 are now:\n     6\tl6\n     7\tl7\n     8\tl8\n     9\tl9\n    10\tx\n    11\ty\n    12\tz\n    13\tl12\n    14\tl13\n    15\tl14\n    16\tl15"
	if got.Text != want {
		t.Error(got.Text)
	}
}

func TestInsert(t *testing.T) {
	tests := []struct {
		name, before string
		at           int
		text, after  string
		status       Status
	}{
		{"top", "a\nb\n", 0, "x", "x\na\nb\n", OK},
		{"middle", "a\nb\n", 1, "x", "a\nx\nb\n", OK},
		{"ended text", "a\nb\n", 1, "x\n", "a\nx\nb\n", OK},
		{"blank line after it", "a\nb\n", 1, "x\n\n", "a\nx\n\nb\n", OK},
		{"end", "a\nb\n", 2, "x", "a\nb\nx\n", OK},
		{"end without newline", "a\nb", 2, "x", "a\nb\nx", OK},
		{"empty file", "", 0, "x", "x\n", OK},
		{"crlf", "a\r\nb\r\n", 1, "x\ny", "a\r\nx\r\ny\r\nb\r\n", OK},
		{"mixed, after a crlf line", "a\r\nb\n", 1, "x\ny", "a\r\nx\r\ny\r\nb\n", OK},
		{"indented", "a\n", 1, "  x", "a\n  x\n", OK},
		{"beyond", "a\n", 2, "x", "a\n", Failed},
		{"negative", "a\n", -1, "x", "a\n", Failed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake()
			f.files["/work/f"] = []byte(tt.before)
			r := newTools(t, f, Limits{})
			has(t, edits(t, r, "insert", "/work/f", "insert_line", tt.at, "new_str", tt.text), tt.status)
			if after := string(f.files["/work/f"]); after != tt.after {
				t.Errorf("%q, want %q", after, tt.after)
			}
		})
	}
	f := newFake()
	f.files["/work/f"] = []byte("a")
	has(t, edits(t, newTools(t, f, Limits{}), "insert", "/work/f", "new_str", "x"), Invalid, "needs insert_line")
	has(t, edits(t, newTools(t, f, Limits{}), "insert", "/work/g", "insert_line", 0, "new_str", "x"), Failed, "does not exist")
}

func TestUndoKeepsForeignChanges(t *testing.T) {
	f := newFake()
	f.files["/work/f"] = []byte("a\n")
	r := newTools(t, f, Limits{})
	has(t, edits(t, r, "undo_edit", "/work/f"), Failed, "no edit of /work/f is left to undo")
	edits(t, r, "str_replace", "/work/f", "old_str", "a", "new_str", "b")
	f.files["/work/f"] = []byte("b\nby hand\n")
	has(t, edits(t, r, "undo_edit", "/work/f"), Failed, "changed by something else")
	if got := string(f.files["/work/f"]); got != "b\nby hand\n" {
		t.Errorf("%q", got)
	}
	if len(f.modes) != 0 {
		t.Errorf("modes were set: %v", f.modes)
	}
}
