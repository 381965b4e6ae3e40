package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"rollbench/sandbox"
	"rollbench/tools/mcp"
)

// kept reads all of an output, in pieces of n bytes.
func kept(t *testing.T, o *Output, n int) []byte {
	t.Helper()
	if o == nil {
		t.Fatal("nothing is kept")
	}
	var all []byte
	p := make([]byte, n)
	for off := int64(0); ; {
		got, err := o.ReadAt(p, off)
		all, off = append(all, p[:got]...), off+int64(got)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// counting is n bytes of which every four tell where they stand.
func counting(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		b.Write([]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)})
	}
	return b.Bytes()[:n]
}

// Head and tail of an output are what stood there, whatever the pieces.
func TestOutputKeepsHeadAndTail(t *testing.T) {
	const half = maxMemory // small, so that the ring goes round
	for _, n := range []int{0, 1, maxMemory, maxMemory + 1, 2*half - 1, 2 * half, 2*half + 1, 3 * half, 3*half + 7, 5*half + 3} {
		for _, piece := range []int{1000, 64 << 10, half, 3 * half} {
			all := counting(n)
			o := &Output{folder: t.TempDir(), half: half}
			for i := 0; i < n; i += piece {
				o.write(all[i:min(n, i+piece)])
			}
			want := all
			if n > 2*half {
				want = append(append([]byte{}, all[:half]...), all[n-half:]...)
			}
			if got := kept(t, o, 77777); !bytes.Equal(got, want) {
				t.Errorf("%d bytes in pieces of %d: %d are kept, %d wanted", n, piece, len(got), len(want))
			}
			head := int64(min(n, half))
			if n <= 2*half {
				head = int64(n)
			}
			if o.Size() != int64(len(want)) || o.Dropped() != int64(n-len(want)) || o.Head() != head {
				t.Errorf("%d bytes: size %d, head %d, dropped %d", n, o.Size(), o.Head(), o.Dropped())
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// 20 MiB are printed: 16 are kept, in a file that nobody can find and little memory.
func TestOutputOfMoreThanIsKept(t *testing.T) {
	folder := t.TempDir()
	f := newFake()
	r, err := New(Env{Sandbox: f, Folder: folder}, Enabled{Bash: true})
	if err != nil {
		t.Fatal(err)
	}
	const n = 20 << 20
	f.shell = func(c sandbox.Command) (sandbox.Result, error) {
		if c.MaxOutput != sandbox.DefaultMaxOutput {
			t.Errorf("%d bytes are held in memory", c.MaxOutput)
		}
		out := sandbox.NewCollector(c.MaxOutput, c.OnOutput)
		all := counting(n)
		for i := 0; i < n; i += 64 << 10 {
			out.Write(all[i : i+64<<10])
		}
		run := sandbox.Result{End: sandbox.Exited}
		out.Fill(&run)
		return run, nil
	}
	got := call(t, r, "execute_bash", `{"command": "x"}`)
	if utf8.RuneCountInString(got.Text) > 30000 || got.Dropped < n-1<<20 {
		t.Errorf("%d characters, %d dropped", utf8.RuneCountInString(got.Text), got.Dropped)
	}
	o := got.Output
	if o.Size() != 16<<20 || o.Head() != 8<<20 || o.Dropped() != 4<<20 || len(o.memory) != 0 {
		t.Errorf("size %d, head %d, dropped %d, %d in memory", o.Size(), o.Head(), o.Dropped(), len(o.memory))
	}
	all, p := counting(n), make([]byte, 8)
	for off, at := range map[int64]int64{0: 0, 8<<20 - 8: 8<<20 - 8, 8 << 20: 12 << 20, 16<<20 - 8: 20<<20 - 8} {
		if _, err := o.ReadAt(p, off); err != nil || !bytes.Equal(p, all[at:at+8]) {
			t.Errorf("byte %d: %x, %v", off, p, err)
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("the file has a name: %v, %v", left, err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

// Only what the text lacks is kept, and each call has its own.
func TestOutputOfEachCall(t *testing.T) {
	f := newFake()
	r := newTools(t, f, Limits{Observation: 1000})
	for i, c := range []struct{ printed, kept string }{
		{"plain\n", ""},
		{"\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m\n"},
		{"", ""},
		{"1 %\r2 %\n", "1 %\r2 %\n"},
		{strings.Repeat("long\n", 400), strings.Repeat("long\n", 400)},
		{"plain again\n", ""},
		{"\xff", "\xff"},
	} {
		f.shell = func(c2 sandbox.Command) (sandbox.Result, error) {
			c2.OnOutput([]byte(c.printed))
			return sandbox.Result{Output: []byte(c.printed), End: sandbox.Exited}, nil
		}
		got := call(t, r, "execute_bash", `{"command": "x"}`)
		if (got.Output != nil) != (c.kept != "") || got.Output != nil && string(kept(t, got.Output, 100)) != c.kept {
			t.Errorf("call %d: %+v", i, got.Output)
		}
	}
}

// A full disk costs the output, not the call.
func TestOutputThatCannotBeKept(t *testing.T) {
	o := &Output{folder: filepath.Join(t.TempDir(), "gone"), half: maxHalf}
	o.write(make([]byte, maxMemory))
	o.write([]byte("x"))
	o.write([]byte("y"))
	if err := o.Err(); err == nil || !strings.Contains(err.Error(), "(262146 bytes) could not be kept") {
		t.Errorf("%v", err)
	}
	if _, err := o.ReadAt(make([]byte, 1), 0); err == nil {
		t.Error("it can be read")
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

func TestLimitsPerTool(t *testing.T) {
	f := newFake()
	f.files["/work/long.txt"] = []byte(strings.Repeat("123456789\n", 300))
	f.shell = func(sandbox.Command) (sandbox.Result, error) {
		return sandbox.Result{Output: bytes.Repeat([]byte("é23456789\n"), 300), End: sandbox.Exited}, nil
	}
	limits := map[string]int{"bash": 1000, "str_replace_editor": 2000, "finish": 100}
	r, err := New(Env{Sandbox: f, Limits: Limits{PerTool: limits}}, Enabled{Bash: true, BashName: "bash", Editor: true, Finish: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string]string{"bash": `{"command": "x"}`, "finish": `{"message": "` + strings.Repeat("x", 500) + `"}`,
		"str_replace_editor": `{"command": "view", "path": "/work/long.txt"}`} {
		got := call(t, r, name, args)
		if n, most := utf8.RuneCountInString(got.Text), limits[name]; n > most || n < most*3/4 || got.Dropped == 0 || got.Output == nil {
			t.Errorf("%s: %d characters of %d, %d dropped", name, n, most, got.Dropped)
		}
	}
	for want, limits := range map[string]map[string]int{`no tool of that name is enabled. The available tools are: execute_bash.`: {"bash": 10}, "at least 1": {"execute_bash": 0}} {
		if _, err := New(Env{Limits: Limits{PerTool: limits}}, Enabled{Bash: true}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", limits, err)
		}
	}
}

// A limit may be of a tool whose server has not been asked yet, and is looked at once it
// has been.
func TestLimitOfARemoteTool(t *testing.T) {
	limits := Limits{PerTool: map[string]int{"s__do": 50}}
	if _, err := New(Env{Limits: limits}, Enabled{Bash: true, Partly: true}); err != nil {
		t.Error(err)
	}
	for tool, want := range map[string]bool{"do": true, "other": false} {
		server := Server{Listed: mcp.Recorded(mcp.Server{Name: "s"}, []mcp.Tool{{Name: tool, Parameters: json.RawMessage(noParameters)}})}
		if _, err := New(Env{Limits: limits}, Enabled{Servers: []Server{server}}); (err == nil) != want {
			t.Errorf("%s: %v", tool, err)
		}
	}
}

func TestKeepEscapes(t *testing.T) {
	f := newFake()
	f.shell = func(sandbox.Command) (sandbox.Result, error) {
		return sandbox.Result{Output: []byte("\x1b[31mred\x1b[0m\xff\r\n"), End: sandbox.Exited}, nil
	}
	got := call(t, newTools(t, f, Limits{KeepEscapes: true}), "execute_bash", `{"command": "x"}`)
	if !strings.HasPrefix(got.Text, "\x1b[31mred\x1b[0m\uFFFD\r\n[The command completed") {
		t.Errorf("%q", got.Text)
	}
	if string(kept(t, got.Output, 10)) != "\x1b[31mred\x1b[0m\xff\r\n" { // the byte that is no text
		t.Errorf("%+v", got.Output)
	}
}

// The cut says how much is missing, and what is shown and what is not add up.
func TestCuts(t *testing.T) {
	const note = "[%d]"
	for _, c := range []struct {
		head, tail string
		gap        int64
		limit      int
		want       string
		cut        int
	}{
		// 20 characters and a gap of 100: of 14, 5 are the note "[120]", 9 are shown.
		{"0123456789", "abcdefghij", 100, 14, "0123[111]fghij", 111},
		{"01", "ab", 5, 100, "01[5]ab", 5},
		{"é", "ü", 1, 3, "[3]", 3},
	} {
		if got, cut := cutGap(c.head, c.tail, c.gap, c.limit, note); got != c.want || cut != c.cut {
			t.Errorf("cutGap(%q, %q, %d, %d) = %q, %d, want %q, %d", c.head, c.tail, c.gap, c.limit, got, cut, c.want, c.cut)
		}
	}
	// 12 characters, of 9 four are the note "[12]": 2 and 3 are shown, 7 cut.
	if got, cut := cutMiddle("é123456789ab", 9, note); got != "é1[7]9ab" || cut != 7 {
		t.Errorf("cutMiddle: %q, %d", got, cut)
	}
}

// What a tool had printed when its context ended is kept.
func TestOutputOfACancelledCall(t *testing.T) {
	f := newFake()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("a person")
	f.shell = func(c sandbox.Command) (sandbox.Result, error) {
		c.OnOutput([]byte("\x1b[1mbegun\n"))
		cancel(why)
		return sandbox.Result{Output: []byte("\x1b[1mbegun\n"), End: sandbox.Cancelled}, nil
	}
	got, err := newTools(t, f, Limits{}).Run(ctx, "execute_bash", `{"command": "x"}`)
	if !errors.Is(err, why) || !strings.HasPrefix(got.Text, "begun\n[The command was cancelled") || string(kept(t, got.Output, 9)) != "\x1b[1mbegun\n" {
		t.Errorf("%+v, %v", got, err)
	}
}

func BenchmarkOutput(b *testing.B) {
	piece := make([]byte, 32<<10)
	for _, total := range []int{64 << 10, 64 << 20} {
		b.Run(fmt.Sprintf("%dKiB", total>>10), func(b *testing.B) {
			b.SetBytes(int64(total))
			for b.Loop() {
				o := newOutput(b.TempDir())
				for range total / len(piece) {
					o.write(piece)
				}
				if err := o.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
