package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"rollbench/engine"
	"rollbench/engine/infer"
	"rollbench/sessions"
)

var (
	watchFor   = flag.Duration("watch.for", 0, "how long TestWatch measures a workbench that watches a busy run; 0 skips it")
	watchTurns = flag.Int("watch.turns", 50, "turns of each trajectory that TestWatch makes")
)

// The synthetic run: so many trajectories, so many of them live.
const (
	watchedAll  = 512
	watchedLive = 96
	watchedRate = 200 // events a second
)

// synthetic is a run made to be watched.
type synthetic struct {
	t     *testing.T
	store *sessions.Store
	next  []int // turn of each live trajectory
	text  string
	live  map[int]*sessions.Turn // of those whose call runs
}

func newSynthetic(t *testing.T, home string, turns int) *synthetic {
	t.Helper()
	run := sessions.Run{ID: "r-watch", Created: time.Now(), Title: "synthetic", N: 8, Model: "qwen3-32b", Policy: "async_pipeline", Endpoint: "http://gpu1:8000"}
	for i := range watchedAll {
		run.Members = append(run.Members, sessions.Key{Instance: fmt.Sprintf("project__%04d", i/8), ID: i % 8})
	}
	run.Members = append(run.Members, sessions.Key{Instance: "zz-long"})
	store, err := sessions.Create(t.Context(), home, run)
	if err != nil {
		t.Fatal(err)
	}
	s := &synthetic{t: t, store: store, next: make([]int, watchedLive), live: map[int]*sessions.Turn{}}
	for i := 0; len(s.text) < 4000; i++ {
		s.text += fmt.Sprintf("src/module_%d.py:%d:    def handler_%d(self, request):\n", i%7, 13*i, i)
	}
	s.commit(sessions.Write{Events: []sessions.Event{
		sessions.NewEvent(time.Now(), sessions.Key{}, sessions.KindRunStarted, sessions.RunStarted{PID: os.Getpid(), Policy: run.Policy}),
		sessions.NewEvent(time.Now(), sessions.Key{}, sessions.KindLimits, sessions.Limits{Who: "config", MaxInit: 8, MaxAgents: watchedLive, MaxEval: 8, MaxLive: 128, Policy: run.Policy}),
	}})
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := w; i < watchedAll; i += 16 {
				s.whole(i, turns)
			}
		})
	}
	wg.Wait()
	for i := range s.next {
		s.next[i] = turns + 1
	}
	s.long(run.Members[watchedAll])
	return s
}

func (s *synthetic) commit(w sessions.Write) {
	if err := s.store.Commit(context.Background(), w); err != nil {
		s.t.Error(err)
	}
}

func (s *synthetic) key(i int) sessions.Key { return s.store.Run().Members[i] }

func (s *synthetic) event(i int, kind sessions.Kind, payload any) sessions.Event {
	return sessions.NewEvent(time.Now(), s.key(i), kind, payload)
}

// reply of a turn, with the events of it.
func (s *synthetic) reply(i, n int) (*sessions.Turn, sessions.Write) {
	t := &sessions.Turn{Key: s.key(i), Attempt: 1, Index: n, Version: 1, Source: sessions.FromModel, Content: "I look at the next place.", Raw: "I look at the next place.",
		Reasoning: strings.Repeat("The error comes from where the name is read. ", 8), OutputIDs: make([]int32, 100), Logprobs: make([]float64, 100),
		Calls: []sessions.Call{{ID: "c", Name: "execute_bash", Arguments: `{"command":"grep -rn handler src"}`}}}
	for j := range t.OutputIDs {
		t.OutputIDs[j] = int32(j + n)
	}
	if n > 1 {
		t.New = []sessions.Message{{Role: "tool", Content: s.text, ToolCallID: "c", Source: sessions.FromTool}}
	}
	return t, sessions.Write{Turn: t, Events: []sessions.Event{s.event(i, sessions.KindReply,
		sessions.ReplyMade{Turn: n, Version: 1, Source: sessions.FromModel, Tools: []string{"execute_bash"}, OutputTokens: 100, Tokens: 300 * n})}}
}

func (s *synthetic) answer(t *sessions.Turn) {
	t.Observations = []sessions.Observation{{CallID: "c", Tool: "execute_bash", Text: s.text, Status: "ok", Source: sessions.FromTool, Wall: time.Second, Started: time.Now()}}
	t.Complete = true
}

