package cli

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Tasks as Harbor has them: one whose result is a service that runs, and files outside
// of its workdir, in an image without git; one whose verifier has its own image and gets
// what is collected. Their references pass, nothing earns nothing, and policies that do
// as the references do are paid for it.
func TestHarborVerifiersInDocker(t *testing.T) {
	t.Parallel()
	image := testImage(t)
	t.Cleanup(func() { removeBuilt(t, "rollbench/env-service", "rollbench/env-apart", "rollbench/env-apart-verifier") })
	tasks, err := filepath.Abs("../../engine/task/testdata/harbor")
	if err != nil {
		t.Fatal(err)
	}
	s := newShop(t)
	base := "sandbox.build_args.BASE=" + image
	report := filepath.Join(s.home, "report.jsonl")
	if out := s.run("validate", "--tasks", tasks, "--set", base, "--report", report); !strings.Contains(out, "2 of 2 tasks are sound") {
		t.Fatalf("validate: %s", out)
	}
	var o outcome
	if err := json.Unmarshal([]byte(s.run("run", "--headless", "--json", "--tasks", tasks, "--set", base, "--set", "generator.num_trajectories=3")), &o); err != nil {
		t.Fatal(err)
	}
	if o.Trajectories != 6 || o.Done != 6 || o.Solved == 0 {
		t.Errorf("outcome %+v, want 6 done and some solved", o)
	}
	if left := s.containers(); len(left) != 0 {
		t.Errorf("containers left: %v", left)
	}
	if left, err := filepath.Glob(filepath.Join(s.home, "*", "*", "artifacts", "*")); err != nil || len(left) != 0 {
		t.Errorf("artifacts left: %v, %v", left, err)
	}
}

// removeBuilt removes images that were built here, by their names without tags.
func removeBuilt(t *testing.T, names ...string) {
	for _, name := range names {
		out, err := exec.Command("docker", "images", "--format", "{{.Repository}}:{{.Tag}}", name).Output()
		if err != nil {
			t.Errorf("list images %s: %v", name, err)
		}
		for image := range strings.Lines(string(out)) {
			if out, err := exec.Command("docker", "image", "rm", strings.TrimSpace(image)).CombinedOutput(); err != nil {
				t.Errorf("remove image %s: %v\n%s", image, err, out)
			}
		}
	}
}
