package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"rollbench/sessions"
	"rollbench/tools"
	"rollbench/tools/mcp"
)

// MCPServer is an MCP server whose tools the policy may call.
type MCPServer struct {
	Name    string            `toml:"name" json:"name"`
	Argv    []string          `toml:"argv" json:"argv"`
	Env     []string          `toml:"env" json:"env"`
	Dir     string            `toml:"cwd" json:"cwd"`
	URL     string            `toml:"url" json:"url"`
	Headers map[string]string `toml:"headers" json:"headers"` // to NAMES of environment variables
	Scope   string            `toml:"scope" json:"scope"`     // trajectory ("") or run
	Include []string          `toml:"include" json:"include"`
	Exclude []string          `toml:"exclude" json:"exclude"`
	Timeout Duration          `toml:"timeout" json:"timeout"`             // 0: tools.command_timeout
	Start   Duration          `toml:"start_timeout" json:"start_timeout"` // 0: one minute
	Max     int               `toml:"max_chars" json:"max_chars"`         // 0: tools.max_observation_chars
}

// Who shares a connection to an MCP server.
const (
	perTrajectory = "trajectory"
	perRun        = "run"
)

func (s MCPServer) server(client string) mcp.Server {
	return mcp.Server{Name: s.Name, Argv: s.Argv, Env: s.Env, Dir: s.Dir, URL: s.URL, Headers: s.Headers, Shared: s.Scope == perRun,
		Include: s.Include, Exclude: s.Exclude, Start: cmp.Or(time.Duration(s.Start), time.Minute), Client: client}
}

// checkServers says what is wrong with the declarations, without reaching for any.
func (t Tools) checkServers() error {
	seen := map[string]bool{}
	for _, s := range t.Servers {
		wrong := func(err error) error { return fmt.Errorf("tools.mcp %q: %w", s.Name, err) }
		switch {
		case seen[s.Name]:
			return wrong(errors.New("two servers have this name: give one another"))
		case !slices.Contains([]string{"", perTrajectory, perRun}, s.Scope):
			return wrong(fmt.Errorf("scope is %q: use trajectory or run", s.Scope))
		case s.Max < 0:
			return wrong(fmt.Errorf("max_chars is %d: it must not be negative", s.Max))
		}
		seen[s.Name] = true
		if err := tools.CheckServerName(s.Name); err != nil {
			return wrong(err)
		}
		if err := s.server("").Check(); err != nil {
			return wrong(err)
		}
	}
	return nil
}

// Servers are the MCP servers of a run, with the tools they have. nil: none.
type Servers struct {
	config []MCPServer
	listed []*mcp.Listed
}

// AskServers reaches each server that the configuration has and asks for its
// tools, all at once. client is our version. There is an error, or nil, for each.
// nil: the configuration has none.
func AskServers(ctx context.Context, c Config, client string) (*Servers, []error) {
	if !c.Tools.MCP || len(c.Tools.Servers) == 0 {
		return nil, nil
	}
	s := &Servers{config: c.Tools.Servers, listed: make([]*mcp.Listed, len(c.Tools.Servers))}
	failed := make([]error, len(s.config))
	var asking sync.WaitGroup
	for i, one := range s.config {
		asking.Go(func() { s.listed[i], failed[i] = mcp.List(ctx, one.server(client)) })
	}
	asking.Wait()
	return s, failed
}

// OpenServers are the servers for a run: all of them, or an error. progress hears
// what each one has.
func OpenServers(ctx context.Context, c Config, client string, progress func(string)) (*Servers, error) {
	s, failed := AskServers(ctx, c, client)
	if s == nil {
		return nil, nil
	}
	for i, err := range failed {
		if err != nil {
			failed[i] = fmt.Errorf("MCP server %s: %w", s.config[i].Name, err)
		}
	}
	err := errors.Join(failed...)
	if err == nil {
		// Names, schemas and rules, now that all tools are known.
		_, _, err = Scaffold(c, s)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for i := range s.config {
		progress("mcp " + s.Describe(i))
	}
	return s, nil
}

// Describe says how many tools a server has, by its place in the configuration.
func (s *Servers) Describe(i int) string {
	return s.config[i].Name + ": " + plural(len(s.listed[i].Tools), "tool")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Close ends the connections that all trajectories share.
func (s *Servers) Close() error {
	if s == nil {
		return nil
	}
	var errs []error
	for _, l := range s.listed {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	return errors.Join(errs...)
}

// tools of the servers, to be made for one trajectory.
func (s *Servers) tools() []tools.Server {
	if s == nil {
		return nil
	}
	var out []tools.Server
	for i, l := range s.listed {
		out = append(out, tools.Server{Listed: l, Timeout: time.Duration(s.config[i].Timeout), Max: s.config[i].Max})
	}
	return out
}

// ServerTools are the tools that each server had when a run started, by its name.
// They are part of the run's fingerprint, since no configuration holds them.
type ServerTools map[string][]mcp.Tool

// Tools that the servers have.
func (s *Servers) Tools() ServerTools {
	out := ServerTools{}
	if s != nil {
		for _, l := range s.listed {
			out[l.Name] = l.Tools
		}
	}
	return out
}

// Recorded are the servers of a run as it found them; none is started.
func (c Config) Recorded(had ServerTools) *Servers {
	if !c.Tools.MCP || len(c.Tools.Servers) == 0 {
		return nil
	}
	s := &Servers{config: c.Tools.Servers}
	for _, one := range c.Tools.Servers {
		s.listed = append(s.listed, mcp.Recorded(one.server(""), had[one.Name]))
	}
	return s
}

// Differ says what is not as it was, for the first server of which that is so;
// "" where nothing is.
func (had ServerTools) Differ(now ServerTools) string {
	for _, name := range slices.Sorted(maps.Keys(had)) {
		before := map[string]string{}
		for _, t := range had[name] {
			before[t.Name] = fmt.Sprintf("%s\n%s", t.Description, t.Parameters)
		}
		var changes []string
		for _, t := range now[name] {
			text, known := before[t.Name]
			delete(before, t.Name)
			switch {
			case !known:
				changes = append(changes, t.Name+" is new")
			case text != fmt.Sprintf("%s\n%s", t.Description, t.Parameters):
				changes = append(changes, t.Name+" has another text")
			}
		}
		for _, gone := range slices.Sorted(maps.Keys(before)) {
			changes = append(changes, gone+" is gone")
		}
		if len(changes) > 0 {
			return fmt.Sprintf("the tools of MCP server %s are not those the run was started with: %s", name, strings.Join(changes, ", "))
		}
	}
	return ""
}

// watchServers records it when a server says that its tools have changed, until
// the function it returns is called.
func (e *Engine) watchServers() (enough func()) {
	if e.opt.Servers == nil {
		return func() {}
	}
	for _, l := range e.opt.Servers.listed {
		l.OnChange(func() {
			text := fmt.Sprintf("MCP server %s says that its tools have changed; this run keeps those it started with", l.Name)
			if err := e.commit(context.WithoutCancel(e.ctx), sessions.Key{}, sessions.KindWarning, sessions.Warning{Text: text}); err != nil {
				e.fail(err)
			}
		})
	}
	return func() {
		for _, l := range e.opt.Servers.listed {
			l.OnChange(nil)
		}
	}
}
