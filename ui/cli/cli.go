// Package cli is the command line: the commands, one file each, the
// configuration, signals, the wiring of a run and the headless printers.
//
// In: arguments, the embedded default configuration. Out: an exit code: 0 the
// work was done, 1 it failed or was stopped, 2 the input was bad.
package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// Version of rollbench, recorded in sessions and exports.
const Version = "0.1.0"

// watchable is a pace at which replies can be read along as they come.
const watchable = "[simulated]\nlatency = \"300ms\"\ntokens_per_second = 600.0\n"

// app is what every command shares.
type app struct {
	defaults string // the embedded config.toml
	in       *os.File
	out      io.Writer
	err      io.Writer
	flags    flags
	titled   string // behind the title of a run, "" for none
	pace     string // of the simulated endpoint, over the defaults: "" as they are
}

// flags that several commands take.
type flags struct {
	config    string
	set       []string
	tasks     string
	instances []string
	limit     int
	shuffle   int64
	shuffled  bool // --shuffle was given: 0 is a seed
	format    string
	split     string
	onBadRow  string
	label     string // field of the tasks' rows to keep
	eachBad   bool   // tell of each row that is skipped

	evalRepeats int
	endpoint    string
	model       string
	sandbox     string
	bare        bool
	headless    bool
	human       bool
	json        bool

	validation bool
	preset     string
}

// exit is an error with its exit code.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string { return e.err.Error() }
func (e *exit) Unwrap() error { return e.err }

// bad is an error of the input: exit code 2.
func bad(err error) error {
	if err == nil {
		return nil
	}
	return &exit{2, err}
}

// Main runs the command line and returns the exit code.
func Main(args []string, defaults string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	endAtOnceNext(ctx, stop)
	heedPipes()
	a := &app{defaults: defaults, in: os.Stdin, out: os.Stdout, err: os.Stderr}
	root := a.root()
	if w := a.width(); w > 0 {
		wrapFlags(root, w)
	}
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if errors.Is(err, syscall.EPIPE) { // whoever read has seen enough
		return 128 + int(syscall.SIGPIPE)
	}
	code := 2 // cobra's own errors are about arguments
	var e *exit
	if errors.As(err, &e) {
		code = e.code
	}
	if text := oneLine(err); text != "" {
		fmt.Fprintln(a.err, "rollbench: "+text)
	}
	return code
}

// sameStop is how long after the first signal others mean the same: timeout(1) sends
// two at once, to the process and to its group.
const sameStop = time.Second

// endAtOnceNext has a later signal end the process at once, with sandboxes left behind:
// stop gives signals their own meaning back.
func endAtOnceNext(ctx context.Context, stop func()) {
	context.AfterFunc(ctx, func() { time.AfterFunc(sameStop, stop) })
}

// self is how the person called this program: `go run .` leaves no program to
// call by name.
func self() string {
	path, err := os.Executable()
	if err == nil && strings.Contains(path, string(filepath.Separator)+"go-build") {
		return "go run ."
	}
	return "rollbench"
}

// oneLine is an error as the person reads it: one line, and no escape sequence of
// whatever program it quotes. The whole chain is in the log.
func oneLine(err error) string { return word(err.Error()) }

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "rollbench",
		Short: "A terminal workbench for the rollouts that train LLM agents",
		Long: `rollbench rolls out multi-turn tool-using trajectories of coding tasks, shows every
queue, turn and token of them, lets you pause, step and change them, and exports
what was sampled with exact masks, rewards and advantages.

Without a command it rolls out the bundled tasks on the embedded simulated
endpoint: in a terminal as a workbench, with replies slow enough to be read along
(simulated.latency and tokens_per_second), else with progress lines.`,
		Example: `  rollbench                                   # bundled tasks, simulated policy
  rollbench run --tasks ./tasks --endpoint http://localhost:8000 --model qwen3-32b
  rollbench export latest -o transitions.jsonl
  rollbench doctor                            # what this machine can do`,
		Args:          knownCommand,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       Version,
		// What is set for a command that does not use it is checked all the same.
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if a.flags.config == "" && len(a.flags.set) == 0 {
				return nil
			}
			_, err := a.load()
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !a.flags.headless && !a.flags.json && a.canDraw() {
				a.pace = watchable
			}
			return a.start(cmd.Context())
		},
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return bad(fmt.Errorf("%s; see %s --help", flagProblem(err), cmd.CommandPath()))
	})
	a.configFlags(root)
	a.runFlags(root)
	for _, c := range []*cobra.Command{a.runCommand(), a.resumeCommand(), a.forkCommand(), a.openCommand(), a.lsCommand(), a.rmCommand(), a.exportCommand(), a.outputCommand(), a.statsCommand(), a.simulateCommand(), a.replayCommand(), a.searchCommand(), a.compareCommand(),
		a.tasksCommand(), a.validateCommand(), a.predictionsCommand(), a.difficultyCommand(), a.mixCommand(), a.doctorCommand(), a.cleanCommand(), a.serveCommand()} {
		root.AddCommand(c)
	}
	completionCommands(root)
	return root
}

