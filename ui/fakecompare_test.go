package ui

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"rollbench/sessions"
)

// fakeSiblings is the hand-made run in which the members of the first group part in
// all ways: #1 saw something else in turn 4, looked elsewhere in turn 8, and thought
// once more in turn 10.
func fakeSiblings() *fakeRun {
	f := fakeWhole()
	k := sessions.Key{Instance: "flask-4045", ID: 1}
	for i := range f.turns[k] {
		t := &f.turns[k][i]
		switch t.Index {
		case 4:
			t.Observations[0].Text = strings.Replace(t.Observations[0].Text, "1 failed, 7 passed in 0.41s", "2 failed, 6 passed in 0.40s", 1)
		case 8:
			t.Calls[0].Arguments = `{"command": "view", "path": "/testbed/src/flask/scaffold.py", "view_range": [1, 40]}`
			t.Observations[0].Text = numbered(1, 40)
		case 10:
			t.Calls, t.Observations, t.Content = nil, nil, "Is there another place where names are joined?"
		}
	}
	f.patch[k] = []byte(strings.NewReplacer("subdomain or None", `subdomain or ""`, "+\n+        if", "+        if").Replace(fakePatch))
	f.tokenized(sessions.Key{Instance: "flask-4045"}, k)
	f.recordUse()
	return f
}

// recordUse writes the events of all turns that there are.
func (f *fakeRun) recordUse() {
	at := t0
	for _, t := range f.trajs {
		for _, turn := range f.turns[t.Key] {
			names := []string{}
			for _, c := range turn.Calls {
				names = append(names, c.Name)
			}
			f.write(at, t.Key, sessions.KindReply, sessions.ReplyMade{Turn: turn.Index, Version: turn.Version, Source: turn.Source, Tools: names})
			for i, o := range turn.Observations {
				if turn.Calls[i].Problem == "" {
					f.write(at, t.Key, sessions.KindToolFinished, sessions.ToolFinished{Turn: turn.Index, Tool: o.Tool, Status: o.Status, Wall: o.Wall})
				}
			}
			if turn.Complete && !turn.Superseded {
				f.write(at, t.Key, sessions.KindTurnDone, sessions.TurnDone{Turn: turn.Index})
			}
			at = at.Add(time.Second)
		}
	}
}

// fakeRuns are the other runs there are.
type fakeRuns struct {
	list   []sessions.Summary
	other  *fakeRun
	broken error
}

func (r fakeRuns) List(context.Context) ([]sessions.Summary, error) { return r.list, r.broken }

func (r fakeRuns) Open(_ context.Context, id string) (sessions.Reader, error) {
	if id != r.other.run.ID {
		return nil, errors.New("no such run: " + id)
	}
	return r.other, nil
}

// fakeOthers are runs to compare with; r-0413 had another temperature, and solved more.
func fakeOthers() fakeRuns {
	other := fakeSiblings()
	other.run.ID, other.run.Title = "r-0413", "swe-mini"
	other.run.Print = json.RawMessage(`{"generator":{"num_trajectories":4,"sampling_params":{"temperature":0.7}},"tool_texts":"9f86d081884c"}`)
	other.run.Members = append(other.run.Members[:16:16], sessions.Key{Instance: "django-11099"})
	other.trajs = append(other.trajs[:16:16], ended("django-11099", 0, sessions.Done, sessions.FinishTool, 9, 4000, ptr(1.0)))
	for i := range other.trajs {
		switch t := &other.trajs[i]; t.Key.String() {
		case "flask-4045#1", "requests-2317#0", "requests-2317#1":
			t.Reward, t.Turn = ptr(1.0), t.Turn-4
		case "sympy-20590#0":
			*t = ended("sympy-20590", 0, sessions.Done, sessions.FinishTool, 9, 4100, ptr(1.0))
		}
	}
	mean := 0.75
	return fakeRuns{other: other, list: []sessions.Summary{
		{ID: "r-0412", Created: t0, Title: "swe-mini", Model: "qwen3-32b", State: sessions.RunRunning, Members: 20, Done: 8},
		{ID: "r-0413", Created: t0.Add(-24 * time.Hour), Title: "swe-mini", Model: "qwen3-32b", State: sessions.RunFinished, Members: 17, Done: 17, Outcome: sessions.Outcome{MeanReward: &mean}},
		{ID: "r-0411", Created: t0.Add(-25 * time.Hour), Title: "bundled", Model: "simulated-policy", Simulated: true, State: sessions.RunStopped, Members: 24, Done: 3, Failed: 1},
		{ID: "r-0409", Problem: "file is damaged"},
	}}
}

func versed(o *Options) { o.Runs = fakeOthers() }

// fakeVersed is this run with a fingerprint.
func fakeVersed() *fakeRun {
	f := fakeSiblings()
	f.run.Print = json.RawMessage(`{"generator":{"num_trajectories":4,"sampling_params":{"temperature":1}},"tool_texts":"2c26b46b68ff"}`)
	return f
}
