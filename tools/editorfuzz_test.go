package tools

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"rollbench/sandbox"
	"rollbench/sandbox/local"
)

// words are put into files and looked for in them.
var words = []string{"a", "b", "\n", "\r\n", "\r", "a\nb", "x\r\ny\n", "é", "ü", "→", "😀", "\ufeff", "", " ", "\t", "a\r", "\nb", "end", "\x00", "1\n2\n3\n", "aa"}

var starts = []string{"", "a\nb\nc\n", "a\r\nb\r\n", "a\r\nb\nc", "caf\xe9\nb\n", "caf\xe9\r\nb", "\xef\xbb\xbfa\nb", "\xff\xfea\x00\n\x00b\x00", "\xfe\xff\x00a\x00\r\x00\n", "é\xff\nb\n", "a\x00b", "aaa\naaa\n", "\r\r\n\n\r", "no end"}

// session runs a program of edits through the tool and on the model, and fails
// where they differ.
type session struct {
	t     *testing.T
	tools *Registry
	model model
	read  func(file string) ([]byte, bool)
	write func(file string, data []byte)
	log   []string
}

func newSession(t *testing.T, sb sandbox.Sandbox) *session {
	r, err := New(Env{Sandbox: sb}, Enabled{Editor: true})
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, tools: r, model: model{files: map[string][]byte{}, past: map[string][]step{}}}
	s.read = func(file string) ([]byte, bool) {
		data, err := sb.ReadFile(t.Context(), file)
		if err != nil && !errors.Is(err, sandbox.ErrNotExist) {
			t.Fatal(err)
		}
		return data, err == nil
	}
	s.write = func(file string, data []byte) {
		if err := sb.WriteFile(t.Context(), file, data, 0); err != nil {
			t.Fatal(err)
		}
		s.model.files[file] = data
	}
	return s
}

// run takes four bytes of the program for each edit: what, where, two words.
func (s *session) run(files [2]string, program []byte) {
	for ; len(program) >= 4 && len(s.log) < 80; program = program[4:] {
		op, file := program[0]%8, files[program[1]%2]
		old, fresh := s.word(file, program[2], program[1]), words[int(program[3])%len(words)]
		var got Result
		var want error
		switch op {
		case 0, 1:
			got, want = edits(s.t, s.tools, "str_replace", file, "old_str", old, "new_str", fresh), s.model.replace(file, old, fresh)
		case 2, 3:
			line := int(program[2] % 8)
			got, want = edits(s.t, s.tools, "insert", file, "insert_line", line, "new_str", fresh), s.model.insert(file, line, fresh)
			old = fmt.Sprint(line)
		case 4:
			got, want = edits(s.t, s.tools, "create", file, "file_text", old+fresh), s.model.create(file, old+fresh)
		case 5, 6:
			got, want = edits(s.t, s.tools, "undo_edit", file), s.model.undo(file)
		case 7:
			if program[3]%4 == 0 { // by something else
				s.write(file, []byte(starts[int(program[2])%len(starts)]))
				s.log = append(s.log, fmt.Sprintf("other %s %q", file, s.model.files[file]))
				continue
			}
			got, want = edits(s.t, s.tools, "view", file), s.model.view(file)
		}
		s.log = append(s.log, fmt.Sprintf("%d %s %q %q: %s", op, file, old, fresh, got.Status))
		if (got.Status == OK) != (want == nil) {
			s.t.Fatalf("%s\nmodel: %v\n%s", strings.Join(s.log, "\n"), want, got.Text)
		}
		for _, f := range files {
			is, there := s.read(f)
			must, mustBe := s.model.files[f]
			if there != mustBe || string(is) != string(must) {
				s.t.Fatalf("%s\n%s is %q (%v), must be %q (%v)\n%s", strings.Join(s.log, "\n"), f, is, there, must, mustBe, got.Text)
			}
		}
	}
}

// word to look for: a fixed one, or a piece of the file's text.
func (s *session) word(file string, a, b byte) string {
	raw := s.model.files[file]
	st, text := styleOf(raw)
	if a%3 == 0 || !text || len(raw) == 0 {
		return words[int(a)%len(words)]
	}
	runes := st.runes(raw)
	from := min(int(a)/3%(len(runes)+1), len(runes))
	to := min(from+1+int(b)/2%9, len(runes))
	if piece := string(runes[from:to]); utf8.ValidString(piece) {
		return piece
	}
	return "a"
}

