package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"rollbench/engine"
	"rollbench/engine/dispatch"
	"rollbench/engine/task"
	"rollbench/sandbox"
	"rollbench/sandbox/docker"
	"rollbench/sandbox/local"
	"rollbench/sessions"
	"rollbench/tools"
	"rollbench/tools/follow"
)

// closers are closed in reverse order.
type closers []io.Closer

func (c *closers) add(x io.Closer) { *c = append(*c, x) }

func (c *closers) Close() error {
	var errs []error
	for _, x := range slices.Backward(*c) {
		errs = append(errs, x.Close())
	}
	*c = nil
	return errors.Join(errs...)
}

// progress of work before a run starts, on standard error.
func (a *app) progress(line string) { fmt.Fprintln(plain{a.err}, line) }

// plain writes lines to a terminal without the escape sequences that programs, images
// and endpoints put into what is quoted of them. Each Write has whole lines.
type plain struct{ io.Writer }

func (w plain) Write(p []byte) (int, error) {
	_, err := io.WriteString(w.Writer, tools.Clean(p))
	return len(p), err
}

// providers of both kinds of sandbox. Docker is there even when no engine
// answers: its Check says so.
func (a *app) providers(ctx context.Context, c *config, home string, instances []*task.Instance, close *closers) (map[sandbox.Kind]sandbox.Provider, error) {
	opt := local.Options{Home: home, AllowUncontained: c.Sandbox.AllowUncontained}
	if err := dropUnfinished(home); err != nil {
		return nil, err
	}
	cache, err := a.goCache(ctx, c, home, instances)
	if err != nil {
		return nil, err
	}
	if cache != "" {
		opt.ReadOnly = []string{cache}
	}
	l, err := local.New(opt)
	if err != nil {
		return nil, err
	}
	close.add(l)
	d, err := docker.New(ctx, docker.Options{Home: home, Mirror: c.Sandbox.Mirror, Pending: filepath.Join(home, "pending")})
	if err != nil {
		return nil, err
	}
	close.add(d)
	return map[sandbox.Kind]sandbox.Provider{sandbox.Local: l, sandbox.Docker: d}, nil
}

// reap removes what dead owners left behind and says what it was.
func (a *app) reap(ctx context.Context, ps map[sandbox.Kind]sandbox.Provider, say func(string)) error {
	var errs []error
	for _, k := range []sandbox.Kind{sandbox.Local, sandbox.Docker} {
		p := ps[k]
		if k == sandbox.Docker && !p.Check(ctx).OK {
			continue // no engine, no containers
		}
		gone, err := p.Reap(ctx)
		for _, what := range gone {
			say("removed " + what + ", left behind by a rollbench that no longer runs")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("remove left-over %s sandboxes: %w", k, err))
		}
	}
	return errors.Join(errs...)
}

// work is everything a run needs, opened.
type work struct {
	engine  *engine.Engine
	store   *sessions.Store
	close   closers
	config  *config
	ep      *endpoint
	servers *engine.Servers
	title   string
	notices []string // of the time before the run, which are no events of it
	warned  []string // such as are events of the run, too
	changed string   // what a resumed run cannot have as it was, "" for nothing
}

// openServers reaches the MCP servers and has them closed with the rest.
func (a *app) openServers(ctx context.Context, w *work) error {
	servers, err := engine.OpenServers(ctx, w.config.Config, Version, a.progress)
	if err != nil {
		return bad(err)
	}
	w.servers = servers
	w.close.add(servers)
	return nil
}

// abandon closes what was opened so far when opening failed.
func (w *work) abandon(err error) error {
	if err == nil {
		return nil
	}
	if failed := w.close.Close(); failed != nil {
		return fmt.Errorf("%w (and closing what was open: %w)", err, failed)
	}
	return err
}

// logTo sends the log to the run's folder.
func logTo(dir string, close *closers) (*slog.Logger, error) {
	f, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	close.add(f)
	return slog.New(slog.NewTextHandler(f, nil)), nil
}

