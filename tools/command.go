package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"rollbench/sandbox"
)

// Command is a tool of the user's own: a program that gets a call's arguments
// as a JSON object on its standard input. What it prints on its standard output
// is the observation; an exit code other than 0 is a failure.
type Command struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema
	Argv        []string
	Timeout     time.Duration // 0: Limits.Command
	// Host runs it on this machine, contained by nothing, instead of in the
	// sandbox.
	Host bool
}

// check says what is wrong with a declaration, but for its schema.
func (c Command) check() error {
	switch {
	case !toolName.MatchString(c.Name):
		return fmt.Errorf("tool name %q: use letters, digits, _ and -, such as run_tests", c.Name)
	case c.Description == "":
		return fmt.Errorf("tool %s has no description: the model would not know what it is for", c.Name)
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return fmt.Errorf("tool %s has no argv: name the program to run", c.Name)
	}
	return nil
}

// command runs a user's Command.
type command struct {
	env Env
	Command
}

func (t *command) Spec() Spec {
	return Spec{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Outside: t.Host}
}

func (t *command) Close() error { return nil }

func (t *command) Run(ctx context.Context, args map[string]any) (Result, error) {
	c := sandbox.Command{Argv: t.Argv, Stdin: []byte(asJSON(args) + "\n"), Timeout: t.Timeout, MaxOutput: t.env.Limits.held(), OnOutput: t.env.OnOutput}
	limit := fmt.Sprintf("tools.command (%s) timeout", t.Name)
	if c.Timeout == 0 {
		c.Timeout, limit = t.env.Limits.Command, "tools.command_timeout"
	}
	execute := runOnHost
	if !t.Host {
		c.Argv = append([]string{"sh", "-c", quietly, "sh"}, t.Argv...)
		execute = t.env.Sandbox.Exec
	}
	run, err := execute(ctx, c)
	if err != nil {
		if terminal(ctx, err) {
			return Result{}, err
		}
		return Result{Status: Failed, Text: fmt.Sprintf("ERROR: %s could not be run: %s", t.Name, Clean([]byte(err.Error())))}, nil
	}
	result := Result{Status: OK, Exit: &run.ExitCode}
	var last string
	switch {
	case run.End == sandbox.Cancelled:
		result.Status, result.Exit, err = Failed, nil, context.Cause(ctx)
		last = fmt.Sprintf("[%s was cancelled and killed.]", t.Name)
	case run.End != sandbox.Exited:
		result.Status, result.Exit, result.Limit, result.Bound = TimedOut, nil, limit, c.Timeout
		last = fmt.Sprintf("[%s timed out after %s and was killed.]", t.Name, seconds(c.Timeout))
	case run.ExitCode != 0:
		result.Status = Failed
		last = fmt.Sprintf("[%s failed with exit code %d.]", t.Name, run.ExitCode)
	}
	result.show(run, texts{none: "[" + t.Name + " printed nothing.]", cut: clipNote, last: last}, t.env.Limits)
	return result, err
}

// quietly keeps a program's standard error out of the output, unless the program
// fails: then it follows the output. Where no file can be made the two mix.
const quietly = `f=$(mktemp 2>/dev/null) || exec "$@"
exec 3>"$f" 4<"$f"
rm -f "$f"
"$@" 2>&3 3>&- 4<&-
c=$?
[ $c = 0 ] || cat <&4
exit $c`
