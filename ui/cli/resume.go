package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"rollbench/engine/task"
	"rollbench/sessions"
	"rollbench/sessions/stats"
)

func (a *app) resumeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Go on with a run that was stopped or killed",
		Long: `Go on with a run that was stopped or killed (default: the newest). Finished
trajectories stay as they are. The others go on where their last recorded reply
left them when their sandbox can be brought back by replaying the recorded
calls, else they start again as the next attempt. The set of trajectories does
not change, and sandboxes that the dead process left are removed first. What was
paused goes on.`,
		Example: "  rollbench resume\n  rollbench resume r-1129-1842 --headless",
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if over, err := a.nothingLeft(cmd.Context(), runArg(args)); over || err != nil {
				return err
			}
			w, err := a.again(cmd.Context(), runArg(args))
			if err != nil {
				return beforeStart(cmd.Context(), err)
			}
			return a.work(cmd.Context(), w)
		},
	}
	a.screenFlags(c)
	c.ValidArgsFunction = completeRuns
	return c
}

// nothingLeft tells of a run that is finished, before anything is asked of an endpoint
// or opened for it.
func (a *app) nothingLeft(ctx context.Context, id string) (over bool, err error) {
	dir, err := home()
	if err != nil {
		return false, bad(err)
	}
	r, err := sessions.OpenReader(ctx, dir, id)
	if err != nil {
		return false, bad(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	rows, _, err := r.Trajectories(ctx)
	if err != nil {
		return false, &exit{1, err}
	}
	for _, t := range rows {
		if !t.State.Ended() {
			return false, nil
		}
	}
	run := r.Run()
	fmt.Fprintf(a.err, "run %s is finished: nothing is left to resume; `%s open %s` shows it\n", run.ID, self(), run.ID)
	if err := a.printOutcome(run, rows, 0); err != nil {
		return true, &exit{1, err}
	}
	return true, nil
}

func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return bad(fmt.Errorf("%s takes one RUN, got %d; see %s --help", cmd.Name(), len(args), cmd.CommandPath()))
	}
	return nil
}

func runArg(args []string) string {
	if len(args) == 0 {
		return "latest"
	}
	return args[0]
}

// movable are the keys that a resume may change: where a run works and how much
// at once, never what it samples.
var movable = []string{"endpoint=", "endpoint.url", "endpoint.weight", "endpoint.api_key_env", "endpoint.request_timeout", "endpoint.idle_timeout", "endpoint.retries",
	"endpoint.outage_limit", "dispatcher.max_", "dispatcher.type", "dispatcher.order", "dispatcher.adaptive", "dispatcher.stall_after", "sandbox.", "limits.", "simulated.latency", "simulated.tokens_per_second", "simulated.concurrency", "ui."}

func mayMove(assignment string) error {
	for _, key := range movable {
		if strings.HasPrefix(strings.TrimSpace(assignment), key) {
			return nil
		}
	}
	return fmt.Errorf("--set %s: a resume keeps what the run samples; only %s… can change", assignment, strings.Join(movable, ", "))
}

// again opens a run to go on with it, with the configuration it was started
// with, over today's defaults for keys that it did not know.
func (a *app) again(ctx context.Context, id string) (_ *work, err error) {
	w := &work{}
	defer func() { err = w.abandon(err) }()
	dir, err := home()
	if err != nil {
		return nil, bad(err)
	}
	run, limits, err := readLimits(ctx, dir, id)
	if err != nil {
		return nil, bad(err)
	}
	if w.config, err = a.load(); err != nil {
		return nil, err
	}
	if err := recorded(run, w.config); err != nil {
		return nil, err
	}
	if limits != nil { // as they were changed last
		w.config.Dispatcher.SetLimits(*limits)
	}
	for _, s := range a.overrides() {
		if err := cmp.Or(mayMove(s), w.config.set(s)); err != nil {
			return nil, bad(err)
		}
	}
	if err := w.config.check(); err != nil {
		return nil, bad(err)
	}
	instances, err := a.sameInstances(w.config, run)
	if err != nil {
		return nil, err
	}
	w.title = run.Title
	if w.ep, err = a.openEndpoint(ctx, w.config, &w.close); err != nil {
		return nil, err
	}
	if w.ep.caps.Simulated != run.Simulate || w.ep.model() != run.Model {
		return nil, bad(fmt.Errorf("run %s was sampled from %s%s, and %s serves %s%s: one run has one policy", run.ID, run.Model, simulatedMark(run.Simulate),
			w.ep.urls(), w.ep.model(), simulatedMark(w.ep.caps.Simulated)))
	}
	if err := w.ep.resolve(&w.config.Generator); err != nil {
		return nil, err
	}
	if err := a.openServers(ctx, w); err != nil {
		return nil, err
	}
	if w.changed, err = sameTools(run, w.config, w.servers); err != nil {
		return nil, err
	}
	return w, a.finishOpening(ctx, w, instances, func(home string) (*sessions.Store, error) { return sessions.Open(ctx, home, run.ID) })
}

// readLimits is a run and the limits that were in force last.
func readLimits(ctx context.Context, home, id string) (run sessions.Run, limits *sessions.Limits, err error) {
	r, err := sessions.OpenReader(ctx, home, id)
	if err != nil {
		return run, nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	s, err := stats.Read(ctx, r)
	if err != nil {
		return run, nil, err
	}
	return r.Run(), s.Limits(), nil
}

// sameInstances are the instances of the run's members, from where it had them.
func (a *app) sameInstances(c *config, run sessions.Run) ([]*task.Instance, error) {
	source := run.Source
	if source == "" {
		source = "bundled" // a superset of the default set
	}
	all, _, err := a.loadTasks(c, source)
	if err != nil {
		return nil, err
	}
	member := map[string]bool{}
	for _, k := range run.Members {
		member[k.Instance] = true
	}
	var out []*task.Instance
	for _, in := range all {
		if member[in.ID] {
			out = append(out, in)
		}
	}
	return out, nil
}