// begin opens a new run.
func (a *app) begin(ctx context.Context) (_ *work, err error) {
	w := &work{}
	defer func() { err = w.abandon(err) }()
	if w.config, err = a.load(); err != nil {
		return nil, err
	}
	source := a.flags.tasks
	if source != "" && source != "bundled" {
		if source, err = filepath.Abs(source); err != nil {
			return nil, bad(err)
		}
	}
	instances, title, err := a.loadTasks(w.config, source)
	if err != nil {
		return nil, err
	}
	if a.flags.validation {
		title += " validation"
	}
	title += a.titled
	w.title = title
	w.notices = warningsOf(instances)
	recorded, err := json.Marshal(w.config) // before the simulated endpoint scales the budget
	if err != nil {
		return nil, fmt.Errorf("encode the configuration: %w", err)
	}
	if w.ep, err = a.openEndpoint(ctx, w.config, &w.close); err != nil {
		return nil, err
	}
	if err := w.ep.resolve(&w.config.Generator); err != nil {
		return nil, err
	}
	if err := a.openServers(ctx, w); err != nil {
		return nil, err
	}
	create := func(dir string) (*sessions.Store, error) {
		run := sessions.Run{Created: time.Now(), Title: title, N: w.config.Generator.NumTrajectories,
			Members: engine.Members(instances, w.config.Generator.NumTrajectories), Source: source, Policy: w.config.Dispatcher.Type,
			Endpoint: w.ep.urls(), Model: w.ep.model(), Simulate: w.ep.caps.Simulated, Config: recorded, Version: Version}
		if run.Print, err = fingerprint(w.config, w.ep, w.servers, instances); err != nil {
			return nil, err
		}
		for {
			if run.ID, err = sessions.NewRunID(run.Created, dir); err != nil {
				return nil, err
			}
			store, err := sessions.Create(ctx, dir, run)
			if !errors.Is(err, sessions.ErrExists) { // else another start took the id meanwhile
				return store, err
			}
		}
	}
	return w, a.finishOpening(ctx, w, instances, create)
}

// warningsOf the instances, each once with the first that has it.
func warningsOf(instances []*task.Instance) (out []string) {
	var texts []string
	have := map[string][]string{}
	for _, in := range instances {
		for _, text := range in.Warnings {
			if have[text] == nil {
				texts = append(texts, text)
			}
			have[text] = append(have[text], in.ID)
		}
	}
	for _, text := range texts {
		ids := have[text]
		out = append(out, "task "+ids[0]+andMore(len(ids)-1)+": "+text)
	}
	return out
}

// finishOpening opens what new and resumed runs have in common, in the order
// that loses nothing: sandboxes are checked before a session is made.
func (a *app) finishOpening(ctx context.Context, w *work, instances []*task.Instance, open func(home string) (*sessions.Store, error)) error {
	dir, err := home()
	if err != nil {
		return bad(err)
	}
	ps, err := a.providers(ctx, w.config, dir, instances, &w.close)
	if err != nil {
		return bad(err)
	}
	if err := a.reap(ctx, ps, func(s string) { w.notices = append(w.notices, s) }); err != nil {
		w.notices = append(w.notices, oneLine(err))
	}
	if err := engine.CheckSandboxes(ctx, w.config.Sandbox, ps, instances, a.progress); err != nil {
		return bad(err)
	}
	notice, err := engine.FitMemory(ctx, &w.config.Config, ps, instances)
	if err != nil {
		return bad(err)
	}
	if w.store, err = open(dir); err != nil {
		return bad(err)
	}
	w.close.add(w.store)
	for _, text := range []string{notice, w.changed} {
		if text == "" {
			continue
		}
		w.warned = append(w.warned, text)
		warning := sessions.NewEvent(time.Now(), sessions.Key{}, sessions.KindWarning, sessions.Warning{Text: text})
		if err := w.store.Commit(ctx, sessions.Write{Events: []sessions.Event{warning}}); err != nil {
			return err
		}
	}
	log, err := logTo(filepath.Join(dir, "runs", w.store.Run().ID), &w.close)
	if err != nil {
		return err
	}
	opt := engine.Options{Config: w.config.Config, Instances: instances, Providers: ps, Endpoints: w.ep.all, Capabilities: w.ep.caps, Servers: w.servers, Log: log}
	if c := w.config.Tools; c.Search {
		if opt.Bases, err = follow.NewBases(filepath.Join(dir, "index"), int64(c.SearchMB)<<20); err != nil {
			return bad(err)
		}
	}
	opt.Past = func(ctx context.Context) (map[string]float64, []string, error) {
		return pastTimes(ctx, dir, w.store.Run())
	}
	if w.config.Dispatcher.Order == string(dispatch.LongestFirst) {
		var unread []string
		if opt.History, unread, err = opt.Past(ctx); err != nil {
			return err
		}
		w.notices = append(w.notices, unread...)
	}
	if w.ep.sim != nil {
		opt.Meet = w.ep.meet
		opt.Forget = w.ep.sim.Forget
		opt.Modelled = w.config.Simulated.modelled()
	}
	w.engine, err = engine.New(ctx, opt, w.store)
	if err != nil {
		return bad(err)
	}
	return nil
}
