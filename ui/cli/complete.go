package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rollbench/sessions"
	"rollbench/ui"
)

// offer completes a flag by its values.
func offer(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("cli: no flag to complete: " + err.Error()) // the flags are above every call
	}
}

// completeRuns offers the ids of the runs there are, once.
func completeRuns(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	dir, err := home()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	runs, err := sessions.List(cmd.Context(), dir)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	out := []string{"latest"}
	for _, r := range runs {
		if strings.HasPrefix(r.ID, begun) {
			out = append(out, r.ID)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeMoreRuns offers those that are not named yet.
func completeMoreRuns(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	all, how := completeRuns(cmd, nil, begun)
	return slices.DeleteFunc(all, func(id string) bool { return id == "latest" || slices.Contains(args, id) }), how
}

// completeKeys offers the configuration's keys for --set, and the values of those
// that are one of few.
func completeKeys(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	key, _, _ := strings.Cut(begun, "=")
	if values := valuesOf(key); values != nil && strings.Contains(begun, "=") {
		for i := range values {
			values[i] = key + "=" + values[i]
		}
		return values, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, key := range knownKeys() {
		out = append(out, key+"=")
	}
	return out, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// valuesOf a key that is one of few; nil for others.
func valuesOf(key string) []string {
	switch key {
	case "ui.theme":
		return ui.Themes()
	case "ui.mouse":
		return []string{"true", "false"}
	}
	return nil
}
