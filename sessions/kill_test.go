package sessions

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

const killHome = "ROLLBENCH_TEST_KILL_HOME"

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if home := os.Getenv(killHome); home != "" {
		fmt.Println("child failed:", commitForever(home))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// commitForever takes up the run's turns and prints each index once its
// commit has returned.
func commitForever(home string) error {
	ctx := context.Background()
	s, err := Open(ctx, home, "r-1")
	if err != nil {
		return err
	}
	turns, err := s.Turns(ctx, keyA0, 1, 0, 0, true)
	if err != nil {
		return err
	}
	for i := len(turns) + 1; ; i++ {
		w := Write{Turn: killTurn(i), Events: []Event{event(keyA0, i, KindReply, ReplyMade{Turn: i, Source: FromModel, OutputTokens: 1})}}
		if err := s.Commit(ctx, w); err != nil {
			return err
		}
		fmt.Println(i)
	}
}

// killTurn i has the prompt 1…2i−1 and the output 2i.
func killTurn(i int) *Turn {
	t := &Turn{Key: keyA0, Attempt: 1, Index: i, Version: 1, OutputIDs: []int32{int32(2 * i)}, Content: strings.Repeat("x", 3000)}
	for id := 1; id < 2*i; id++ {
		t.PromptIDs = append(t.PromptIDs, int32(id))
	}
	return t
}

// A writer killed at any instant loses nothing it was told is stored, and the
// next one can take over at once.
func TestKillNine(t *testing.T) {
	home := t.TempDir()
	if err := newStore(t, home, "r-1", keyA0).Close(); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 9))
	acknowledged := 0
	for range 6 {
		acknowledged = killAfter(t, home, acknowledged+1+rng.IntN(40))
		s, err := Open(t.Context(), home, "r-1")
		if err != nil {
			t.Fatal(err)
		}
		checkKilled(t, s, acknowledged)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killAfter starts a child and kills it once it has acknowledged the turn; it
// returns the last one it acknowledged.
func killAfter(t *testing.T, home string, turn int) int {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), killHome+"="+home)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	last := 0
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(lines.Text())
		}
		if last = n; n == turn {
			if err := child.Process.Kill(); err != nil { // SIGKILL; lines before it are still read
				t.Fatal(err)
			}
		}
	}
	if err := child.Wait(); err == nil || last < turn {
		t.Fatalf("child ended by itself after turn %d: %v", last, err)
	}
	return last
}

func checkKilled(t *testing.T, s *Store, acknowledged int) {
	t.Helper()
	turns, err := s.Turns(t.Context(), keyA0, 0, 0, 0, true)
	if err != nil || len(turns) < acknowledged {
		t.Fatalf("%d turns are there, %d were acknowledged; %v", len(turns), acknowledged, err)
	}
	for i, turn := range turns {
		want := killTurn(i + 1)
		if turn.Content != want.Content || len(turn.PromptIDs) != 2*i+1 || turn.OutputIDs[0] != int32(2*i+2) {
			t.Fatalf("turn %d is %v %v", i+1, turn.PromptIDs, turn.OutputIDs)
		}
	}
	rows, seq, err := s.Trajectories(t.Context())
	if err != nil || rows[0].Turn != len(turns) || seq != int64(len(turns)) {
		t.Errorf("row has turn %d at seq %d, there are %d turns; %v", rows[0].Turn, seq, len(turns), err)
	}
}
