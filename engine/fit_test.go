package engine

import (
	"context"
	"strings"
	"testing"

	"rollbench/engine/task"
	"rollbench/sandbox"
)

// machine is a provider of sandboxes on a machine with so much memory.
type machine struct {
	sandbox.Provider
	mb int
}

func (m machine) Check(context.Context) sandbox.Report {
	return sandbox.Report{OK: true, MachineMB: m.mb, SandboxMB: 1024}
}

func (m machine) HasImage(context.Context, string) (bool, error) { return true, nil }

func TestFitMemory(t *testing.T) {
	for _, c := range []struct {
		name                         string
		ram, live, memory, task, num int
		want                         int
	}{
		// 24,105 MB less 4,096 are room for 19 sandboxes of 1,024 MB.
		{"enough", 24105, 12, 0, 0, 100, 12},
		{"too many", 24105, 20, 0, 0, 100, 19},
		{"no limit is one now", 24105, 0, 0, 0, 100, 19},
		{"no limit is needed", 24105, 0, 0, 0, 19, 0},
		{"a large task", 24105, 12, 0, 4096, 100, 4},
		{"the key wins", 24105, 12, 2048, 4096, 100, 9},
		{"a small machine", 8192, 12, 0, 0, 100, 4},
		{"a tiny machine", 4000, 12, 0, 0, 100, 1},
		{"an unknown machine", 0, 12, 0, 0, 100, 12},
	} {
		config := Config{Sandbox: Sandbox{Kind: "docker", MemoryMB: c.memory}, Dispatcher: Dispatcher{MaxLive: c.live}, Generator: Generator{NumTrajectories: c.num}}
		in := []*task.Instance{{ID: "x", Image: "i", MemoryMB: c.task}}
		notice, err := FitMemory(t.Context(), &config, map[sandbox.Kind]sandbox.Provider{sandbox.Docker: machine{mb: c.ram}}, in)
		if err != nil || config.Dispatcher.MaxLive != c.want || (notice != "") != (c.want != c.live) {
			t.Errorf("%s: %d, %q, %v; want %d", c.name, config.Dispatcher.MaxLive, notice, err, c.want)
		}
		if notice != "" && !strings.Contains(notice, "sandbox.memory_mb") {
			t.Errorf("%s: %s", c.name, notice)
		}
	}
}

// 24,105 MB less 4,096 are room for 6 sandboxes of 1,024 MB each with two
// companions, one of 1,024 MB and one of the default, which is as much.
func TestFitMemoryOfCompanions(t *testing.T) {
	config := Config{Sandbox: Sandbox{Kind: "docker"}, Generator: Generator{NumTrajectories: 100}, Dispatcher: Dispatcher{MaxLive: 12}}
	in := []*task.Instance{{ID: "x", Image: "i", Beside: &sandbox.Beside{Companions: []sandbox.Companion{{MemoryMB: 1024}, {}}}}}
	if _, err := FitMemory(t.Context(), &config, map[sandbox.Kind]sandbox.Provider{sandbox.Docker: machine{mb: 24105}}, in); err != nil || config.Dispatcher.MaxLive != 6 {
		t.Errorf("%d, %v; want 6", config.Dispatcher.MaxLive, err)
	}
}
