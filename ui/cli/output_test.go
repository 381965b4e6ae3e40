package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"rollbench/sessions"
)

// The bytes come as they were printed, in chunks; a gap is told beside them.
func TestOutputCommand(t *testing.T) {
	home := t.TempDir()
	t.Setenv("ROLLBENCH_HOME", home)
	key := sessions.Key{Instance: "demo", ID: 0}
	s, err := sessions.Create(t.Context(), home, sessions.Run{ID: "r-1", Created: time.Now(), Members: []sessions.Key{key}})
	if err != nil {
		t.Fatal(err)
	}
	data := bytes.Repeat([]byte("\x1b[31mred\x00\xff\r\n"), 40000)
	at := sessions.CallPlace{Key: key, Attempt: 1, Turn: 2, Call: 1}
	for n := 0; n*sessions.OutputChunk < len(data); n++ {
		piece := data[n*sessions.OutputChunk : min(len(data), (n+1)*sessions.OutputChunk)]
		if err := s.Commit(t.Context(), sessions.Write{Chunk: &sessions.Chunk{CallPlace: at, N: n, Data: piece}}); err != nil {
			t.Fatal(err)
		}
	}
	old := sessions.Turn{Key: key, Attempt: 1, Index: 2, Version: 1, Calls: []sessions.Call{{ID: "z"}}}
	turn := sessions.Turn{Key: key, Attempt: 1, Index: 2, Version: 2, Calls: []sessions.Call{{ID: "a"}, {ID: "b"}, {ID: "c"}}, Observations: []sessions.Observation{
		{CallID: "a", Text: "all of it\n"}, {CallID: "b", Text: "red", Output: &sessions.Output{Size: int64(len(data)), Head: 1000, Dropped: 77}}}}
	for _, w := range []sessions.Write{{Turn: &old}, {Turn: &turn, Supersede: 1}} {
		if err := s.Commit(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (out, told string, err error) {
		var o, e bytes.Buffer
		a := testApp(t)
		a.out, a.err = &o, &e
		root := a.root()
		root.SetArgs(append([]string{"output"}, args...))
		err = root.ExecuteContext(t.Context())
		return o.String(), e.String(), err
	}
	if out, told, err := run("r-1", "demo#0", "2", "2"); err != nil || out != string(data) || told != "77 bytes behind byte 1000 were not kept\n" {
		t.Errorf("%d bytes, %q, %v", len(out), told, err)
	}
	if out, told, err := run("latest", "demo#0", "2"); err != nil || out != "all of it\n" || told != "" {
		t.Errorf("%q, %q, %v", out, told, err)
	}
	if _, _, err := run("latest", "demo#0", "2", "3"); err == nil || !strings.Contains(err.Error(), "call 3 of turn 2 of demo#0 has not returned") {
		t.Errorf("%v", err)
	}
}
