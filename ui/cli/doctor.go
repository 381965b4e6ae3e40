package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"rollbench/engine"
	"rollbench/engine/infer"
	"rollbench/engine/task"
	"rollbench/sandbox"
	"rollbench/ui"
)

func (a *app) doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine and configuration can do, with the fix for what is missing",
		Example: `  rollbench doctor
  rollbench doctor --endpoint http://localhost:8000 --model qwen3-32b`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context()) },
	}
	c.Flags().StringVar(&a.flags.endpoint, "endpoint", "", "base `URL` of the endpoint to look at")
	c.Flags().StringVar(&a.flags.model, "model", "", "model `NAME` at the endpoint")
	return c
}

// check is one line of the doctor. need: a run cannot start without it.
type check struct {
	name   string
	ok     bool
	need   bool
	detail string
	fix    string
}

func (a *app) doctor(ctx context.Context) (err error) {
	c, err := a.load()
	if err != nil {
		return err
	}
	dir, err := home()
	if err != nil {
		return bad(err)
	}
	var close closers
	defer func() { err = errors.Join(err, close.Close()) }()
	checks := []check{a.terminal(), homeCheck(dir)}
	for _, p := range []struct{ name, what, fix string }{
		{"git", "", "install git: trajectories work in git repositories"},
		{"python3", "the default tasks are the Python ones with it, else the Go ones", "install python3 to run the Python tasks locally"},
		{"go", "", "install Go to run the Go tasks locally"},
		{"bwrap", "", "install bubblewrap for the best local isolation"},
	} {
		if p.name != "bwrap" || runtime.GOOS == "linux" { // no other system has local sandboxes
			checks = append(checks, program(ctx, p.name, p.what, p.fix))
		}
	}
	ps, err := a.providers(ctx, c, dir, nil, &close)
	if err != nil {
		checks = append(checks, check{name: "sandboxes", need: true, detail: oneLine(err), fix: "see the line above"})
	} else {
		checks = append(checks, a.sandboxes(ctx, c, ps)...)
	}
	checks = append(checks, a.serverChecks(ctx, c, &close)...)
	checks = append(checks, a.endpointChecks(ctx, c, &close)...)
	return a.printChecks(checks)
}

// checkIndent is the column in which a check's text begins.
const checkIndent = len("BROKEN   endpoint    ")

// beside wraps a text that begins in a column, so that it stays there on a terminal.
func (a *app) beside(column int, text string) string {
	room := a.width() - column
	if room < 20 { // not a terminal, or none that it fits
		return text
	}
	return strings.Join(ui.Wrap(text, room), "\n"+strings.Repeat(" ", column))
}

func (a *app) printChecks(checks []check) error {
	broken := 0
	for _, k := range checks {
		mark := "ok     "
		switch {
		case !k.ok && k.need:
			mark, broken = "BROKEN ", broken+1
		case !k.ok:
			mark = "missing"
		}
		fmt.Fprintf(a.out, "%s  %-11s %s\n", mark, k.name, a.beside(checkIndent, k.detail))
		if !k.ok && k.fix != "" {
			fmt.Fprintf(a.out, "%*s%s\n", checkIndent, "", a.beside(checkIndent, "fix: "+k.fix))
		}
	}
	if broken > 0 {
		return &exit{1, errors.New("what is BROKEN above keeps a run from starting")}
	}
	_, err := fmt.Fprintln(a.out, "ready: `rollbench` starts a run")
	return err
}

func (a *app) terminal() check {
	k := check{name: "terminal", fix: "run rollbench in a terminal for the workbench; without one it prints progress lines"}
	if !a.onTerminal() {
		k.detail = "standard input or output is no terminal"
		return k
	}
	if !a.canDraw() {
		k.detail = "TERM=dumb: this one cannot move its cursor"
		return k
	}
	w, h, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		k.detail = "its size is unknown: " + err.Error()
		return k
	}
	k.ok = true
	k.detail = fmt.Sprintf("%d×%d, TERM=%s, NO_COLOR=%q", w, h, os.Getenv("TERM"), os.Getenv("NO_COLOR"))
	return k
}

func homeCheck(dir string) check {
	k := check{name: "sessions", need: true, detail: dir, fix: "set ROLLBENCH_HOME to a folder that can be written"}
	if err := os.MkdirAll(filepath.Join(dir, "runs"), 0o700); err != nil {
		k.detail = err.Error()
		return k
	}
	f, err := os.CreateTemp(dir, "doctor-")
	if err != nil {
		k.detail = err.Error()
		return k
	}
	err = errors.Join(f.Close(), os.Remove(f.Name()))
	if k.ok = err == nil; err != nil {
		k.detail = err.Error()
	}
	return k
}