// Any sequence of edits does what the same edits do to byte strings in memory.
func FuzzEditor(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 5))
	for i, start := range starts {
		program := make([]byte, 64+4*i)
		for j := range program {
			program[j] = byte(r.Uint32())
		}
		f.Add([]byte(start), program)
	}
	f.Fuzz(func(t *testing.T, start, program []byte) {
		fake := newFake()
		s := newSession(t, fake)
		s.write("/work/a", start)
		s.run([2]string{"/work/a", "/work/d/b"}, program)
	})
}

// The same in real sandboxes: fewer, for each edit is a few calls.
func TestEditorInSandboxes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	inLevels(t, []local.Level{local.Bubblewrap, local.Namespaces, local.None}, func(t *testing.T, sb sandbox.Sandbox) {
		for i, start := range starts {
			s := newSession(t, sb)
			dir := fmt.Sprintf("%s/%d", sb.Workdir(), i)
			s.write(dir+"/a", []byte(start))
			program := make([]byte, 4*30)
			for j := range program {
				program[j] = byte(r.Uint32())
			}
			s.run([2]string{dir + "/a", dir + "/d/b"}, program)
		}
	})
}

// What kind of file it is stays, and what is none is refused.
func TestEditorKeepsFiles(t *testing.T) {
	inLevels(t, []local.Level{local.Bubblewrap, local.Namespaces, local.None}, func(t *testing.T, sb sandbox.Sandbox) {
		r, err := New(Env{Sandbox: sb}, Enabled{Bash: true, Editor: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
		dir := sb.Workdir()
		sh := func(script, want string) {
			t.Helper()
			got := call(t, r, "execute_bash", fmt.Sprintf(`{"command": %q}`, script))
			if text, _, _ := strings.Cut(got.Text, "\n[The command completed"); text != want {
				t.Errorf("%s: %q, want %q", script, text, want)
			}
		}
		const none = "[The command printed nothing.]"
		sh("cd "+dir+" && printf 'a\\nb' > f && chmod 751 f && ln -s f link && ln f hard && ln -s new dangling && mkfifo pipe && printf x > ro && chmod 400 ro && mkdir d && ln -s d dlink && truncate -s 10485761 large", none)
		has(t, edits(t, r, "str_replace", dir+"/link", "old_str", "a", "new_str", "é"), OK, "1\té")
		sh("readlink link; stat -c %a f; od -An -tx1 f | tr -d ' '; cmp f hard", "f\n751\nc3a90a62")
		has(t, edits(t, r, "insert", dir+"/ro", "insert_line", 1, "new_str", "y"), OK)
		sh("stat -c %a ro; cat ro", "400\nx\ny")
		has(t, edits(t, r, "create", dir+"/dangling", "file_text", "new\n"), OK)
		sh("readlink dangling; cat new", "new\nnew")
		has(t, edits(t, r, "undo_edit", dir+"/dangling"), OK, "the file is removed")
		sh("readlink dangling; ls new 2>&1 | grep -c 'No such'", "new\n1")
		has(t, edits(t, r, "view", dir+"/dangling"), Failed, "/dangling is a symbolic link to something that does not exist")
		has(t, edits(t, r, "view", dir+"/dlink"), OK)
		has(t, edits(t, r, "insert", dir+"/dlink", "insert_line", 0, "new_str", "y"), Failed, "is a directory; give the path of a file")
		has(t, edits(t, r, "create", dir+"/f/g", "file_text", ""), Failed)
		has(t, edits(t, r, "view", dir+"/pipe"), Failed, "is no regular file (prw")
		has(t, edits(t, r, "create", dir+"/pipe", "file_text", ""), Failed, "exists already")
		has(t, edits(t, r, "view", dir+"/large"), Failed, "has 10485761 bytes, and the editor takes files of up to 10 MiB; see parts of it with sed -n")
		has(t, edits(t, r, "undo_edit", dir+"/link"), OK)
		sh("cat f", "a\nb")
		has(t, edits(t, r, "view", "/dev/zero"), Failed) // where it is: no regular file
	})
}
