package cli

import (
	"fmt"
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

// completionCommands gives the commands that print completion what all others have,
// and keeps names of files away from where none is meant.
func completionCommands(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			describeCompletion(c)
		}
		if c.ValidArgsFunction == nil {
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
		for _, flag := range []string{"run", "history"} {
			if c.Name() == "simulate" {
				complete(c, flag, completeRunOf)
			}
		}
		for _, flag := range []string{"endpoint", "model", "instances", "limit", "turn", "parallel", "from", "address", "line", "pattern", "seed", "temperature", "top-p", "attempt", "number"} {
			if c.Flags().Lookup(flag) != nil {
				complete(c, flag, cobra.NoFileCompletions)
			}
		}
	}
}

// complete a flag that has no completion yet.
func complete(c *cobra.Command, flag string, by cobra.CompletionFunc) {
	if _, has := c.GetFlagCompletionFunc(flag); has {
		return
	}
	if err := c.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic("cli: no flag to complete: " + err.Error()) // the callers know the flags
	}
}

func describeCompletion(c *cobra.Command) {
	c.Short = "Print the completion of commands, flags, runs and keys for a shell"
	c.Example = "  source <(rollbench completion bash)\n  rollbench completion zsh > \"${fpath[1]}/_rollbench\"\n  rollbench completion fish > ~/.config/fish/completions/rollbench.fish"
	c.Args = nil
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return bad(fmt.Errorf("no completion for %q: use bash, zsh, fish or powershell", args[0]))
		}
		return c.Help()
	}
	for _, shell := range c.Commands() {
		shell.Example = "  rollbench completion " + shell.Name()
	}
}

// completeRunOf offers the runs as the value of a flag.
func completeRunOf(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	return completeRuns(cmd, nil, begun)
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
