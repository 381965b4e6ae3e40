package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"rollbench/engine"
	"rollbench/engine/task"
	"rollbench/sessions"
)

// fingerprint is what two runs must share to be compared: settings by value,
// texts and each task by the first 12 hex digits of their SHA-256.
func fingerprint(c *config, ep *endpoint, servers *engine.Servers, instances []*task.Instance) (json.RawMessage, error) {
	prompt, specs, err := engine.Scaffold(c.Config, servers)
	if err != nil {
		return nil, err
	}
	tools, err := digest(specs)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(instances))
	tasks := make(map[string]string, len(instances))
	for i, in := range instances {
		ids[i] = in.ID
		parts := []any{in.Instruction, in.System, in.Talk, in.Image, in.Workdir, in.TestCommand, in.Reference.Patch, in.Reference.Script, in.AgentLimit, in.VerifyLimit}
		switch g := in.Grading(); g {
		case task.InPlace:
			parts = append(parts, g)
		case task.ByArtifacts:
			parts = append(parts, g, in.VerifierSpec().Image)
		}
		if tasks[in.ID], err = digest(parts); err != nil {
			return nil, err
		}
	}
	system, err := digest(prompt)
	if err != nil {
		return nil, err
	}
	print := map[string]any{
		"rollbench": Version, "generator": c.Generator, "system_prompt": system, "tools": c.Tools, "tool_texts": tools, "limits": c.Limits,
		"sandbox": c.Sandbox.Kind, "endpoint": map[string]any{"model": ep.model(), "capabilities": ep.caps}, "instances": ids, "tasks": tasks,
	}
	if ep.caps.Simulated {
		print["simulated_seed"] = c.Simulated.Seed
	}
	if j := c.Judge; j.URL != "" {
		print["judge"] = map[string]any{"model": j.Model, "temperature": j.Temperature, "max_tokens": j.MaxTokens}
	}
	if had := servers.Tools(); len(had) > 0 {
		print["mcp_tools"] = had
	}
	return json.Marshal(print)
}

// toldBy reads what a run's fingerprint says of its tools: their digest, and those
// of its MCP servers.
func toldBy(run sessions.Run) (texts string, servers engine.ServerTools, err error) {
	var print struct {
		Texts   string             `json:"tool_texts"`
		Servers engine.ServerTools `json:"mcp_tools"`
	}
	if err := json.Unmarshal(run.Print, &print); err != nil {
		return "", nil, fmt.Errorf("read the fingerprint of run %s: %w", run.ID, err)
	}
	return print.Texts, print.Servers, nil
}

func digest(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6]), nil
}
