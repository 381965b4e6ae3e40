package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rollbench/sessions"
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

// completeKeys offers the configuration's keys for --set.
func completeKeys(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, key := range knownKeys() {
		out = append(out, key+"=")
	}
	return out, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
