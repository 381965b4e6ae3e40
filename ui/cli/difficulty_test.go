package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollbench/sessions"
)

// recordRun has for each instance its trajectories' rewards as letters: 1 solved, 0
// not, - none, i solved with a person's help.
func recordRun(t *testing.T, home, id string, n int, rewards map[string]string) {
	t.Helper()
	run := sessions.Run{ID: id, Created: time.Now(), N: n, Model: "m"}
	var events []sessions.Event
	for instance, letters := range rewards {
		for i, letter := range letters {
			k := sessions.Key{Instance: instance, ID: i}
			run.Members = append(run.Members, k)
			add := func(kind sessions.Kind, payload any) {
				events = append(events, sessions.NewEvent(time.Now(), k, kind, payload))
			}
			if letter == 'i' {
				add(sessions.KindIntervention, sessions.Intervention{Verb: "inject"})
			}
			if letter != '-' {
				reward := map[rune]float64{'1': 1, 'i': 1}[letter]
				add(sessions.KindReward, sessions.Rewarded{Reward: &reward})
			}
			add(sessions.KindState, sessions.StateChange{State: sessions.Done})
		}
	}
	store, err := sessions.Create(t.Context(), home, run)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Commit(t.Context(), sessions.Write{Events: events}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// typed runs a command line in this process.
func typed(t *testing.T, args ...string) (out, errs string, err error) {
	t.Helper()
	var o, e bytes.Buffer
	a := &app{defaults: embedded(), in: os.Stdin, out: &o, err: &e}
	root := a.root()
	root.SetArgs(args)
	err = root.ExecuteContext(t.Context())
	return o.String(), e.String(), err
}

func ratedHome(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("ROLLBENCH_HOME", home)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	recordRun(t, home, "r-0101-0001", 4, map[string]string{"imp": "0000", "hard": "1000", "med": "1100", "easy": "1110", "perf": "1111", "none": "----", "helped": "i0--"})
	recordRun(t, home, "r-0101-0002", 2, map[string]string{"hard": "11"})
	recordRun(t, home, "r-0101-0003", 2, map[string]string{"imp": "00"})
}

// hard is 1 of 4 in the first run, and 3 of 6 in both. helped has one try that is
// nobody's but the policy's.
func TestDifficulty(t *testing.T) {
	ratedHome(t)
	out, _, err := typed(t, "difficulty", "r-0101-0001")
	if err != nil {
		t.Fatal(err)
	}
	squeezed := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{"run r-0101-0001 of m, 7 instances", "impossible none 2 33 %", "hard ≤ 1/3 1 17 %", "medium ≤ 2/3 1 17 %", "easy < all 1 17 %", "perfect all 1 17 %",
		"untried no try 1", "hard 1 4 hard", "helped 0 1 impossible", "none 0 0 untried"} {
		if !strings.Contains(squeezed, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	out, _, err = typed(t, "difficulty", "r-0101-0001", "r-0101-0002", "--json")
	if err != nil || !strings.Contains(out, `"levels":{"easy":1,"hard":0,"impossible":2,"medium":2,"perfect":1,"untried":1}`) ||
		!strings.Contains(out, `{"instance_id":"hard","tries":6,"solved":3,"level":"medium"}`) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestMixCommand(t *testing.T) {
	ratedHome(t)
	file := filepath.Join(t.TempDir(), "train.txt")
	run := "r-0101-0001"
	out, _, err := typed(t, "mix", run, "--shares", "hard=50,easy=50", "-o", file)
	if err != nil || !strings.Contains(out, "2 instances of run r-0101-0001 of m, seed 0: 1 hard, 1 easy; a larger set would lack hard ones") {
		t.Errorf("%v %s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			ids = append(ids, strings.TrimSpace(line))
		}
	}
	if fmt.Sprint(ids) != "[hard easy]" {
		t.Errorf("the file has %v", ids)
	}
	if g, err := readGlobs([]string{"@" + file}); err != nil || len(g.exact) != 2 {
		t.Errorf("--instances reads %+v, %v", g, err)
	}
	// Of 8 by the default shares: 1.2, 2.4, 2.4, 2.0: the one left over goes to hard.
	out, errs, err := typed(t, "mix", run, "--size", "8")
	if err != nil || strings.Contains(out, "perf") || !strings.Contains(errs, "1 impossible, 1 hard, 1 medium, 1 easy; could not be filled: 2 more hard (there are 1), 1 more medium (there are 1), 1 more easy (there are 1)") {
		t.Errorf("%v\n%s%s", err, out, errs)
	}
	rows := filepath.Join(t.TempDir(), "rows.jsonl")
	var b strings.Builder
	for id, owner := range map[string]string{"imp": "x", "helped": "y", "hard": "x", "med": "x", "easy": "x", "perf": "x", "none": "x"} {
		fmt.Fprintf(&b, `{"id":%q,"instruction":"i","verify":"true","owner":%q}`+"\n", id, owner)
	}
	if err := os.WriteFile(rows, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, err = typed(t, "mix", run, "--shares", "impossible=100", "--size", "2", "--tasks", rows, "--balance", "owner", "--json")
	if err != nil || !strings.Contains(out, `"instances":["helped","imp"]`) {
		t.Errorf("%v %s", err, out)
	}
	for _, c := range []struct{ want, line string }{
		{"they add up to 90", "mix r-0101-0001 --shares easy=90"},
		{`"simple=100" is no LEVEL=N`, "mix r-0101-0001 --shares simple=100"},
		{"easy is there twice", "mix r-0101-0001 --shares easy=50,easy=50"},
		{"--size is 0", "mix r-0101-0001 --size 0"},
		{"needs --tasks", "mix r-0101-0001 --balance owner"},
		{`no row of ` + rows + ` has such a field`, "mix r-0101-0001 --balance nosuch --tasks " + rows},
		// Of 2 by the default shares: 0.3, 0.6, 0.6, 0.5, so one hard and one medium.
		{"nothing can be drawn of run r-0101-0003 of m: a set of 2 lacks 1 more hard (there are 0), 1 more medium (there are 0)", "mix r-0101-0003 --size 2"},
		{"there is no easy instance", "mix r-0101-0002 --shares easy=100"},
		{"named twice", "mix r-0101-0001 r-0101-0001"},
		{"no such run", "difficulty r-9"},
		{"the file exists", "mix r-0101-0001 --size 3 -o " + file},
	} {
		_, _, err := typed(t, strings.Fields(c.line)...)
		if e, ok := err.(*exit); !ok || e.code != 2 || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.line, err, c.want)
		}
	}
}
