package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"rollbench/engine"
	"rollbench/engine/dispatch"
	"rollbench/engine/infer"
	"rollbench/engine/infer/simulated"
	"rollbench/engine/task"
	"rollbench/sandbox"
	"rollbench/sandbox/docker"
	"rollbench/sandbox/local"
	"rollbench/sessions"
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

// loadTasks reads the instances that the flags name.
func (a *app) loadTasks(c *config, source string) ([]*task.Instance, string, error) {
	opt := task.Options{BuildArgs: c.Sandbox.BuildArgs}
	var all []task.Instance
	var err error
	title := "bundled"
	switch source {
	case "":
		all, err = task.Default(hasProgram, opt)
	case "bundled":
		all, err = task.Bundled(opt)
	default:
		title = filepath.Base(source)
		all, err = task.Load(source, opt)
	}
	if err != nil {
		return nil, "", bad(err)
	}
	var out []*task.Instance
	for i := range all {
		keep, err := matches(all[i].ID, a.flags.instances)
		if err != nil {
			return nil, "", bad(err)
		}
		if keep && (a.flags.limit <= 0 || len(out) < a.flags.limit) {
			out = append(out, &all[i])
		}
	}
	if len(out) == 0 {
		return nil, "", bad(fmt.Errorf("no instance is left: --instances %v matches none of %d", a.flags.instances, len(all)))
	}
	return out, title, nil
}

func matches(id string, globs []string) (bool, error) {
	for _, g := range globs {
		ok, err := path.Match(g, id)
		if err != nil {
			return false, fmt.Errorf("--instances %s: %w", g, err)
		}
		if ok {
			return true, nil
		}
	}
	return len(globs) == 0, nil
}

