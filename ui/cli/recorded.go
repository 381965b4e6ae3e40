package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"rollbench/engine"
	"rollbench/sessions"
)

// recorded reads the configuration that a run was started with over c, today's, of which
// the keys that the run did not know stay. A tool that it could not know of stays off,
// whatever its default: the policy was not told of it.
func recorded(run sessions.Run, c *config) error {
	var had struct {
		Tools map[string]json.RawMessage `json:"tools"`
	}
	err := json.Unmarshal(run.Config, &had)
	if err == nil {
		c.empty()
		err = json.Unmarshal(run.Config, c)
	}
	if err != nil {
		return fmt.Errorf("read the configuration of run %s: %w", run.ID, err)
	}
	if _, knew := had.Tools["enable_search"]; !knew {
		c.Tools.Search = false
	}
	return nil
}

// empty what a recording leaves out where it is empty, and what would be merged with the
// recorded: a run does not take up what a person has configured since it was started.
// Where GPUs are seen is no part of what it does.
func (c *config) empty() {
	g := &c.Generator
	g.Template, g.Sampling, g.Human, g.Validation = nil, engine.Sampling{}, false, nil
	c.Dispatcher.Validation = nil
	c.Sandbox.BuildArgs = nil
	c.Tools.PerTool, c.Tools.KeepEscapes, c.Tools.OwnTools = nil, false, engine.OwnTools{}
	c.Limits.EvalRepeats = 0
	c.Judge = engine.Judge{}
}

// sameTools says, for a run that goes on, in what its tools are not those it was started
// with: built-in ones change with the version of rollbench, which is told. Those of MCP
// servers can be had as they were, so another list is an error.
func sameTools(run sessions.Run, c *config, servers *engine.Servers) (changed string, err error) {
	texts, had, err := toldBy(run)
	if err != nil {
		return "", err
	}
	if change := had.Differ(servers.Tools()); servers != nil && change != "" {
		return "", bad(errors.New(change + "; a resume keeps what the run samples"))
	}
	_, specs, err := engine.Scaffold(c.Config, servers)
	if err != nil {
		return "", bad(err)
	}
	now, err := digest(specs)
	if err != nil || now == texts || texts == "" {
		return "", err
	}
	return "the tools are described otherwise than when this run was started, by another version of rollbench: what is sampled from here on does not compare with what was before", nil
}
