package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"rollbench/engine"
	"rollbench/sessions"
)

// forkFlags are the flags of fork.
type forkFlags struct {
	turn                 int
	temperature, topP    float64
	seed                 int64
	feedback, ifDiffers  string
	n, turns, tokens     int
	hold                 bool
	hasTemp, hasP, hasSd bool
}

func (a *app) forkCommand() *cobra.Command {
	var f forkFlags
	c := &cobra.Command{
		Use:   "fork RUN INSTANCE#J",
		Short: "Add children of a trajectory to a run, and go on with it",
		Long: `Add children of a trajectory to a run that nobody works on, and go on with it as
resume does. The turns before --turn stay the parent's; the children sample that
turn and what follows themselves, in sandboxes in which the recorded calls of the
parent are replayed. They are a group of their own, count as intervened, and change
nothing of the parent and its group. In a run that is open in a workbench the key o
does the same.

Where a recorded call answers differently as it is replayed, the differences are
listed, and --if-differs says what becomes of the child: hold it for a person (the
default in the workbench), go on, or drop it (the default of --headless, where
nobody could decide).`,
		Example: `  rollbench fork latest pager-last-page#0 --turn 4 -n 4
  rollbench fork r-1129-1842 demo-1#2 --turn 7 -n 2 --feedback 'Leave the tests alone.' --temperature 1.2`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return bad(fmt.Errorf("%s takes RUN and INSTANCE#J, got %d arguments; see %s --help", cmd.Name(), len(args), cmd.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.hasTemp, f.hasP, f.hasSd = cmd.Flags().Changed("temperature"), cmd.Flags().Changed("top-p"), cmd.Flags().Changed("seed")
			return a.fork(cmd.Context(), args[0], args[1], f)
		},
	}
	c.Flags().IntVar(&f.turn, "turn", 0, "the first turn of the children's own, `K` (default: the last one)")
	c.Flags().IntVarP(&f.n, "n", "n", 1, "how many children, 1 to 16")
	c.Flags().StringVar(&f.feedback, "feedback", "", "a user message before their first model call, `TEXT`")
	c.Flags().Float64Var(&f.temperature, "temperature", 0, "instead of the parent's")
	c.Flags().Float64Var(&f.topP, "top-p", 0, "instead of the parent's")
	c.Flags().Int64Var(&f.seed, "seed", 0, "from which each child and turn draws its own")
	c.Flags().IntVar(&f.turns, "turns", 0, "turns they may use, the parent's `N` before the fork counted in (default: as the parent)")
	c.Flags().IntVar(&f.tokens, "tokens", 0, "token budget, likewise")
	c.Flags().StringVar(&f.ifDiffers, "if-differs", "", "hold, go or drop a child in whose sandbox a recorded call answers differently")
	c.Flags().BoolVar(&f.hold, "hold", false, "hold the children before they go on, for a person in the workbench")
	offer(c, "if-differs", engine.DifferHold, engine.DifferGo, engine.DifferDrop)
	a.screenFlags(c)
	c.ValidArgsFunction = completeOutput
	return c
}

// options of the fork; headless: nobody is there to let a held child go on.
func (f forkFlags) options(headless bool) (engine.ForkOptions, error) {
	o := engine.ForkOptions{N: f.n, Feedback: f.feedback, Turns: f.turns, Tokens: f.tokens, Hold: f.hold, Differs: f.ifDiffers}
	if f.hasTemp {
		o.Sampling.Temperature = &f.temperature
	}
	if f.hasP {
		o.Sampling.TopP = &f.topP
	}
	if f.hasSd {
		o.Sampling.Seed = &f.seed
	}
	if !headless {
		return o, nil
	}
	if f.hold || f.ifDiffers == engine.DifferHold {
		return o, errors.New("nobody is there to let a held child go on: leave --headless out, or --hold and --if-differs hold")
	}
	if o.Differs == "" {
		o.Differs = engine.DifferDrop
	}
	return o, nil
}

func (a *app) fork(ctx context.Context, id, name string, f forkFlags) error {
	if a.flags.json {
		a.flags.headless = true
	}
	o, err := f.options(a.flags.headless || !a.canDraw())
	if err != nil {
		return bad(err)
	}
	w, err := a.again(ctx, id)
	if err != nil {
		return beforeStart(ctx, err)
	}
	key, err := memberNamed(ctx, w.store, name)
	if err == nil && f.turn == 0 {
		f.turn, err = lastTurn(ctx, w.store, key)
	}
	if err == nil {
		err = w.engine.Fork(key, f.turn, o)
	}
	if err != nil {
		return w.abandon(bad(err))
	}
	return a.work(ctx, w)
}

// lastTurn of a trajectory; 1 where it has none.
func lastTurn(ctx context.Context, r sessions.Reader, key sessions.Key) (int, error) {
	rows, _, err := r.Trajectories(ctx)
	for _, t := range rows {
		if t.Key == key {
			return max(t.Turn, 1), err
		}
	}
	return 1, err
}

// sayRebuilt lists what a fork's sandbox answers otherwise.
func (f *follower) sayRebuilt(key sessions.Key, r sessions.Rebuilt) {
	said := r.Say()
	if said == "" {
		return
	}
	fmt.Fprintf(f.lines, "fork %s: %s\n", key, said)
	for _, d := range r.Differs {
		fmt.Fprintf(f.lines, "  turn %d %s %s\n", d.Turn, word(d.Tool), word(d.Args))
		if d.Why != "" {
			fmt.Fprintf(f.lines, "    %s\n", word(d.Why))
			continue
		}
		fmt.Fprintf(f.lines, "    recorded: %s\n    here:     %s\n", clipped(d.Was), clipped(d.Now))
	}
	if r.More > 0 {
		fmt.Fprintf(f.lines, "  and %d more\n", r.More)
	}
}

// clipped is a text on one line of some length.
func clipped(text string) string {
	const most = 200
	runes := []rune(word(text))
	if len(runes) <= most {
		return string(runes)
	}
	return strings.TrimSpace(string(runes[:most])) + " …"
}
