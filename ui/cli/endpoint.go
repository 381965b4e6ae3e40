package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"rollbench/engine"
	"rollbench/engine/infer"
	"rollbench/engine/infer/simulated"
	"rollbench/engine/task"
)

// endpoint is what a run samples from: the probed inference endpoints, or the
// simulated one when the configuration names none.
type endpoint struct {
	all  []engine.Upstream
	caps infer.Capabilities // of all of them
	sim  *simulated.Server
}

func (ep *endpoint) model() string {
	if ep.none() {
		return "person"
	}
	return ep.all[0].Client.Model()
}

// none: no model is asked, a person writes every turn.
func (ep *endpoint) none() bool { return len(ep.all) == 0 }

// resolve how prompts are made. Where nobody is asked they are messages.
func (ep *endpoint) resolve(g *engine.Generator) error {
	if ep.none() {
		g.PromptMode = "chat"
		return nil
	}
	return bad(g.ResolvePromptMode(ep.caps))
}

// urls of all endpoints, without credentials.
func (ep *endpoint) urls() string {
	var urls []string
	for _, u := range ep.all {
		urls = append(urls, u.Client.URL())
	}
	return strings.Join(urls, ", ")
}

// openEndpoint probes all endpoints at once and sees that they agree.
func (a *app) openEndpoint(ctx context.Context, c *config, close *closers) (*endpoint, error) {
	ep := &endpoint{}
	if c.Generator.Human && c.noEndpoint() {
		if a.flags.headless || !a.canDraw() {
			return nil, bad(errors.New("generator.human without an endpoint.url: a person writes every turn, in the workbench; start it in a terminal and without --headless"))
		}
		return ep, nil
	}
	var err error
	if ep.sim, err = c.simulated(close); err != nil {
		return nil, err
	}
	if ep.sim != nil {
		c.Generator.MaxPromptLength *= c.Simulated.Scale
		c.Generator.LowBudget *= c.Simulated.Scale
	}
	ups, errs := a.probe(ctx, c, ep.sim, close)
	for _, err := range errs {
		if err != nil {
			return nil, bad(err)
		}
	}
	ep.all = ups
	ep.caps, err = engine.Agree(ups)
	return ep, bad(err)
}

// noEndpoint: the configuration names none.
func (c *config) noEndpoint() bool { return len(c.Endpoints) == 1 && c.Endpoints[0].URL == "" }

// simulated starts the embedded endpoint where no other is named, else it is nil.
func (c *config) simulated(close *closers) (*simulated.Server, error) {
	if !c.noEndpoint() {
		return nil, nil
	}
	sim, err := simulated.Start(c.Simulated.options(""))
	if err != nil {
		return nil, fmt.Errorf("start the simulated endpoint: %w", err)
	}
	close.add(sim)
	return sim, nil
}

// probe every endpoint. What is wrong with one stands at its place.
func (a *app) probe(ctx context.Context, c *config, sim *simulated.Server, close *closers) ([]engine.Upstream, []error) {
	all := c.Endpoints
	ups, errs := make([]engine.Upstream, len(all)), make([]error, len(all))
	probe, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for i, s := range all {
		if sim != nil {
			s.URL = sim.URL()
		}
		client, err := newClient(s, c.Generator.Template)
		if err != nil {
			errs[i] = err
			continue
		}
		close.add(client)
		wg.Go(func() {
			slow := time.AfterFunc(time.Second, func() { a.progress("asking " + client.URL() + " what it can do …") })
			defer slow.Stop()
			caps, err := client.Probe(probe)
			ups[i], errs[i] = engine.Upstream{Client: client, Capabilities: caps, Weight: s.Weight, Streaming: s.Streaming}, err
		})
	}
	wg.Wait()
	return ups, errs
}

func newClient(s engine.Server, template map[string]any) (*infer.Client, error) {
	opt := infer.Options{BaseURL: s.URL, Model: s.Model, RequestLimit: time.Duration(s.Request), IdleLimit: time.Duration(s.Idle), Retries: s.Retries, Template: template}
	if s.Retries == 0 {
		opt.Retries = -1
	}
	if s.KeyEnv != "" {
		key, ok := os.LookupEnv(s.KeyEnv)
		if !ok || key == "" {
			return nil, fmt.Errorf("endpoint.api_key_env names %s, which is not set: export it first", s.KeyEnv)
		}
		opt.Key = infer.Secret(key)
	}
	return infer.New(opt)
}

func (s simulatedConfig) options(address string) simulated.Options {
	opt := simulated.Options{Address: address, Seed: s.Seed, Latency: time.Duration(s.Latency), TokensPerSecond: s.TokensPerSecond, Concurrency: s.Concurrency,
		KVTokens: s.KVCapacity, StepTime: time.Duration(s.StepTime), StepTimePerSequence: time.Duration(s.StepPerSequence), PrefillTokensPerSecond: s.Prefill}
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
