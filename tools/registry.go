package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	Commands []Command // the user's own
	Rules    []Rule    // in the order in which they are tried
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
	r, err := newRegistry(list)
	if err != nil {
		return nil, err
	}
	r.kept = kept
	if err := env.Limits.check(r); err != nil {
		return nil, err
	}
	r.rules, err = compileRules(enabled.Rules, r.tools)
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

// compile reads the JSON Schema of a tool's parameters.
func compile(parameters json.RawMessage) (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(parameters, &s); err != nil {
		return nil, err
	}
	if s.Type != "object" {
		return nil, errors.New(`a schema of type "object" is needed, with one property for each parameter`)
	}
	if err := checkTypes(&s); err != nil {
		return nil, err
	}
	for _, name := range s.Required {
		if s.Properties[name] == nil {
			return nil, fmt.Errorf("%q is required and not among the properties", name)
		}
	}
	return s.Resolve(nil)
}

// checkTypes finds misspelt types, which the schema library lets pass.
func checkTypes(s *jsonschema.Schema) error {
	if s == nil {
		return nil
	}
	for _, kind := range append([]string{s.Type}, s.Types...) {
		if kind != "" && !slices.Contains([]string{"string", "integer", "number", "boolean", "array", "object", "null"}, kind) {
			return fmt.Errorf("there is no type %q", kind)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if s.Properties[name] == nil {
			return fmt.Errorf("property %q is null", name)
		}
		if err := checkTypes(s.Properties[name]); err != nil {
			return fmt.Errorf("property %q: %w", name, err)
		}
	}
	return cmp.Or(checkTypes(s.Items), checkTypes(s.AdditionalProperties))
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

func invalidf(format string, args ...any) error {
	return invalidError(fmt.Sprintf(format, args...))
}

// terminal reports whether err ends the trajectory, so that it must go up as a
// Go error instead of into an observation.
func terminal(ctx context.Context, err error) bool {
	return errors.Is(err, sandbox.ErrLost) || ctx.Err() != nil
}
