package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"rollbench/engine/infer/simulated"
	"rollbench/search"
	"rollbench/sessions"
	"rollbench/tools/follow"
)

// searching is a rig of one trajectory whose policy has the search tool.
func searching(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	r := newRig(t, func(c *Config, _ *simulated.Options) {
		c.Generator.NumTrajectories = 1
		c.Tools.Search, c.Tools.SearchMB = true, 64
		if change != nil {
			change(c)
		}
	}, "build-order-cycle")
	var err error
	if r.opt.Bases, err = follow.NewBases(t.TempDir(), 64<<20); err != nil {
		t.Fatal(err)
	}
	return r.engine()
}

// holdsAt goes on to a gate of the first trajectory.
func (r *rig) holdsAt(turn int, at sessions.Gate) {
	r.t.Helper()
	key := r.store.Run().Members[0]
	for {
		row := r.row(0)
		r.until("held", func() bool { row = r.row(0); return row.State == sessions.Held })
		if row.Turn == turn && row.HeldAt == at {
			return
		}
		if row.Turn > turn {
			r.t.Fatalf("held at %s of turn %d", row.HeldAt, row.Turn)
		}
		if err := r.Step(key, "into"); err != nil {
			r.t.Fatal(err)
		}
		r.until("goes on", func() bool { now := r.row(0); return now.Turn != row.Turn || now.HeldAt != row.HeldAt })
	}
}

// call has the held trajectory make this call instead of its own.
func (r *rig) call(tool, arguments string) {
	r.t.Helper()
	if err := r.EditCall(r.store.Run().Members[0], 0, tool, arguments); err != nil {
		r.t.Fatal(err)
	}
}

const longFile = `{"command": "python3 -c \"print('def lengthy(n):' + '\\n    n = n + 1  # padding padding padding' * 300 + '\\n    return n\\n\\n\\ndef uses_it():\\n    return lengthy(2)')\" > lengthy.py"}`

// The hints of an answer that had to be cut, by search itself or as any observation
// is, stand in the prompt of the next model call as the endpoint counts its tokens.
func TestHintsReachTheModel(t *testing.T) {
	for limit, cut := range map[int]string{900: "lines not shown", 300: "characters are cut here"} {
		t.Run(cut, func(t *testing.T) { hintsReachTheModel(t, limit, cut) })
	}
}

func hintsReachTheModel(t *testing.T, limit int, cut string) {
	r := searching(t, func(c *Config) { c.Tools.PerTool = map[string]int{"search": limit} })
	key := r.store.Run().Members[0]
	if err := r.Pause(key); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- r.Run(t.Context()) }()
	r.holdsAt(1, sessions.AfterReply)
	r.call("execute_bash", longFile)
	r.holdsAt(2, sessions.AfterReply)
	r.call("search", `{"search_terms": ["lengthy"]}`)
	r.holdsAt(3, sessions.AfterReply)
	answer, _, err := r.SearchSource(t.Context(), key, search.Query{Terms: []string{"lengthy"}})
	if err != nil || len(answer.Hints) == 0 || !strings.Contains(answer.Hints[0].Text, "lengthy.py:uses_it") {
		t.Fatalf("hints %+v, %v", answer.Hints, err)
	}
	turns, err := r.store.Turns(t.Context(), key, 0, 3, 3, true)
	if err != nil || len(turns) == 0 {
		t.Fatal(err)
	}
	prompt, err := r.opt.Endpoints[0].Client.Detokenize(t.Context(), turns[len(turns)-1].PromptIDs)
	if err != nil {
		t.Fatal(err)
	}
	_, seen, _ := strings.Cut(prompt, "\nlengthy: 1 found")
	seen, _, _ = strings.Cut(seen, "</tool_response>")
	if !strings.Contains(seen, cut) || strings.Contains(seen, "return n\n") || len(seen) > limit {
		t.Errorf("not cut as it should be: %s", seen)
	}
	for _, h := range answer.Hints {
		if !strings.Contains(seen, "\n"+h.Text) {
			t.Errorf("the hint %q is not in the prompt: %s", h.Text, seen)
		}
	}
	r.Stop()
	<-done
}

