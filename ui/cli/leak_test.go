package cli

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	leakKills = flag.Int("leak.kills", 3, "how often TestLeak kills rollbench")
	leakSeed  = flag.Uint64("leak.seed", 0, "seed of TestLeak's moments; 0: another each time")
)

// TestLeak kills rollbench at random moments under load and looks, after the next
// start, for whatever is left: nothing may be.
//
//	go test ./ui/cli -run '^TestLeak$' -v -leak.kills 50 -leak.seed N
func TestLeak(t *testing.T) {
	t.Parallel()
	image := testImage(t)
	companions, err := filepath.Abs(filepath.Join("testdata", "compose"))
	if err != nil {
		t.Fatal(err)
	}
	s := newShop(t)
	tmp := filepath.Join(s.home, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, "TMPDIR="+tmp)
	seed := *leakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("moments of seed %d (repeat with -leak.seed)", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var dead []remains
	checked, containers, folders := 0, 0, 0
	for i := range *leakKills {
		kind := "docker"
		if random.IntN(4) == 0 {
			kind = "local"
		}
		policy := []string{"async_pipeline", "async_batch_bounded"}[random.IntN(2)]
		moment := time.Duration(random.Int64N(int64(8 * time.Second)))
		if random.IntN(3) == 0 { // while the first containers are being made
			moment = 400*time.Millisecond + time.Duration(random.Int64N(int64(time.Second)))
		}
		tasks, name := "bundled", "pager-last-page"
		if kind == "docker" && random.IntN(3) == 0 { // with companions
			tasks, name = companions, "greeting"
		}
		pid, started := s.killAt(moment, "run", "--headless", "--tasks", tasks, "--instances", name, "--sandbox", kind,
			"--set", "sandbox.build_args.BASE="+image, "--set", "generator.num_trajectories=24", "--set", "dispatcher.type="+policy,
			"--set", "dispatcher.max_parallel_agents=6", "--set", "dispatcher.max_live_sandboxes=8", "--set", "sandbox.memory_mb=256")
		if started { // it has removed what the ones before had left
			s.gone(dead[checked:])
			checked = len(dead)
		}
		r := s.remainsOf(pid, dead)
		t.Logf("%2d: %s in %s, %s, killed after %v: %d containers and %d local folders and owner files were left", i, name, kind, policy, moment.Round(time.Millisecond), len(r.containers), len(r.local))
		dead = append(dead, r)
		containers, folders = containers+len(r.containers), folders+len(r.local)
		if random.IntN(2) == 0 || i == *leakKills-1 {
			s.run("clean")
			s.gone(dead[checked:])
			checked = len(dead)
		}
	}
	s.gone(dead)
	s.leftNothing()
	for _, p := range processesWith([]string{s.home}) {
		t.Errorf("a process is left: %s", p)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
	if left, err := networks(); err != nil || len(left) > 0 {
		t.Errorf("networks are left: %v, %v", left, err)
	}
	if !t.Failed() {
		t.Logf("%d kills left %d containers and %d local folders and owner files; after the next start none was there", *leakKills, containers, folders)
	}
}

// killAt starts the program and kills it at a moment after that. started: it had
// begun its run, so what others left had been removed.
func (s *shop) killAt(moment time.Duration, args ...string) (pid string, started bool) {
	s.t.Helper()
	cmd := s.command(args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	type result struct {
		started bool
		said    string
	}
	read := make(chan result, 1)
	go func() { // ends with the program, whose death closes the pipe
		var r result
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			r.started = r.started || strings.HasPrefix(lines.Text(), "run ")
			r.said += lines.Text() + "\n"
		}
		_, _ = io.Copy(io.Discard, out)
		read <- r
	}()
	<-time.After(moment)
	if err := cmd.Process.Kill(); err != nil {
		s.t.Error(err)
	}
	r := <-read
	if err := cmd.Wait(); err == nil || fmt.Sprint(err) != "signal: killed" {
		s.t.Errorf("it was not killed after %v but ended: %v\n%s", moment, err, r.said)
	}
	return strconv.Itoa(cmd.Process.Pid), r.started
}
