package task

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rollbench/sandbox"
)

// ailing is a sandbox whose health check fails so many times, each after a second.
type ailing struct {
	sandbox.Sandbox
	fails int
	at    []time.Duration
	began time.Time
}

func (a *ailing) Exec(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
	a.at = append(a.at, time.Since(a.began))
	time.Sleep(time.Second)
	if a.fails--; a.fails >= 0 {
		return sandbox.Result{Output: []byte("not yet\n"), ExitCode: 7, End: sandbox.Exited}, nil
	}
	return sandbox.Result{End: sandbox.Exited}, nil
}

// Tries and pauses are those of Harbor's run_healthcheck: in the start period failures
// do not count, and the pause is another one.
func TestHealthCheck(t *testing.T) {
	two, half, three, retries := 2.0, 0.5, 3.0, 2
	h := &healthTable{Command: "check", Interval: &three, StartPeriod: &two, StartInterval: &half, Retries: &retries}
	for fails, c := range map[int]struct {
		at   []time.Duration
		want string
	}{
		0: {[]time.Duration{0}, ""},
		2: {[]time.Duration{0, 1500 * time.Millisecond, 5500 * time.Millisecond}, ""}, // at 2.5 s the first counts
		9: {[]time.Duration{0, 1500 * time.Millisecond, 5500 * time.Millisecond}, "the task's health check failed 2 times: exit code 7: not yet"},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := &ailing{fails: fails, began: time.Now()}
			err := h.wait(t.Context(), a)
			if got := ""; err != nil {
				if got = err.Error(); got != c.want {
					t.Errorf("%d failures: %v", fails, err)
				}
			} else if c.want != "" {
				t.Errorf("%d failures are well", fails)
			}
			if len(a.at) != len(c.at) {
				t.Fatalf("%d failures: tried at %v", fails, a.at)
			}
			for i := range a.at {
				if a.at[i] != c.at[i] {
					t.Errorf("%d failures: tried at %v, want %v", fails, a.at, c.at)
				}
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // whoever gives up waits no longer
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		forever := 1e6
		err := (&healthTable{Command: "check", StartPeriod: &forever}).wait(ctx, &ailing{fails: 1000, began: time.Now()})
		if err == nil || !strings.Contains(err.Error(), "deadline") {
			t.Errorf("%v", err)
		}
	})
	if err := (*healthTable)(nil).wait(t.Context(), nil); err != nil {
		t.Errorf("none: %v", err)
	}
}
