package task

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"

	"rollbench/engine/task/compose"
)

// harborCompose reads environment/docker-compose.yaml, which Harbor lays over a base
// of its own (src/harbor/environments/docker): main, built from environment/, with
// the log folders, and these variables.
func harborCompose(in *Instance, folder fs.FS, m *manifest, o Options) (*together, error) {
	vars := map[string]string{
		"MAIN_IMAGE_NAME": mainImage, "PREBUILT_IMAGE_NAME": m.Environment.Image, "CONTEXT_DIR": ".",
		"CPUS": fmt.Sprint(cmp.Or(in.CPUs, 1)), "MEMORY": fmt.Sprintf("%dM", cmp.Or(in.MemoryMB, 2048)), // Harbor's
	}
	logs := map[string]string{"verifier": "/logs/verifier", "agent": "/logs/agent", "artifacts": "/logs/artifacts"}
	for key, name := range map[string]string{"VERIFIER_LOGS": "verifier", "AGENT_LOGS": "agent", "ARTIFACTS": "artifacts"} {
		vars["HOST_"+key+"_PATH"], vars["ENV_"+key+"_PATH"] = hostLogs+"/"+name, logs[name]
	}
	maps.Copy(vars, in.Env)
	return readCompose(folder, "environment", compose.Options{Main: "main", AddMain: true, Vars: vars, Getenv: o.Getenv}, logs)
}