// What a person looks for is found as the policy has edited it, and leaves no trace.
func TestSearchSource(t *testing.T) {
	r := searching(t, nil)
	key := r.store.Run().Members[0]
	ask := func(term string) (search.Answer, []search.Hit, error) {
		return r.SearchSource(t.Context(), key, search.Query{Terms: []string{term}})
	}
	if _, _, err := ask("x"); err == nil || err.Error() != fmt.Sprintf("the sandbox of %s is not open: it is still to be prepared", key) {
		t.Errorf("before the run: %v", err)
	}
	if err := r.Pause(key); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- r.Run(t.Context()) }()
	r.holdsAt(1, sessions.AfterReply)
	r.call("execute_bash", longFile)
	r.holdsAt(2, sessions.AfterReply)
	before := len(r.said(""))
	answer, hits, err := ask("lengthy")
	if err != nil || len(hits) != 1 || hits[0].ID() != "lengthy.py:lengthy" || !strings.HasPrefix(answer.Text, "lengthy: 1 found\nlengthy.py:lengthy (function, lines 1-302)") {
		t.Errorf("%q %+v %v", answer.Text, hits, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := r.SearchSource(ended, key, search.Query{Terms: []string{"x"}}); err == nil {
		t.Error("a look that was given up found something")
	}
	if got := r.said(""); len(got) != before {
		t.Errorf("looking was recorded: %q", got[before:])
	}
	r.Stop()
	<-done
	if _, _, err := ask("x"); err == nil {
		t.Error("found something in a closed sandbox")
	}
	r.nothingOpen()
}

// Looking all the time beside the policy's own tools changes nothing of what it does.
func TestSearchSourceBesideTheLoop(t *testing.T) {
	work := func(looks bool) (said []string) {
		r := searching(t, nil)
		key := r.store.Run().Members[0]
		over, joined := make(chan struct{}), make(chan int)
		go func() {
			found := 0
			for looks {
				if answer, _, err := r.SearchSource(t.Context(), key, search.Query{Terms: []string{"order"}}); err == nil && answer.Text != "" {
					found++
				}
				select {
				case <-over:
					joined <- found
					return
				default:
				}
			}
			<-over
			joined <- 0
		}()
		err := r.Run(t.Context())
		close(over)
		if found := <-joined; err != nil || looks && found == 0 {
			t.Fatalf("found %d times, %v", found, err)
		}
		if row := r.row(0); row.State != sessions.Done || row.Intervened {
			t.Errorf("%s, intervened %v", row.State, row.Intervened)
		}
		if all := append(r.said(sessions.KindIntervention), r.said(sessions.KindCommand)...); len(all) > 0 {
			t.Errorf("recorded %q", all)
		}
		turns, err := r.store.Turns(t.Context(), key, 0, 0, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range turns {
			calls, err := json.Marshal(turn.Calls)
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, string(calls))
		}
		_, _, err = r.SearchSource(t.Context(), key, search.Query{Terms: []string{"order"}})
		if err == nil || err.Error() != fmt.Sprintf("the run stage of %s is over and its sandbox closed", key) {
			t.Errorf("after the run: %v", err)
		}
		return said
	}
	if alone, watched := work(false), work(true); !slices.Equal(alone, watched) {
		t.Errorf("alone:\n%s\nwatched:\n%s", strings.Join(alone, "\n"), strings.Join(watched, "\n"))
	}
}

// Without the tool there is no index to ask.
func TestSearchSourceOff(t *testing.T) {
	r := setup(t, 1, nil).engine()
	key := r.store.Run().Members[0]
	if _, _, err := r.SearchSource(t.Context(), key, search.Query{Terms: []string{"x"}}); err == nil || err.Error() != "nothing is indexed: tools.enable_search is false in this run" {
		t.Error(err)
	}
	if _, _, err := r.SearchSource(t.Context(), sessions.Key{Instance: "no"}, search.Query{}); err == nil {
		t.Error("there is no such trajectory")
	}
}
