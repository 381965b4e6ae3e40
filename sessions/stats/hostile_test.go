package stats

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"rollbench/sessions"
)

// The names of tools that a model makes up are its text: they do not make the
// numbers of a run grow without bound.
func TestMadeUpToolsDoNotGrow(t *testing.T) {
	key := sessions.Key{Instance: "a"}
	r := New(sessions.Run{Members: []sessions.Key{key}})
	for i := range 10_000 {
		data, err := json.Marshal(sessions.ToolFinished{Tool: fmt.Sprintf("made_up_%d", i), Status: "invalid", Wall: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.See(sessions.Event{Seq: int64(i + 1), Kind: sessions.KindToolFinished, Key: key, Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.Tools()); n > 100 {
		t.Errorf("%d tools", n)
	}
}
