package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"rollbench/engine"
	"rollbench/sessions"
)

// recorded reads the configuration that a run was started with over c, today's
// defaults. A tool that the run could not know of stays off, whatever its default: the
// policy was not told of it.
func recorded(run sessions.Run, c *config) error {
	var had struct {
		Tools map[string]json.RawMessage `json:"tools"`
	}
	err := json.Unmarshal(run.Config, &had)
	if err == nil {
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
