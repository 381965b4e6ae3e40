package engine

import (
	"encoding/json"
	"reflect"
	"testing"

	"rollbench/engine/infer/simulated"
	"rollbench/engine/task"
	"rollbench/sessions"
)

// A policy that adds a conftest.py beside its fix: the reward is what the verifier
// says, and the trajectory carries the sign.
func TestTamperingIsASign(t *testing.T) {
	r := newRig(t, func(c *Config, _ *simulated.Options) { c.Generator.NumTrajectories = 1 }, "pager-last-page")
	meet := r.opt.Meet
	r.opt.Meet = func(session, stream string, in *task.Instance, workdir string) {
		meet(session, stream, in, workdir)
		st := simulated.Task{Workdir: workdir, TestCommand: in.TestCommand, Stream: stream,
			Edits: []simulated.Edit{{Path: "conftest.py", New: "collect_ignore = []\n", Create: true}}}
		r.sim.Register(session, st)
	}
	r.engine()
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	row := r.rows()["pager-last-page#0"]
	want := []sessions.Sign{{Kind: "startup", What: "added conftest.py"}}
	if !reflect.DeepEqual(row.Tampering, want) || row.Reward == nil || *row.Reward != 0 || row.State != sessions.Done || row.Mask() != "" {
		t.Errorf("%+v", row)
	}
	var p sessions.Tampering
	if events := r.events(sessions.KindTampering); len(events) != 1 || json.Unmarshal(events[0].Data, &p) != nil || !reflect.DeepEqual(p.Signs, want) {
		t.Errorf("%v", events)
	}
}

// Calls that a person wrote, that were refused or that gave way to others are no
// signs of the policy's.
func TestRanCalls(t *testing.T) {
	shell := func(id, status string) (sessions.Call, sessions.Observation) {
		return sessions.Call{ID: id, Name: "bash", Arguments: `{"command":"` + id + `"}`}, sessions.Observation{CallID: id, Status: status}
	}
	turn := func(i int, id, status string) sessions.Turn {
		c, o := shell(id, status)
		return sessions.Turn{Index: i, Source: sessions.FromModel, Calls: []sessions.Call{c}, Observations: []sessions.Observation{o}}
	}
	ok, failed, rejected, invalid, old, hand := turn(1, "a", "ok"), turn(2, "b", "error"), turn(3, "c", "rejected"), turn(4, "d", "invalid"), turn(5, "e", "ok"), turn(5, "f", "ok")
	old.Superseded, hand.Source = true, sessions.FromOperator
	edit, view, waits := turn(6, "g", "ok"), turn(7, "h", "ok"), turn(8, "i", "ok")
	edit.Calls[0].Arguments, view.Calls[0].Arguments = `{"command":"create","path":"/p"}`, `{"command":"view","path":"/q"}`
	waits.Observations = nil
	got := ranCalls([]sessions.Turn{ok, failed, rejected, invalid, old, hand, edit, view, waits})
	want := []task.Call{{Turn: 1, Script: "a"}, {Turn: 2, Script: "b"}, {Turn: 6, Writes: "/p"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