func program(ctx context.Context, name, what, fix string) check {
	k := check{name: name, fix: fix}
	path, err := exec.LookPath(name)
	if err != nil {
		k.detail = "not found"
		return k
	}
	arg := "--version"
	if name == "go" {
		arg = "version"
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, arg).CombinedOutput()
	if err != nil {
		k.detail = fmt.Sprintf("%s does not run: %v", path, err)
		return k
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	k.ok, k.detail = true, first
	if what != "" {
		k.detail += "; " + what
	}
	return k
}

func localDetail(r sandbox.Report) string {
	if r.OK {
		return r.Isolation
	}
	return r.Detail
}

// sandboxes: at least one kind must work.
func (a *app) sandboxes(ctx context.Context, c *config, ps map[sandbox.Kind]sandbox.Provider) []check {
	docker, local := ps[sandbox.Docker].Check(ctx), ps[sandbox.Local].Check(ctx)
	any := docker.OK || local.OK
	out := []check{
		{name: "docker", ok: docker.OK, need: !any, detail: docker.Detail, fix: docker.Fix},
		{name: "local", ok: local.OK, need: !any, detail: localDetail(local), fix: local.Fix},
	}
	if !docker.OK {
		return out
	}
	all, err := task.Bundled(task.Options{BuildArgs: c.Sandbox.BuildArgs})
	if err != nil {
		return append(out, check{name: "tasks", need: true, detail: oneLine(err)})
	}
	present := 0
	for _, in := range all {
		if ok, err := ps[sandbox.Docker].HasImage(ctx, in.Image); err == nil && ok {
			present++
		}
	}
	k := check{name: "images", ok: present == len(all), detail: fmt.Sprintf("%d of %d images of the bundled tasks are present; without one a task runs locally", present, len(all)),
		fix: "`rollbench validate --sandbox docker` builds them (a base image without a registry: --set sandbox.build_args.BASE=IMAGE)"}
	return append(out, k, imageCheck(ctx, ps[sandbox.Docker]))
}

// serverChecks are a line for each MCP server, and one when their tools do not go
// together.
func (a *app) serverChecks(ctx context.Context, c *config, close *closers) []check {
	servers, failed := engine.AskServers(ctx, c.Config, Version)
	if servers == nil {
		return nil
	}
	close.add(servers)
	var out []check
	for i, err := range failed {
		k := check{name: "mcp", ok: err == nil, need: true, fix: "see what the server needs (a program, a variable, a url), or leave it out: --set tools.enable_mcp=false"}
		if err != nil {
			k.detail = c.Tools.Servers[i].Name + ": " + oneLine(err)
		} else {
			k.detail = servers.Describe(i)
		}
		out = append(out, k)
	}
	if errors.Join(failed...) != nil {
		return out
	}
	if _, _, err := engine.Scaffold(c.Config, servers); err != nil {
		out = append(out, check{name: "tools", need: true, detail: oneLine(err), fix: "leave a tool out with exclude, or correct the rule"})
	}
	return out
}

// endpointChecks are a line each, and one when they do not agree.
func (a *app) endpointChecks(ctx context.Context, c *config, close *closers) []check {
	fix := "start the server, or name it with --endpoint URL --model NAME"
	sim, err := c.simulated(close)
	if err != nil {
		return []check{{name: "endpoint", need: true, detail: oneLine(err), fix: fix}}
	}
	ups, errs := a.probe(ctx, c, sim, close)
	var out []check
	for i, u := range ups {
		k := check{name: "endpoint", need: true, fix: fix}
		if k.ok = errs[i] == nil; k.ok {
			k.detail = fmt.Sprintf("%s, model %s: %s", u.Client.URL(), u.Client.Model(), describe(u.Capabilities))
		} else {
			k.detail = oneLine(errs[i])
		}
		if len(ups) > 1 && k.ok {
			k.detail += fmt.Sprintf("; weight %g", u.Weight)
		}
		out = append(out, k)
	}
	if errors.Join(errs...) == nil {
		if _, err := engine.Agree(ups); err != nil {
			out = append(out, check{name: "endpoints", need: true, detail: oneLine(err), fix: "give each run endpoints of one kind"})
		}
	}
	return out
}

// describe says what an endpoint supports and what follows.
func describe(c infer.Capabilities) string {
	name := strings.TrimSpace(c.Server + " " + c.Version)
	if c.Simulated {
		name = "simulated"
	}
	var can, cannot []string
	for _, f := range []struct {
		ok   bool
		what string
	}{{c.Chat, "chat"}, {c.TokenIDs, "token ids"}, {c.Logprobs, "logprobs"}, {c.Tokenize, "tokenize"}, {c.Complete != "", "continuing ids (" + c.Complete + ")"}, {c.Metrics, "metrics"}} {
		if f.ok {
			can = append(can, f.what)
		} else {
			cannot = append(cannot, strings.TrimSuffix(f.what, " ()"))
		}
	}
	text := name + " with " + strings.Join(can, ", ")
	if len(cannot) > 0 {
		text += "; without " + strings.Join(cannot, ", ")
	}
	if !c.Trainable() {
		text += "; its transitions cannot be trained on (text only)"
	}
	return text
}
