package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rollbench/engine/task"
	"rollbench/engine/task/rows"
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
		noFiles(c)
	}
}

// noFiles are offered for flags whose value is a text or a number, of a command and of
// those below it.
func noFiles(c *cobra.Command) {
	for _, flag := range []string{"endpoint", "model", "instances", "limit", "turn", "turns", "tokens", "from", "address", "line", "pattern", "seed", "temperature", "top-p", "attempt",
		"shuffle", "eval-repeats", "repeats", "size", "balance", "number", "reward", "feedback", "speed"} {
		if c.Flags().Lookup(flag) != nil {
			complete(c, flag, cobra.NoFileCompletions)
		}
	}
	for _, below := range c.Commands() {
		noFiles(below)
	}
}

// lastOf offers the last of several values that commas part, after those before it.
// Those are not offered again.
func lastOf(begun string, values []string) ([]string, cobra.ShellCompDirective) {
	before := begun[:strings.LastIndexByte(begun, ',')+1]
	given := strings.Split(before, ",")
	var out []string
	for _, v := range values {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(before+v, begun) && !slices.ContainsFunc(given, func(g string) bool { return g == v || strings.HasPrefix(g, name+"=") }) {
			out = append(out, before+v)
		}
	}
	return out, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// offerList completes a flag of several values.
func offerList(c *cobra.Command, flag string, values ...string) {
	complete(c, flag, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return lastOf(begun, values)
	})
}

// completePath offers files and folders as the one argument.
func completePath(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// source is the dataset that a command line names so far.
func (a *app) source(cmd *cobra.Command, args []string) string {
	if cmd.Name() == "tasks" && len(args) > 0 {
		return args[0]
	}
	return a.flags.tasks
}

// completeSplit offers the splits that the names of a dataset's files say.
func (a *app) completeSplit(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return rows.Splits(a.source(cmd, args)), cobra.ShellCompDirectiveNoFileComp
}

// completeInstances offers the ids of a dataset, or files behind an @.
func (a *app) completeInstances(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if file, is := strings.CutPrefix(begun, "@"); is {
		return filesLike(file, "@"), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	c, err := a.load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []string
	if _, _, err := a.readTasks(c, cmp.Or(a.source(cmd, args), "bundled"), func(in *task.Instance) { ids = append(ids, strings.Clone(in.ID)) }); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return lastOf(begun, ids)
}

// filesLike are the files and folders whose names begin so.
func filesLike(begun, prefix string) (out []string) {
	dir, name := filepath.Split(begun)
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		switch {
		case !strings.HasPrefix(e.Name(), name):
		case e.IsDir():
			out = append(out, prefix+dir+e.Name()+"/")
		default:
			out = append(out, prefix+dir+e.Name())
		}
	}
	return out
}

// completeInstancesOf offers the ids of the run that is named, else of the newest.
func completeInstancesOf(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	run := "latest"
	if len(args) > 0 {
		run = args[0]
	}
	dir, err := home()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	r, err := sessions.OpenReader(cmd.Context(), dir, run)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer r.Close() // it was only read
	var ids []string
	for _, k := range r.Run().Members {
		ids = append(ids, k.Instance)
	}
	slices.Sort(ids)
	return lastOf(begun, slices.Compact(ids))
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
