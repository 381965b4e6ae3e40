package cli

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"time"

	"rollbench/engine/infer"
	"rollbench/engine/infer/simulated"
	"rollbench/engine/task"
)

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
		c.Generator.LowBudget *= c.Simulated.Scale
	}
	if name := c.Endpoint.KeyEnv; name != "" {
		key, ok := os.LookupEnv(name)
		if !ok || key == "" {
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
	slow := time.AfterFunc(time.Second, func() { a.progress("asking " + ep.client.URL() + " what it can do …") })
	defer slow.Stop()
	if ep.caps, err = ep.client.Probe(probe); err != nil {
		return nil, bad(err)
	}
	return ep, nil
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
