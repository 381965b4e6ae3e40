package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"rollbench/sandbox"
)

// Enabled says which tools a trajectory has. The names are SkyRL-Agent's.
type Enabled struct {
	Bash     bool
	BashName string // what the model calls it: "" means execute_bash
	Editor   bool
	Finish   bool
	Think    bool
	Python   bool
	Search   bool
	Commands []Command // the user's own
	Servers  []Server  // MCP servers
	Rules    []Rule    // in the order in which they are tried
	// Partly: there are servers that have not been asked for their tools yet, so a
	// rule or a limit that is of no tool may be of theirs.
	Partly bool
}

// Registry holds the tools of one trajectory. Its methods are called by that
// trajectory's loop only, one at a time.
type Registry struct {
	tools []entry
	rules []rule
	kept  *capture
}

// entry is a tool with its parameters compiled for validation.
type entry struct {
	tool   Tool
	spec   Spec
	schema *jsonschema.Resolved
}

// New makes the enabled tools on env. No tools at all is allowed: the model
// then answers in text only.
func New(env Env, enabled Enabled) (*Registry, error) {
	env.Limits = env.Limits.withDefaults()
	kept := newCapture(env.Folder)
	env.OnOutput = kept.tee(env.OnOutput)
	var list []Tool
	if enabled.Bash {
		name, err := bashName(enabled.BashName)
		if err != nil {
			return nil, err
		}
		list = append(list, &bash{env: env.of(name), name: name})
	}
	if enabled.Editor {
		list = append(list, &editor{env: env.of("str_replace_editor"), history: map[string][]edit{}})
	}
	if enabled.Python {
		list = append(list, &python{env: env.of("python")})
	}
	if enabled.Search {
		list = append(list, &finder{env: env.of("search")})
	}
	if enabled.Think {
		list = append(list, think{})
	}
	if enabled.Finish {
		list = append(list, finish{limit: env.of("finish").Limits.Observation})
	}
	for _, c := range enabled.Commands {
		if err := c.check(); err != nil {
			return nil, err
		}
		list = append(list, &command{env: env.of(c.Name), Command: c})
	}
	for _, s := range enabled.Servers {
		more, err := remotes(env, s)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	r, err := newRegistry(list)
	if err != nil {
		return nil, err
	}
	r.kept = kept
	if err := env.Limits.check(r, enabled.Partly); err != nil {
		return nil, err
	}
	r.rules, err = compileRules(enabled.Rules, r.tools, enabled.Partly)
	return r, err
}

func newRegistry(list []Tool) (*Registry, error) {
	r := &Registry{kept: newCapture("")}
	for _, t := range list {
		spec := t.Spec()
		if r.find(spec.Name) != nil {
			return nil, fmt.Errorf("two tools are called %q: give one another name", spec.Name)
		}
		resolved, err := compile(spec.Parameters)
		if err != nil {
			return nil, fmt.Errorf("parameters of tool %s: %w", spec.Name, err)
		}
		r.tools = append(r.tools, entry{tool: t, spec: spec, schema: resolved})
	}
	return r, nil
}

// Specs is what the model is told, in a fixed order.
func (r *Registry) Specs() []Spec {
	specs := make([]Spec, 0, len(r.tools))
	for _, e := range r.tools {
		specs = append(specs, e.spec)
	}
	return specs
}

// Check says why a call would be Invalid or Denied, or nil when it may run. The message
// is the text the model would get.
func (r *Registry) Check(name, arguments string) error {
	_, _, err := r.prepare(name, arguments)
	return err
}

// Run executes a call. Mistakes the model can correct are a Result; an error
// means that the sandbox is lost (errors.Is sandbox.ErrLost) or ctx ended, and
// then the Result holds what was seen until there.
func (r *Registry) Run(ctx context.Context, name, arguments string) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	e, args, err := r.prepare(name, arguments)
	if denied, ok := errors.AsType[deniedError](err); ok {
		return Result{Text: string(denied), Status: Denied}, nil
	}
	if err != nil {
		return Result{Text: err.Error(), Status: Invalid}, nil
	}
	result, err := e.tool.Run(ctx, args)
	r.kept.keep(&result)
	if err == nil {
		return result, nil
	}
	if bad, ok := errors.AsType[invalidError](err); ok {
		return Result{Text: string(bad), Status: Invalid}, nil
	}
	return result, fmt.Errorf("tool %s: %w", name, err)
}

// starter is a tool that looks at the sandbox before the first call.
type starter interface {
	start(ctx context.Context) error
}

// Start lets the tools look at the repository as it was laid. It is called once,
// before any call.
func (r *Registry) Start(ctx context.Context) error {
	for _, e := range r.tools {
		if t, ok := e.tool.(starter); ok {
			if err := t.start(ctx); err != nil {
				return fmt.Errorf("tool %s: %w", e.spec.Name, err)
			}
		}
	}
	return nil
}

// Source is what the tool search answers from; nil without that tool, and before Start.
func (r *Registry) Source() *Source {
	for _, e := range r.tools {
		if t, ok := e.tool.(*finder); ok {
			return t.source
		}
	}
	return nil
}

// Close ends what the tools keep running (the shell).
func (r *Registry) Close() error {
	var errs []error
	for _, e := range r.tools {
		errs = append(errs, e.tool.Close())
	}
	return errors.Join(errs...)
}

func (r *Registry) prepare(name, arguments string) (*entry, map[string]any, error) {
	e := r.find(name)
	if e == nil {
		return nil, nil, invalidf("ERROR: there is no tool named %q. %s", clipWord(name), r.available())
	}
	args, err := parseArguments(e.spec.Name, arguments)
	if err != nil {
		return nil, nil, err
	}
	if err := checkArguments(e.spec.Name, e.schema, args); err != nil {
		return nil, nil, err
	}
	if err := r.permit(e.spec.Name, args); err != nil {
		return nil, nil, err
	}
	return e, args, nil
}

func (r *Registry) find(name string) *entry {
	for i := range r.tools {
		if r.tools[i].spec.Name == name {
			return &r.tools[i]
		}
	}
	return nil
}

func (r *Registry) available() string {
	if len(r.tools) == 0 {
		return "No tools are available: answer in plain text."
	}
	names := make([]string, 0, len(r.tools))
	for _, e := range r.tools {
		names = append(names, e.spec.Name)
	}
	return "The available tools are: " + strings.Join(names, ", ") + "."
}

// invalidError is a call that must not run, in words for the model.
type invalidError string

func (e invalidError) Error() string { return string(e) }

// maxCorrective bounds a corrective text: a schema may be of any length.
const maxCorrective = 4000

func invalidf(format string, args ...any) error {
	text, _ := cutMiddle(fmt.Sprintf(format, args...), maxCorrective, clipNote)
	return invalidError(text)
}

// terminal reports whether err ends the trajectory, so that it must go up as a
// Go error instead of into an observation.
func terminal(ctx context.Context, err error) bool {
	return errors.Is(err, sandbox.ErrLost) || ctx.Err() != nil
}
