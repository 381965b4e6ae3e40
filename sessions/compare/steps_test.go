package compare

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"rollbench/sessions"
)

// shelf is the turns of some trajectories, and what was read of it.
type shelf struct {
	turns map[sessions.Key][]sessions.Turn
	read  []string
}

func (s *shelf) Turns(_ context.Context, key sessions.Key, attempt, from, to int, withIDs bool) ([]sessions.Turn, error) {
	s.read = append(s.read, fmt.Sprintf("#%d %d–%d %v", key.ID, from, to, withIDs))
	var out []sessions.Turn
	for _, t := range s.turns[key] {
		if t.Index >= from && t.Index <= to && t.Attempt == attempt {
			if !withIDs {
				t.OutputIDs = nil
			}
			out = append(out, t)
		}
	}
	return out, nil
}

// turn with calls "tool arguments → what it saw"; no calls: its text.
func turn(key sessions.Key, n int, calls ...string) sessions.Turn {
	t := sessions.Turn{Key: key, Attempt: 1, Index: n, Version: 1, Source: sessions.FromModel, Complete: true}
	for i, c := range calls {
		said, saw, answered := strings.Cut(c, " → ")
		name, args, called := strings.Cut(said, " ")
		if !called {
			t.Content = said
			continue
		}
		id := fmt.Sprintf("c%d", i)
		t.Calls = append(t.Calls, sessions.Call{ID: id, Name: name, Arguments: args})
		if answered {
			t.Observations = append(t.Observations, sessions.Observation{CallID: id, Tool: name, Text: saw, Status: "ok", Source: sessions.FromTool})
		}
	}
	return t
}

var t0 = time.Unix(1_000_000, 0)

var k0, k1, k2 = sessions.Key{Instance: "a"}, sessions.Key{Instance: "a", ID: 1}, sessions.Key{Instance: "a", ID: 2}

func TestSignatures(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a": 1, "b": "x"}`, `{"b":"x","a":1}`, true},
		{`{"a": "<é>"}`, "{\"a\": \"\\u003c\\u00e9>\"}", true},
		{`{"a": 1}`, `{"a": 1.0}`, false}, // what a tool makes of it is its own
		{`{"a": 1}`, `{"a": "1"}`, false},
		{`{"a": 10000000000000000000001}`, `{"a": 10000000000000000000002}`, false},
		{`{"a": "x"}`, `{"a": "x "}`, false},
		{`not JSON `, `not JSON`, true},
		{`{"a": 1} {}`, `{"a": 1}`, false},
		{`[1]`, `[1, 2]`, false},
		{``, `{}`, false},
	} {
		x, _ := normal(c.a)
		y, _ := normal(c.b)
		if (x == y) != c.same {
			t.Errorf("%s and %s: %q, %q, want the same: %v", c.a, c.b, x, y, c.same)
		}
	}
	_, like := normal(`{"path": "/x.py", "command": "view"}`)
	_, other := normal(`{"command": "view", "path": "/x.py", "view_range": [1, 2]}`)
	if like != "view /x.py" || like != other {
		t.Errorf("%q and %q", like, other)
	}
}

// A trace has the replies in effect; what was read and complete is not read again.
func TestFollow(t *testing.T) {
	old := turn(k0, 2, `bash {"c":1}`)
	old.Superseded = true
	now := turn(k0, 2, `bash {"c":2}`)
	now.Version, now.Source, now.Complete = 2, sessions.FromOperator, false
	s := &shelf{turns: map[sessions.Key][]sessions.Turn{k0: {turn(k0, 1, `bash {} → x`), old, now}}}
	first, err := Follow(t.Context(), s, Trace{}, k0, 1, 2)
	if err != nil || len(first.Steps) != 2 || first.Steps[1].Sign != "bash\x00"+`{"c":2}` || !first.Steps[1].Changed || first.Steps[1].Answered {
		t.Fatalf("%v %+v", err, first)
	}
	now = turn(k0, 2, `bash {"c":2} → y`)
	s.turns[k0] = []sessions.Turn{s.turns[k0][0], now, turn(k0, 3, "Done.")}
	next, err := Follow(t.Context(), s, first, k0, 1, 3)
	if err != nil || len(next.Steps) != 3 || next.Steps[1].Saw != "y" || next.Steps[2].Call != -1 || next.Steps[2].Args != "Done." {
		t.Fatalf("%v %+v", err, next)
	}
	if len(first.Steps) != 2 || first.Steps[1].Answered {
		t.Errorf("the trace before has changed: %+v", first)
	}
	again, err := Follow(t.Context(), s, next, k0, 1, 3)
	if err != nil || !reflect.DeepEqual(again, next) {
		t.Errorf("%v %+v", err, again)
	}
	if want := []string{"#0 1–2 false", "#0 2–3 false", "#0 3–3 false"}; !reflect.DeepEqual(s.read, want) {
		t.Errorf("read %v, want %v", s.read, want)
	}
	if other, err := Follow(t.Context(), s, next, k0, 2, 0); err != nil || len(other.Steps) > 0 {
		t.Errorf("another attempt has %+v %v", other, err)
	}
}

