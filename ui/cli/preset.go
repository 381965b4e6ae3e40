package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// presets are the settings of SkyRL-Agent's two uses of its SWE scaffold (arXiv
// 2511.16108; skyrl-agent/examples/run_skyrl/skyrl_swe.yaml for training). Each
// sets every key in which the two differ, so that they never mix; --set comes
// after them.
var presets = map[string][]string{
	"swe-train": {
		"generator.num_trajectories=8", "generator.max_iterations=50", "generator.max_prompt_length=32768",
		"generator.sampling_params.temperature=1.0", "generator.sampling_params.top_p=1.0",
		"tools.enable_bash_tool=true", "tools.enable_editor=true", "tools.enable_finish=true",
	},
	"swe-verified-eval": {
		"generator.num_trajectories=1", "generator.max_iterations=100", "generator.max_prompt_length=40960",
		"generator.sampling_params.temperature=0.0", "generator.sampling_params.top_p=0.95",
		"tools.enable_bash_tool=true", "tools.enable_editor=true", "tools.enable_finish=true",
	},
}

func presetNames() []string { return slices.Sorted(maps.Keys(presets)) }

// preset sets the keys of the one that was asked for.
func (c *config) preset(name string) error {
	if name == "" {
		return nil
	}
	sets, ok := presets[name]
	if !ok {
		return fmt.Errorf("--preset %s is unknown: use one of %s", name, strings.Join(presetNames(), ", "))
	}
	for _, s := range sets {
		if err := c.set(s); err != nil {
			return err
		}
	}
	return nil
}

// presetHelp says what each preset sets.
func presetHelp() string {
	var b strings.Builder
	b.WriteString("--preset sets the keys in which two uses of SkyRL-Agent's SWE scaffold differ:\n")
	for _, name := range presetNames() {
		fmt.Fprintf(&b, "  %s:\n", name)
		for _, s := range presets[name] {
			fmt.Fprintf(&b, "    %s\n", s)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