func hasProgram(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// providers of both kinds of sandbox. Docker is there even when no engine
// answers: its Check says so.
func (a *app) providers(ctx context.Context, c *config, home string, close *closers) (map[sandbox.Kind]sandbox.Provider, error) {
	l, err := local.New(local.Options{Home: home, AllowUncontained: c.Sandbox.AllowUncontained})
	if err != nil {
		return nil, err
	}
	close.add(l)
	d, err := docker.New(ctx, docker.Options{})
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

// endpoint is a probed inference endpoint, with the simulated one behind it
// when the configuration names no other.
type endpoint struct {
	client *infer.Client
	caps   infer.Capabilities
	sim    *simulated.Server
}

func (a *app) openEndpoint(ctx context.Context, c *config, close *closers) (*endpoint, error) {
	ep := &endpoint{}
	opt := infer.Options{BaseURL: c.Endpoint.URL, Model: c.Endpoint.Model, RequestLimit: time.Duration(c.Endpoint.Request),
		IdleLimit: time.Duration(c.Endpoint.Idle), Retries: c.Endpoint.Retries}
	if c.Endpoint.Retries == 0 {
		opt.Retries = -1
	}
	if opt.BaseURL == "" {
		var err error
		if ep.sim, err = simulated.Start(c.Simulated.options("")); err != nil {
			return nil, fmt.Errorf("start the simulated endpoint: %w", err)
		}
		close.add(ep.sim)
		opt.BaseURL = ep.sim.URL()
		c.Generator.MaxPromptLength *= c.Simulated.Scale
	}
	if name := c.Endpoint.KeyEnv; name != "" {
		key, ok := os.LookupEnv(name)
		if !ok {
			return nil, bad(fmt.Errorf("endpoint.api_key_env names %s, which is not set: export it first", name))
		}
		opt.Key = infer.Secret(key)
	}
	var err error
	if ep.client, err = infer.New(opt); err != nil {
		return nil, bad(err)
	}
	close.add(ep.client)
	probe, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if ep.caps, err = ep.client.Probe(probe); err != nil {
		return nil, bad(err)
	}
	return ep, nil
}

func (s simulatedConfig) options(address string) simulated.Options {
	opt := simulated.Options{Address: address, Seed: s.Seed, Latency: time.Duration(s.Latency), TokensPerSecond: s.TokensPerSecond, Concurrency: s.Concurrency}
	if opt.Latency == 0 {
		opt.Latency = -1
	}
	if opt.TokensPerSecond == 0 {
		opt.TokensPerSecond = -1
	}
	return opt
}

// meet tells the simulated endpoint what its policy may know of a task: the
// reference solution as edits, files and words worth a look.
func (ep *endpoint) meet(session, stream string, in *task.Instance, workdir string) {
	t := simulated.Task{Workdir: workdir, TestCommand: in.TestCommand, Stream: stream, Script: string(in.Reference.Script)}
	if edits, err := in.Reference.Edits(); err == nil { // else a script, or nothing: the policy explores and gives up
		for _, e := range edits {
			t.Edits = append(t.Edits, simulated.Edit{Path: e.Path, Old: e.Old, New: e.New, Create: e.Create, Delete: e.Delete})
			if !e.Create && !slices.Contains(t.Files, e.Path) {
				t.Files = append(t.Files, e.Path)
			}
		}
	}
	for _, m := range codeWord.FindAllStringSubmatch(in.Instruction, 4) {
		t.Terms = append(t.Terms, m[1])
	}
	ep.sim.Register(session, t)
}

// codeWord is a word that an issue text marks as code.
var codeWord = regexp.MustCompile("`([A-Za-z_][A-Za-z0-9_.]*)")

// work is everything a run needs, opened.
type work struct {
	engine  *engine.Engine
	store   *sessions.Store
	close   closers
	config  *config
	ep      *endpoint
	title   string
	notices []string // to show before the run starts
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
	w.title = title
	for _, in := range instances {
		w.notices = append(w.notices, in.Warnings...)
	}
	recorded, err := json.Marshal(w.config) // before the simulated endpoint scales the budget
	if err != nil {
		return nil, fmt.Errorf("encode the configuration: %w", err)
	}
	if w.ep, err = a.openEndpoint(ctx, w.config, &w.close); err != nil {
		return nil, err
	}
	create := func(dir string) (*sessions.Store, error) {
		id, err := sessions.NewRunID(time.Now(), dir)
		if err != nil {
			return nil, err
		}
		run := sessions.Run{ID: id, Created: time.Now(), Title: title, N: w.config.Generator.NumTrajectories,
			Members: engine.Members(instances, w.config.Generator.NumTrajectories), Source: source, Policy: w.config.Dispatcher.Type,
			Endpoint: w.ep.client.URL(), Model: w.ep.client.Model(), Simulate: w.ep.caps.Simulated, Config: recorded, Version: Version}
		if run.Print, err = fingerprint(w, instances); err != nil {
			return nil, err
		}
		return sessions.Create(ctx, dir, run)
	}
	return w, a.finishOpening(ctx, w, instances, create)
}

// finishOpening opens what new and resumed runs have in common, in the order
// that loses nothing: sandboxes are checked before a session is made.
func (a *app) finishOpening(ctx context.Context, w *work, instances []*task.Instance, open func(home string) (*sessions.Store, error)) error {
	dir, err := home()
	if err != nil {
		return bad(err)
	}
	ps, err := a.providers(ctx, w.config, dir, &w.close)
	if err != nil {
		return bad(err)
	}
	if err := a.reap(ctx, ps, func(s string) { w.notices = append(w.notices, s) }); err != nil {
		w.notices = append(w.notices, oneLine(err))
	}
	if err := engine.CheckSandboxes(ctx, w.config.Sandbox, ps, instances); err != nil {
		return bad(err)
	}
	if w.store, err = open(dir); err != nil {
		return bad(err)
	}
	w.close.add(w.store)
	log, err := logTo(filepath.Join(dir, "runs", w.store.Run().ID), &w.close)
	if err != nil {
		return err
	}
	opt := engine.Options{Config: w.config.Config, Instances: instances, Providers: ps, Client: w.ep.client, Capabilities: w.ep.caps, Log: log}
	if w.config.Dispatcher.Order == string(dispatch.LongestFirst) {
		if opt.History, err = pastTimes(ctx, dir, w.store.Run().ID); err != nil {
			return err
		}
	}
	if w.ep.sim != nil {
		opt.Meet = w.ep.meet
		opt.Forget = w.ep.sim.Forget
	}
	w.engine, err = engine.New(ctx, opt, w.store)
	if err != nil {
		return bad(err)
	}
	return nil
}

// fingerprint is what two runs must share to be compared.
func fingerprint(w *work, instances []*task.Instance) (json.RawMessage, error) {
	ids := make([]string, len(instances))
	for i, in := range instances {
		ids[i] = in.ID
	}
	return json.Marshal(map[string]any{
		"rollbench": Version, "generator": w.config.Generator, "tools": w.config.Tools, "limits": w.config.Limits,
		"endpoint": map[string]any{"model": w.ep.client.Model(), "capabilities": w.ep.caps}, "instances": ids,
	})
}