// A turn that was cut off is read again, also when others have followed.
func TestFollowIncomplete(t *testing.T) {
	half := turn(k0, 1, "bash 1")
	half.Complete = false
	s := &shelf{turns: map[sessions.Key][]sessions.Turn{k0: {half, turn(k0, 2, "bash 2 → y"), turn(k0, 3, "bash 3 → z")}}}
	had, err := Follow(t.Context(), s, Trace{}, k0, 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	s.turns[k0][0] = turn(k0, 1, "bash 1 → x")
	if next, err := Follow(t.Context(), s, had, k0, 1, 3); err != nil || !next.Steps[0].Answered || len(next.Steps) != 3 {
		t.Errorf("%v %+v", err, next.Steps)
	}
}

// Calls that share an id are told apart by their place.
func TestSharedIDs(t *testing.T) {
	u := turn(k0, 1, `bash {"c":1} → x`, `bash {"c":2} → y`)
	for i := range u.Calls {
		u.Calls[i].ID, u.Observations[i].CallID = "", ""
	}
	if a, b := stepOf(&u, 0), stepOf(&u, 1); a.Saw != "x" || b.Saw != "y" {
		t.Errorf("saw %q and %q", a.Saw, b.Saw)
	}
}

func TestSaw(t *testing.T) {
	long := strings.Repeat("line\n", keepSaw)
	for _, c := range []struct {
		a, b string
		same bool
		line int
	}{
		{"x\ny\n", "x\ny\n", true, 0},
		{"x\ny\n", "x\nz\n", false, 2},
		{"x\ny", "x\ny\nz", false, 2},
		{"", "x", false, 1},
		{long + "a", long + "b", false, 0}, // beyond what is kept
		{"é", "è", false, 1},
	} {
		x, y := turn(k0, 1, "bash {} → "+c.a), turn(k0, 1, "bash {} → "+c.b)
		a, b := stepOf(&x, 0), stepOf(&y, 0)
		if SameSaw(&a, &b) != c.same || SawLine(&a, &b) != c.line {
			t.Errorf("%.9q and %.9q: same %v, line %d", c.a, c.b, SameSaw(&a, &b), SawLine(&a, &b))
		}
	}
	x, y := turn(k0, 1, "bash {} → x"), turn(k0, 1, "bash {} → x")
	y.Observations[0].Status = "error"
	if a, b := stepOf(&x, 0), stepOf(&y, 0); SameSaw(&a, &b) {
		t.Error("a failed call answered the same as one that did not")
	}
}

func trace(t *testing.T, turns ...sessions.Turn) Trace {
	t.Helper()
	turns = slices.Clone(turns)
	for i := range turns {
		turns[i].Index = i + 1
	}
	s := &shelf{turns: map[sessions.Key][]sessions.Turn{k0: turns}}
	tr, err := Follow(t.Context(), s, Trace{}, k0, 1, len(turns))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestPart(t *testing.T) {
	one, two, three := turn(k0, 1, "bash 1 → x"), turn(k0, 2, "bash 2 → y"), turn(k0, 3, "bash 3 → z")
	thought := two
	thought.Reasoning = "hm"
	raw := two
	raw.Raw = "<think>hm</think>"
	saw := turn(k0, 2, "bash 2 → other")
	pending := turn(k0, 2, "bash 2")
	pending.Complete = false
	for _, c := range []struct {
		name string
		a, b []sessions.Turn
		ends [2]bool
		want Parting
	}{
		{"alike", []sessions.Turn{one, two}, []sessions.Turn{one, two}, [2]bool{true, true}, Parting{}},
		{"another call", []sessions.Turn{one, two}, []sessions.Turn{one, three}, [2]bool{}, Parting{Text: 2, Call: 2}},
		{"another thought", []sessions.Turn{one, two, three}, []sessions.Turn{one, thought, two}, [2]bool{}, Parting{Text: 2, Call: 3}},
		{"raw text known of one: the parts count", []sessions.Turn{one, two}, []sessions.Turn{one, raw}, [2]bool{}, Parting{}},
		{"other answers", []sessions.Turn{one, two, one}, []sessions.Turn{one, saw, three}, [2]bool{}, Parting{Text: 3, Call: 3, Saw: 2}},
		{"not answered yet", []sessions.Turn{one, two}, []sessions.Turn{one, pending}, [2]bool{}, Parting{}},
		{"one goes on, the other may", []sessions.Turn{one}, []sessions.Turn{one, two}, [2]bool{false, true}, Parting{}},
		{"one goes on, the other has ended", []sessions.Turn{one}, []sessions.Turn{one, two}, [2]bool{true, false}, Parting{Text: 2, Call: 2, Alone: true}},
		{"nothing yet", nil, []sessions.Turn{one}, [2]bool{}, Parting{}},
	} {
		if got := Part(trace(t, c.a...), trace(t, c.b...), c.ends[0], c.ends[1]); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// Ids are read from the start, as far as it takes to see where they part.
func TestPartTokens(t *testing.T) {
	ids := func(key sessions.Key, replies ...[]int32) (out []sessions.Turn) {
		for i, r := range replies {
			u := turn(key, i+1, "same")
			u.OutputIDs = r
			out = append(out, u)
		}
		return out
	}
	k3, k4 := sessions.Key{Instance: "a", ID: 3}, sessions.Key{Instance: "a", ID: 4}
	s := &shelf{turns: map[sessions.Key][]sessions.Turn{
		k0: ids(k0, []int32{1, 2}, []int32{3}, []int32{4, 5, 6}),
		k1: ids(k1, []int32{1, 2}, []int32{3}, []int32{4, 7}),
		k2: ids(k2, []int32{1, 2, 9}),
		k3: ids(k3, []int32{1, 2}, nil),
		k4: ids(k4, []int32{1, 2}, []int32{3}),
	}}
	list := []Attempt{{k0, 1, 3, true}, {k1, 1, 3, true}, {k2, 1, 1, true}, {k3, 1, 2, true}, {k4, 1, 2, true}}
	got, err := PartTokens(t.Context(), s, list)
	want := []TokenPart{{}, {true, 3, 1}, {true, 1, 2}, {}, {true, 3, 0}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v, want %v", err, got, want)
	}
	if strings.Join(s.read[:3], ", ") != "#0 1–1 true, #1 1–1 true, #2 1–1 true" || strings.Contains(strings.Join(s.read[5:], ""), "#2") {
		t.Errorf("read %v", s.read)
	}
	list[4].IsEnded = false // may go on
	if got, err := PartTokens(t.Context(), s, list); err != nil || got[4] != (TokenPart{Known: true}) {
		t.Errorf("%v %v", got[4], err)
	}
}

// Whatever a model writes as arguments has a signature, and the same JSON written
// another way has the same one.
func FuzzSignature(f *testing.F) {
	for _, s := range []string{`{"a": 1, "b": [true, null]}`, `{"path": 7}`, `{"a": 1e400}`, "", "\x00\xff", `{"a":"\ud800"}`, `{"command": "view", "path": "/x"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		same, like := normal(arguments)
		again, likeAgain := normal(same)
		if same != again || like != likeAgain {
			t.Errorf("%q: %q, then %q", arguments, same, again)
		}
	})
}
