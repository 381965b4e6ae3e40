package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"rollbench/engine"
	"rollbench/engine/task"
)

// fingerprint is what two runs must share to be compared: settings by value,
// texts and tasks by the first 12 hex digits of their SHA-256.
func fingerprint(c *config, ep *endpoint, instances []*task.Instance) (json.RawMessage, error) {
	prompt, specs, err := engine.Scaffold(c.Config)
	if err != nil {
		return nil, err
	}
	tools, err := digest(specs)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(instances))
	tasks := make([]any, len(instances))
	for i, in := range instances {
		ids[i] = in.ID
		tasks[i] = []any{in.ID, in.Instruction, in.Image, in.Workdir, in.TestCommand, in.Reference.Patch, in.Reference.Script, in.AgentLimit, in.VerifyLimit}
	}
	content, err := digest(tasks)
	if err != nil {
		return nil, err
	}
	system, err := digest(prompt)
	if err != nil {
		return nil, err
	}
	print := map[string]any{
		"rollbench": Version, "generator": c.Generator, "system_prompt": system, "tools": c.Tools, "tool_texts": tools, "limits": c.Limits,
		"sandbox": c.Sandbox.Kind, "endpoint": map[string]any{"model": ep.model(), "capabilities": ep.caps}, "instances": ids, "tasks": content,
	}
	if ep.caps.Simulated {
		print["simulated_seed"] = c.Simulated.Seed
	}
	return json.Marshal(print)
}

func digest(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6]), nil
}