// wrapFlags has helps break what flags do between words. Another template would say it
// in a line, and link all that templates might call: 9 MB.
func wrapFlags(root *cobra.Command, columns int) {
	usual := root.UsageFunc()
	root.SetUsageFunc(func(c *cobra.Command) error {
		var usage bytes.Buffer
		out := c.OutOrStderr()
		c.SetOut(&usage)
		err := usual(c)
		c.SetOut(out)
		text := usage.String()
		wrap := func(whole, narrow string) {
			if whole = strings.TrimRight(whole, "\n"); whole != "" {
				text = strings.Replace(text, whole, strings.TrimRight(narrow, "\n"), 1)
			}
		}
		wrap(c.LocalFlags().FlagUsages(), c.LocalFlags().FlagUsagesWrapped(columns))
		wrap(c.InheritedFlags().FlagUsages(), c.InheritedFlags().FlagUsagesWrapped(columns))
		_, failed := io.WriteString(out, text)
		return errors.Join(err, failed)
	})
}

// knownCommand refuses what is no command, with the nearest ones.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	root.SuggestionsMinimumDistance = 2
	near := "; rollbench --help lists all"
	if names := root.SuggestionsFor(args[0]); len(names) > 0 {
		near = "; did you mean " + strings.Join(names, " or ") + "?"
	}
	return bad(fmt.Errorf("unknown command %q%s", args[0], near))
}

// flagProblem is what is wrong with a flag, in words for those who type it.
func flagProblem(err error) string {
	var number *strconv.NumError
	if !errors.As(err, &number) {
		return err.Error()
	}
	use := "use a number"
	switch {
	case errors.Is(number.Err, strconv.ErrRange):
		use = "it is too large or too small"
	case number.Func == "ParseBool":
		use = "use true or false"
	case number.Func != "ParseFloat":
		use = "use a whole number"
	}
	return strings.Replace(err.Error(), number.Error(), use, 1)
}

func (a *app) configFlags(c *cobra.Command) {
	c.PersistentFlags().StringVar(&a.flags.config, "config", "", "configuration `FILE` (default: config.toml in the XDG config folder, if there)")
	c.PersistentFlags().StringArrayVar(&a.flags.set, "set", nil, "set a configuration key, `KEY=VALUE`; may be repeated")
	if err := c.RegisterFlagCompletionFunc("set", completeKeys); err != nil {
		panic("cli: no flag to complete: " + err.Error()) // it is above
	}
}

func (a *app) taskFlags(c *cobra.Command) {
	c.Flags().StringVar(&a.flags.tasks, "tasks", "", "a dataset: the `PATH` of a file of rows (.parquet, .jsonl, .json) or of a folder, or \"bundled\" for all bundled tasks")
	a.datasetFlags(c)
	c.Flags().StringVar(&a.flags.sandbox, "sandbox", "", "docker, local or auto (sets sandbox.kind)")
	offer(c, "sandbox", "auto", "docker", "local")
	c.Flags().BoolVar(&a.flags.bare, "allow-uncontained", false, "run local sandboxes even where this machine cannot contain them")
}

func (a *app) runFlags(c *cobra.Command) {
	a.taskFlags(c)
	c.Flags().StringVar(&a.flags.endpoint, "endpoint", "", "base `URL` of an OpenAI-compatible endpoint (sets endpoint.url); default: the simulated one")
	c.Flags().StringVar(&a.flags.model, "model", "", "model `NAME` at the endpoint (sets endpoint.model)")
	c.Flags().StringVar(&a.flags.preset, "preset", "", "settings of a known scaffold, a `NAME`: "+strings.Join(presetNames(), ", "))
	offer(c, "preset", presetNames()...)
	c.Flags().BoolVar(&a.flags.validation, "validation", false, "a validation run: the val_config tables of the configuration apply")
	c.Flags().IntVar(&a.flags.evalRepeats, "eval-repeats", 0, "run the verifier `N` times, each in a fresh sandbox (one that works in the policy's: there); no reward where they differ (sets limits.eval_repeats)")
	c.Flags().BoolVar(&a.flags.human, "human", false, "you write every turn in the workbench (sets generator.human); without --endpoint no model is asked")
	a.screenFlags(c)
}

func (a *app) screenFlags(c *cobra.Command) {
	c.Flags().BoolVar(&a.flags.headless, "headless", false, "no screen: progress lines and a summary")
	c.Flags().BoolVar(&a.flags.json, "json", false, "with --headless: end with one JSON line")
}