// whole trajectory up to its end, or up to now.
func (s *synthetic) whole(i, turns int) {
	s.commit(sessions.Write{Events: []sessions.Event{s.event(i, sessions.KindState, sessions.StateChange{State: sessions.Running, Budget: 32768, Turns: 100})}})
	for n := 1; n <= turns; n++ {
		t, w := s.reply(i, n)
		s.answer(t)
		w.Events = append(w.Events, s.event(i, sessions.KindToolStarted, sessions.ToolStarted{Turn: n, Tool: "execute_bash"}),
			s.event(i, sessions.KindToolFinished, sessions.ToolFinished{Turn: n, Tool: "execute_bash", Status: "ok"}), s.event(i, sessions.KindTurnDone, sessions.TurnDone{Turn: n}))
		s.commit(w)
	}
	if i < watchedLive {
		return
	}
	reward := float64(i % 2)
	s.commit(sessions.Write{Events: []sessions.Event{s.event(i, sessions.KindFinish, sessions.Finished{Reason: sessions.FinishTool}),
		s.event(i, sessions.KindReward, sessions.Rewarded{Reward: &reward}), s.event(i, sessions.KindState, sessions.StateChange{State: sessions.Done})}})
}

// long trajectory: 50 turns of 2 MiB, with escape sequences and wide characters.
func (s *synthetic) long(k sessions.Key) {
	i := watchedAll
	s.commit(sessions.Write{Events: []sessions.Event{s.event(i, sessions.KindState, sessions.StateChange{State: sessions.Running, Budget: 1 << 20, Turns: 50})}})
	var text strings.Builder
	for n := 0; text.Len() < 2<<20; n++ {
		fmt.Fprintf(&text, "src/module_%d.py:%d: \x1b[31mdef\x1b[0m handler_%d(request, 漢字=None, ok='👩‍👩‍👧'): # %s\n", n%97, n, n, strings.Repeat("x", n%60))
	}
	short := s.text
	s.text = text.String()
	for n := 1; n <= 50; n++ {
		t, w := s.reply(i, n)
		s.answer(t)
		w.Events = append(w.Events, s.event(i, sessions.KindTurnDone, sessions.TurnDone{Turn: n}))
		s.commit(w)
	}
	s.text = short
	s.commit(sessions.Write{Events: []sessions.Event{s.event(i, sessions.KindFinish, sessions.Finished{Reason: sessions.MaxIterationsReached}), s.event(i, sessions.KindState, sessions.StateChange{State: sessions.Done})}})
}

// work goes on until the channel is closed: events at the rate, each in a write of its
// own, and the gauges once a second.
func (s *synthetic) work(stop <-chan struct{}) {
	tick := time.NewTicker(time.Second / watchedRate)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		i := n / 4 % watchedLive
		switch n % 4 {
		case 0:
			t, w := s.reply(i, s.next[i])
			s.next[i]++
			s.live[i] = t
			s.commit(w)
		case 1:
			s.commit(sessions.Write{Events: []sessions.Event{s.event(i, sessions.KindToolStarted, sessions.ToolStarted{Turn: s.next[i] - 1, Tool: "execute_bash"})}})
		case 2:
			s.commit(sessions.Write{Events: []sessions.Event{s.event(i, sessions.KindToolFinished, sessions.ToolFinished{Turn: s.next[i] - 1, Tool: "execute_bash", Status: "ok", Wall: time.Second})}})
		case 3:
			t := s.live[i]
			s.answer(t)
			s.commit(sessions.Write{Turn: t, Events: []sessions.Event{s.event(i, sessions.KindTurnDone, sessions.TurnDone{Turn: t.Index})}})
		}
		if n%watchedRate == 0 {
			s.gauge()
		}
	}
}

// finish what is live.
func (s *synthetic) finish() {
	for i := range watchedLive {
		s.commit(sessions.Write{Events: []sessions.Event{s.event(i, sessions.KindFinish, sessions.Finished{Reason: sessions.FinishTool}), s.event(i, sessions.KindState, sessions.StateChange{State: sessions.Done})}})
	}
}

func (s *synthetic) gauge() {
	busy, kv := float64(watchedLive), 0.7
	st := engine.Status{At: time.Now(), Started: s.store.Run().Created, Running: true, Policy: "async_pipeline", Run: engine.Queue{Busy: watchedLive, Limit: watchedLive}, Live: watchedLive, MaxLive: 128,
		Endpoints: []engine.Endpoint{{URL: "http://gpu1:8000", Model: "qwen3-32b", Healthy: true, Gauges: &infer.Gauges{At: time.Now(), Running: &busy, KVUse: &kv}}}}
	snapshot, err := json.Marshal(st)
	if err != nil {
		s.t.Error(err)
		return
	}
	point, err := json.Marshal(engine.Point{At: st.At, Busy: [3]int{0, watchedLive, 0}, Limit: [3]int{8, watchedLive, 8}, Live: watchedLive, Requests: &busy, KVUse: &kv})
	if err != nil {
		s.t.Error(err)
		return
	}
	if err := s.store.PutGauge(context.Background(), snapshot, point); err != nil {
		s.t.Error(err)
	}
}

