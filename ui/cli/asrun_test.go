package cli

import (
	"encoding/json"
	"testing"
	"time"

	"rollbench/sessions"
)

// simulate --run starts from the limits that were in force in the run last, as
// the what-if of the workbench and a resume do.
func TestSimulateAsRunWithItsLastLimits(t *testing.T) {
	a, home := testApp(t), t.TempDir()
	t.Setenv("ROLLBENCH_HOME", home)
	c, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	store, err := sessions.Create(t.Context(), home, sessions.Run{ID: "r-1", Created: time.Now(), N: 1, Members: []sessions.Key{{Instance: "a"}}, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	changed := sessions.Limits{Who: "operator", MaxInit: 1, MaxAgents: 31, MaxEval: 1, MaxLive: 33}
	if err := store.Commit(t.Context(), sessions.Write{Events: []sessions.Event{sessions.NewEvent(time.Now(), sessions.Key{}, sessions.KindLimits, changed)}}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.asRun(t.Context(), "r-1", c); err != nil {
		t.Fatal(err)
	}
	if c.Dispatcher.MaxRun != 31 || c.Dispatcher.MaxLive != 33 {
		t.Errorf("run %d, sandboxes %d, want 31 and 33", c.Dispatcher.MaxRun, c.Dispatcher.MaxLive)
	}
}
