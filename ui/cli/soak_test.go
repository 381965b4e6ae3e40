package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"rollbench/sessions"
)

var (
	soakN        = flag.Int("soak.n", 6, "trajectories of TestSoak")
	soakParallel = flag.Int("soak.parallel", 3, "trajectories that TestSoak works on at once")
)

// sample of this process and of the engine's containers at one moment.
type sample struct {
	live, containers  int // sandboxes as the engine here counts them, and as docker does
	goroutines, files int
	resident          int64 // bytes
}

// most of two samples, number by number.
func (a sample) most(b sample) sample {
	return sample{max(a.live, b.live), max(a.containers, b.containers), max(a.goroutines, b.goroutines), max(a.files, b.files), max(a.resident, b.resident)}
}

func takeSample(t *testing.T, w *work) sample {
	t.Helper()
	s := sample{goroutines: runtime.NumGoroutine()}
	if w != nil {
		s.live = w.engine.Status().Live
		// By owner: another home on this machine may have a run of the same id.
		s.containers = len((&shop{t: t}).containersOf(strconv.Itoa(os.Getpid())))
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	s.files = len(fds)
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	s.resident = pages * int64(os.Getpagesize())
	return s
}

// TestSoak works many trajectories in containers, in this process, and looks at it
// and at the engine while it runs: sandboxes stay within their budget, and memory,
// goroutines and descriptors within bounds that do not depend on how many
// trajectories there are.
//
//	go test ./ui/cli -run '^TestSoak$' -v -timeout 60m -soak.n 200 -soak.parallel 16
func TestSoak(t *testing.T) {
	a := testApp(t)
	image := testImage(t)
	t.Setenv("ROLLBENCH_HOME", t.TempDir())
	live := *soakParallel + 3
	a.out, a.err = io.Discard, io.Discard
	a.flags.headless, a.flags.tasks, a.flags.instances, a.flags.sandbox = true, "bundled", []string{"pager-last-page"}, "docker"
	a.flags.set = []string{"sandbox.build_args.BASE=" + image, "sandbox.memory_mb=256", "sandbox.cpus=1", fmt.Sprintf("generator.num_trajectories=%d", *soakN),
		fmt.Sprintf("dispatcher.max_parallel_agents=%d", *soakParallel), fmt.Sprintf("dispatcher.max_eval_parallel_agents=%d", max(*soakParallel/4, 1)), fmt.Sprintf("dispatcher.max_live_sandboxes=%d", live)}
	before := takeSample(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w, err := a.begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	done := make(chan error, 1)
	go func() { done <- w.engine.Run(ctx) }()
	all, late := sample{}, sample{} // late: of the second half
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for running := true; running; {
		select {
		case err = <-done:
			running = false
		case <-tick.C:
			s := takeSample(t, w)
			if s.live > live || s.containers > live {
				t.Errorf("%d sandboxes, %d containers, %d are allowed", s.live, s.containers, live)
			}
			if 2*w.engine.Status().Ended < *soakN {
				all = all.most(s)
			} else {
				late = late.most(s)
			}
		}
	}
	wall := time.Since(began)
	rows, _, rerr := w.store.Trajectories(ctx)
	run := w.store.Run()
	if err = errors.Join(err, rerr, w.close.Close()); err != nil {
		t.Fatal(err)
	}
	sum := sessions.Summarize(run, rows)
	if sum.Done != *soakN || sum.Failed+sum.Cancelled != 0 {
		t.Errorf("of %d trajectories %d are done, %d failed, %d cancelled", *soakN, sum.Done, sum.Failed, sum.Cancelled)
	}
	after := takeSample(t, nil)
	checkSoak(t, before, all, late, after, live)
	s := &shop{t: t, home: os.Getenv("ROLLBENCH_HOME")}
	s.leftNothing()
	if left := s.containersOf(strconv.Itoa(os.Getpid())); len(left) > 0 {
		t.Errorf("containers are left: %v", left)
	}
	all = all.most(late)
	t.Logf("| trajectories | at once | done | solved | wall | each | most sandboxes (limit %d) | most containers | resident: before, most, after | goroutines | descriptors |", live)
	t.Logf("| %d | %d | %d | %d | %v | %v | %d | %d | %d, %d, %d MB | %d, %d, %d | %d, %d, %d |", *soakN, *soakParallel, sum.Done, sum.Solved, wall.Round(time.Second),
		(wall / time.Duration(*soakN)).Round(10*time.Millisecond), all.live, all.containers, before.resident>>20, all.resident>>20, after.resident>>20,
		before.goroutines, all.goroutines, after.goroutines, before.files, all.files, after.files)
}

// checkSoak bounds what a run takes: by its sandboxes while it runs, and by nothing
// once it has ended.
func checkSoak(t *testing.T, before, early, late, after sample, live int) {
	t.Helper()
	most := early.most(late)
	// A sandbox has at most a file shell, a tool's shell and a command, each with a
	// connection and a few goroutines that serve its streams.
	if n := most.goroutines - before.goroutines; n > 100+60*live {
		t.Errorf("%d goroutines for %d sandboxes", n, live)
	}
	if n := most.files - before.files; n > 60+12*live {
		t.Errorf("%d descriptors for %d sandboxes", n, live)
	}
	if late.resident > early.resident*3/2+(64<<20) {
		t.Errorf("resident memory grew from %d MB in the first half to %d MB in the second", early.resident>>20, late.resident>>20)
	}
	if after.goroutines > before.goroutines+10 || after.files > before.files+10 {
		t.Errorf("left after the end: %d goroutines and %d descriptors; there were %d and %d", after.goroutines, after.files, before.goroutines, before.files)
	}
}