// child of a terminal's shell: the program in it.
func (tm *terminal) child() int {
	tm.t.Helper()
	pane := strings.TrimSpace(tm.tmux("display-message", "-p", "-t", "w", "#{pane_pid}"))
	data, err := os.ReadFile(filepath.Join("/proc", pane, "task", pane, "children"))
	if err != nil {
		tm.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.Fields(string(data) + " 0")[0])
	if err != nil || pid == 0 {
		tm.t.Fatalf("the terminal runs nothing: %q", data)
	}
	return pid
}

// cpu time that a process has used, user and system, in ticks of 10 ms.
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	f := strings.Fields(rest)
	user, err1 := strconv.Atoi(f[11])
	system, err2 := strconv.Atoi(f[12])
	if err1 != nil || err2 != nil {
		t.Fatalf("stat of %d: %s", pid, data)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// highWater is the most memory a process had resident, in MiB.
func highWater(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}

// share of one core that a process uses over a while.
func cpuShare(t *testing.T, pid int, over time.Duration) float64 {
	t.Helper()
	before, began := cpuOf(t, pid), time.Now()
	<-time.After(over)
	return float64(cpuOf(t, pid)-before) / float64(time.Since(began))
}

// TestWatch measures the program itself on a run that another process writes: the
// processor while it watches, and while nothing happens any more, and the memory after
// a walk through everything.
//
//	go test ./ui/cli -run '^TestWatch$' -v -timeout 30m -watch.for 60s
func TestWatch(t *testing.T) {
	if *watchFor == 0 {
		t.Skip("-watch.for says how long")
	}
	s := newShop(t)
	began := time.Now()
	run := newSynthetic(t, s.home, *watchTurns)
	defer func() {
		if err := run.store.Close(); err != nil {
			t.Error(err)
		}
	}()
	t.Logf("%d trajectories of %d turns, one of 100 MB: made in %v", watchedAll, *watchTurns, time.Since(began).Round(time.Second))
	stop := make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() { run.work(stop) })
	rest := sync.OnceFunc(func() { close(stop); working.Wait() })
	defer rest()
	tm := s.terminal(200, 60, "open", "r-watch")
	tm.sees("project__0000", "read only")
	pid := tm.child()
	tm.keys("Down", "Down", "Enter") // the transcript of a live one
	tm.sees("grep -rn handler")
	t.Logf("resident at most after opening: %d MiB", highWater(t, pid))
	t.Logf("watching, %d events a second, the transcript of a live trajectory beside the list: %.1f %% of a core", watchedRate, 100*cpuShare(t, pid, *watchFor))
	tm.keys("Escape")
	<-time.After(time.Second)
	tm.keys("Q")
	tm.sees("stages")
	t.Logf("the same, the queues: %.1f %%", 100*cpuShare(t, pid, *watchFor/2))
	tm.keys("Escape")
	walk(tm)
	t.Logf("resident at most after a walk through all views, the 100 MB trajectory too: %d MiB", highWater(t, pid))
	rest()
	run.finish()
	tm.sees("finished")
	<-time.After(6 * time.Second)
	t.Logf("idle, after the end: %.2f %% of a core", 100*cpuShare(t, pid, *watchFor))
	t.Logf("resident at most in the end: %d MiB", highWater(t, pid))
	if most := highWater(t, pid); most > 300 {
		t.Errorf("%d MiB were resident", most)
	}
	tm.keys("q")
	tm.sees("left with 0")
}

// walk through every view of a usual trajectory and of the long one.
func walk(tm *terminal) {
	tm.t.Helper()
	for _, where := range []string{"g", "G"} {
		tm.keys("1", where)
		for _, view := range []string{"2", "3", "4", "5", "6", "7", "8", "2"} {
			tm.keys(view)
			for _, k := range []string{"G", "PageUp", "PageUp", "PageUp", "g", "PageDown", "PageDown", "{", "}", "}"} {
				tm.keys(k)
				<-time.After(150 * time.Millisecond)
			}
		}
	}
	tm.keys("2", "G", "Up", "Up", "Up", "Enter") // unfolded
	for range 40 {
		tm.keys("PageUp")
		<-time.After(50 * time.Millisecond)
	}
	tm.keys("?")
	<-time.After(time.Second)
	tm.keys("Escape")
	<-time.After(time.Second)
	tm.keys("m")
	<-time.After(time.Second)
	tm.keys("Escape")
	<-time.After(time.Second)
	tm.keys("C-f", "handler_9", "Enter")
	<-time.After(20 * time.Second)
	for _, k := range []string{"Escape", "Escape", "1"} { // together they would be another key
		tm.keys(k)
		<-time.After(time.Second)
	}
}
