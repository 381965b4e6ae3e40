package engine

import "fmt"

// Switches are names that SkyRL-Agent's configurations have for switches of
// tools: other names of ours, and those of tools that are not here. They are set
// while a text is read and never afterwards.
type Switches struct {
	Cmd       *bool `toml:"enable_cmd" json:"-"`
	Jupyter   *bool `toml:"enable_jupyter" json:"-"`
	Browsing  *bool `toml:"enable_browsing" json:"-"`
	LLMEditor *bool `toml:"enable_llm_editor" json:"-"`
}

// Resolve turns the other names into ours. given says which keys of [tools] the
// text has. With an error comes the key that is wrong.
func (t *Tools) Resolve(given func(key string) bool) (key string, err error) {
	read := t.Switches
	t.Switches = Switches{}
	for _, s := range []struct {
		other string
		value *bool
		key   string
		ours  *bool
	}{
		{"enable_cmd", read.Cmd, "enable_bash_tool", &t.Bash},
		{"enable_jupyter", read.Jupyter, "enable_python", &t.Python},
	} {
		switch {
		case s.value == nil:
		case given(s.key) && *s.value != *s.ours:
			return s.other, fmt.Errorf("tools.%s and tools.%s are the same switch and differ: give one of them", s.other, s.key)
		default:
			*s.ours = *s.value
		}
	}
	for _, s := range []struct {
		key   string
		value *bool
		why   string
	}{
		{"enable_browsing", read.Browsing, "there is no browser; declare an MCP server that has one with [[tools.mcp]]"},
		{"enable_llm_editor", read.LLMEditor, "there is no editor that asks a model; enable_editor is the one that there is"},
	} {
		if s.value != nil && *s.value {
			return s.key, fmt.Errorf("tools.%s cannot be true: %s", s.key, s.why)
		}
	}
	return "", nil
}
