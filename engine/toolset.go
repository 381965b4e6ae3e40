package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"rollbench/tools"
)

// OwnTools are tools that a person declares, and rules on calls.
type OwnTools struct {
	Commands []CommandTool `toml:"command" json:"command"`
	Servers  []MCPServer   `toml:"mcp" json:"mcp"`
	Allow    []ToolRule    `toml:"allow" json:"-"` // as read; Rules has them in order
	Deny     []ToolRule    `toml:"deny" json:"-"`
	// Rules are those of allow and deny in the order in which they are written,
	// in which they are tried.
	Rules []ToolRule `toml:"-" json:"rules"`
}

// CommandTool is a program that serves as a tool.
type CommandTool struct {
	Name        string   `toml:"name" json:"name"`
	Description string   `toml:"description" json:"description"`
	Parameters  Schema   `toml:"parameters" json:"parameters"`
	Argv        []string `toml:"argv" json:"argv"`
	Timeout     Duration `toml:"timeout" json:"timeout"` // 0: tools.command_timeout
	Where       string   `toml:"where" json:"where"`     // sandbox ("") or host
}

// ToolRule says which calls it is about; see tools.Rule.
type ToolRule struct {
	Deny     bool   `toml:"-" json:"deny"`
	Tool     string `toml:"tool" json:"tool"`
	Argument string `toml:"argument" json:"argument"`
	Pattern  string `toml:"pattern" json:"pattern"`
}

// Schema is the text of a JSON Schema. In TOML it may also be a table, whose
// properties are then in the order of their names.
type Schema string

// UnmarshalTOML reads a text or a table.
func (s *Schema) UnmarshalTOML(value any) error {
	if text, ok := value.(string); ok {
		*s = Schema(text)
		return nil
	}
	if _, ok := value.(map[string]any); !ok {
		return fmt.Errorf("write a table or a text that holds a JSON Schema, not %v", value)
	}
	text, err := json.Marshal(value)
	*s = Schema(text)
	return err
}

// Read takes what one configuration file or setting holds into the tools that
// were read before: a list that it has replaces the former one, and so do its
// rules. keys are all its keys as written, in order.
func (t *OwnTools) Read(from OwnTools, keys []string) {
	if from.Commands != nil {
		t.Commands = from.Commands
	}
	if from.Servers != nil {
		t.Servers = from.Servers
	}
	if from.Allow == nil && from.Deny == nil {
		return
	}
	t.Rules = []ToolRule{}
	take := func(list *[]ToolRule, n int, deny bool) {
		for _, r := range (*list)[:min(n, len(*list))] {
			r.Deny = deny
			t.Rules = append(t.Rules, r)
		}
		*list = (*list)[min(n, len(*list)):]
	}
	count := func(key string) (n int) {
		for _, k := range keys {
			if k == key {
				n++
			}
		}
		return n
	}
	allows, denies := count("tools.allow"), count("tools.deny")
	for _, key := range keys {
		// A list written as one value is one key for all its rules.
		switch {
		case key == "tools.allow" && allows == 1:
			take(&from.Allow, len(from.Allow), false)
		case key == "tools.allow":
			take(&from.Allow, 1, false)
		case key == "tools.deny" && denies == 1:
			take(&from.Deny, len(from.Deny), true)
		case key == "tools.deny":
			take(&from.Deny, 1, true)
		}
	}
}

// enabled are the tools of a trajectory; servers are nil until they were asked.
func (t Tools) enabled(servers *Servers) tools.Enabled {
	e := tools.Enabled{Bash: t.Bash, BashName: t.BashName, Editor: t.Editor, Finish: t.Finish, Think: t.Think, Python: t.Python, Search: t.Search,
		Servers: servers.tools(), Partly: t.MCP && len(t.Servers) > 0 && servers == nil}
	for _, c := range t.Commands {
		if c.Parameters == "" {
			c.Parameters = `{"type": "object", "properties": {}}`
		}
		e.Commands = append(e.Commands, tools.Command{Name: c.Name, Description: c.Description, Parameters: json.RawMessage(c.Parameters),
			Argv: c.Argv, Timeout: time.Duration(c.Timeout), Host: c.Where == onHost})
	}
	for _, r := range t.Rules {
		e.Rules = append(e.Rules, tools.Rule(r))
	}
	return e
}

// Where a command tool runs.
const (
	inSandbox = "sandbox"
	onHost    = "host"
)

// check makes the tools once, on no sandbox.
func (t Tools) check() error {
	if !slices.Contains([]string{"", "bash", "execute_bash"}, t.BashName) {
		return fmt.Errorf("tools.bash_name is %q: use execute_bash or bash", t.BashName)
	}
	for _, c := range t.Commands {
		if !slices.Contains([]string{"", inSandbox, onHost}, c.Where) {
			return fmt.Errorf("tools.command %q: where is %q: use sandbox or host", c.Name, c.Where)
		}
	}
	if t.Search && t.SearchMB < 1 {
		return fmt.Errorf("tools.search_memory_mb is %d: it must be at least 1, or set tools.enable_search = false", t.SearchMB)
	}
	if err := t.checkServers(); err != nil {
		return err
	}
	r, err := tools.New(tools.Env{Limits: t.limits()}, t.enabled(nil))
	if err != nil {
		return fmt.Errorf("[tools]: %w", err)
	}
	return r.Close()
}
