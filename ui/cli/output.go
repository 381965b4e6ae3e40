package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"rollbench/sessions"
)

func (a *app) outputCommand() *cobra.Command {
	attempt := 0
	c := &cobra.Command{
		Use:   "output RUN TRAJECTORY TURN [CALL]",
		Short: "Print all that a tool call printed, as it came",
		Long: `Print all that a tool call printed, byte by byte, escape sequences too. RUN may
be "latest" or the start of an id; TRAJECTORY is written as the workbench does,
flask-4045#2; CALL counts the calls of the turn's reply from 1 (default: 1).
At most 16 MiB of a call are kept, its first and its last half: a gap is told on
standard error. Where the model saw all of it, what the model saw is printed.`,
		Example: `  rollbench output latest pager-last-page#0 3
  rollbench output r-1129-1842 flask-4045#2 7 2 | less -R
  rollbench output latest flask-4045#2 7 --attempt 1 > out.txt`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 3 || len(args) > 4 {
				return bad(fmt.Errorf("%s takes RUN TRAJECTORY TURN and perhaps CALL, got %d arguments; see %s --help", cmd.Name(), len(args), cmd.CommandPath()))
			}
			return nil
		},
		ValidArgsFunction: completeOutput,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			dir, err := home()
			if err != nil {
				return bad(err)
			}
			r, err := sessions.OpenReader(cmd.Context(), dir, args[0])
			if err != nil {
				return bad(err)
			}
			defer func() { err = errors.Join(err, r.Close()) }()
			at, o, err := findCall(cmd.Context(), r, args[1:], attempt)
			if err != nil {
				return bad(err)
			}
			return a.printOutput(cmd.Context(), r, at, o)
		},
	}
	c.Flags().IntVar(&attempt, "attempt", 0, "of attempt `N` (default: the latest)")
	return c
}

// findCall reads the observation that TRAJECTORY TURN [CALL] name.
func findCall(ctx context.Context, r sessions.Reader, args []string, attempt int) (at sessions.CallPlace, o sessions.Observation, err error) {
	if at.Key, err = memberNamed(ctx, r, args[0]); err != nil {
		return at, o, err
	}
	at.Attempt = attempt
	if at.Turn, err = fromOne("TURN", args[1]); err != nil {
		return at, o, err
	}
	call := 1
	if len(args) > 2 {
		if call, err = fromOne("CALL", args[2]); err != nil {
			return at, o, err
		}
	}
	at.Call = call - 1
	turns, err := r.Turns(ctx, at.Key, attempt, at.Turn, at.Turn, false)
	if err != nil {
		return at, o, err
	}
	turns = slices.DeleteFunc(turns, func(t sessions.Turn) bool { return t.Superseded })
	switch {
	case len(turns) == 0 && attempt > 0:
		return at, o, fmt.Errorf("attempt %d of %s has no turn %d", attempt, at.Key, at.Turn)
	case len(turns) == 0:
		return at, o, fmt.Errorf("%s has no turn %d", at.Key, at.Turn)
	case call > len(turns[0].Calls):
		return at, o, fmt.Errorf("the reply of turn %d of %s has %d calls, no call %d", at.Turn, at.Key, len(turns[0].Calls), call)
	case call > len(turns[0].Observations):
		return at, o, fmt.Errorf("call %d of turn %d of %s has not returned", call, at.Turn, at.Key)
	}
	return at, turns[0].Observations[at.Call], nil
}

func fromOne(what, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s is %q: write a number from 1 on", what, text)
	}
	return n, nil
}

// memberNamed finds a trajectory by its name, forks too.
func memberNamed(ctx context.Context, r sessions.Reader, name string) (sessions.Key, error) {
	rows, _, err := r.Trajectories(ctx)
	if err != nil {
		return sessions.Key{}, err
	}
	near, cost := "", 1<<30
	for _, t := range rows {
		if t.Key.String() == name {
			return t.Key, nil
		}
		if d := distance(name, t.Key.String()); d < cost {
			near, cost = t.Key.String(), d
		}
	}
	return sessions.Key{}, fmt.Errorf("run %s has no trajectory %s; did you mean %s?", r.Run().ID, name, near)
}

// printOutput copies what is kept, a chunk at a time.
func (a *app) printOutput(ctx context.Context, r sessions.Reader, at sessions.CallPlace, o sessions.Observation) error {
	if o.Output == nil {
		_, err := io.WriteString(a.out, o.Text)
		return err
	}
	for off := int64(0); off < o.Output.Size; {
		piece, err := r.Output(ctx, at, off, sessions.OutputChunk)
		if err == nil && len(piece) == 0 {
			err = fmt.Errorf("the output of turn %d of %s ends at byte %d of %d: the session is damaged", at.Turn, at.Key, off, o.Output.Size)
		}
		if err == nil {
			_, err = a.out.Write(piece)
		}
		if err != nil {
			return &exit{1, err}
		}
		off += int64(len(piece))
	}
	if o.Output.Dropped > 0 {
		if _, err := fmt.Fprintf(a.err, "%d bytes behind byte %d were not kept\n", o.Output.Dropped, o.Output.Head); err != nil {
			return err
		}
	}
	return nil
}

// completeOutput offers runs, then the trajectories of the run.
func completeOutput(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return completeRuns(cmd, args, begun)
	}
	dir, err := home()
	if err != nil || len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	r, err := sessions.OpenReader(cmd.Context(), dir, args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer r.Close() // it was only read
	rows, _, err := r.Trajectories(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, t := range rows {
		if strings.HasPrefix(t.Key.String(), begun) {
			out = append(out, t.Key.String())
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
