package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"rollbench/sandbox"
)

//go:embed bash.md
var bashText string

var bashParameters = json.RawMessage(`{
  "type": "object",
  "properties": {
    "command": {"type": "string", "description": "The bash command to run. Several commands can be joined with && or ; or written on several lines. While a command is still running: empty to read more of its output, or C-c, C-d or C-z."},
    "is_input": {"type": "string", "enum": ["true", "false"], "description": "\"true\" sends the text, and a line break after it, as input to the command that is still running; \"false\" (the default) runs it as a new command."}
  },
  "required": ["command"]
}`)

// bash runs commands in one shell that lives as long as the trajectory. A command
// that prints nothing new for a while is left running; later calls continue it.
type bash struct {
	env   Env
	name  string
	shell sandbox.Shell // nil until the first command, and after the shell broke
	left  time.Time     // when the command began that was left running, if one was
	told  bool          // that there is no input
}

var toolName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

func bashName(name string) (string, error) {
	if name == "" {
		return "execute_bash", nil
	}
	if !toolName.MatchString(name) {
		return "", fmt.Errorf("tool name %q: use letters, digits, _ and -, such as execute_bash or bash", name)
	}
	return name, nil
}

func (t *bash) Spec() Spec {
	return Spec{Name: t.name, Description: strings.TrimSpace(bashText), Parameters: bashParameters}
}

func (t *bash) Run(ctx context.Context, args map[string]any) (Result, error) {
	command, _ := args["command"].(string)
	bare := strings.TrimSpace(command)
	key := sandbox.Key(bare)
	switch key {
	case sandbox.Interrupt, sandbox.EndInput, sandbox.Suspend:
	default:
		key = sandbox.None
	}
	if args["is_input"] == "true" && key == sandbox.None {
		key = sandbox.Enter
	}
	if strings.ContainsRune(command, 0) {
		return Result{}, invalidf("ERROR: the command contains a NUL character, which bash cannot take. Write it as \\0 for printf instead.")
	}
	if key != sandbox.None || bare == "" {
		return t.proceed(ctx, key, command)
	}
	if t.left.IsZero() {
		return t.start(ctx, command, "")
	}
	if t.shell.Running() {
		return Result{Status: Failed, Text: "ERROR: the previous command is still running, so the new one was not run. " + waysOn}, nil
	}
	// It has ended since: its last words come first.
	before, err := t.ended(ctx)
	if err != nil {
		return t.broken(ctx, "the shell broke", err)
	}
	result, err := t.start(ctx, command, before.Text)
	if before.Full != nil && result.Full == nil { // what is kept has both outputs
		result.Full = []byte{}
	}
	result.Dropped += before.Dropped
	return result, err
}

// start runs a new command; before is what the observation begins with.
func (t *bash) start(ctx context.Context, command, before string) (Result, error) {
	if t.shell == nil {
		shell, err := t.env.Sandbox.Shell(ctx)
		if err != nil {
			return t.broken(ctx, "the shell could not be started", err)
		}
		t.shell = shell
	}
	began := time.Now()
	run, err := t.shell.Run(ctx, sandbox.Command{
		Script:    command,
		Timeout:   t.env.Limits.Command,
		Idle:      t.env.Limits.Idle,
		Leave:     true,
		MaxOutput: t.env.Limits.held(),
		OnOutput:  t.env.OnOutput,
	})
	if err != nil {
		return t.broken(ctx, "the shell broke while the command ran", err)
	}
	return t.saw(ctx, run, began, sandbox.None, before)
}

// proceed continues the command that was left running.
func (t *bash) proceed(ctx context.Context, key sandbox.Key, text string) (Result, error) {
	if t.left.IsZero() {
		why := map[sandbox.Key]string{
			sandbox.None:  "the command is empty, and no command is running whose output could be read. Give a command to run.",
			sandbox.Enter: "no command is running that could take input. Run a command first; if it asks for something it is left running, and then takes input.",
		}[key]
		if why == "" {
			why = fmt.Sprintf("no command is running that %s could be sent to.", key)
		}
		return Result{Status: Failed, Text: "ERROR: " + why}, nil
	}
	unsent := key != sandbox.None && !t.shell.Running()
	if unsent {
		key = sandbox.None
	}
	var input []byte
	if key == sandbox.Enter {
		input = []byte(text)
	}
	run, err := t.shell.Continue(ctx, sandbox.Step{
		Key:       key,
		Input:     input,
		Idle:      t.env.Limits.Idle,
		MaxOutput: t.env.Limits.held(),
		OnOutput:  t.env.OnOutput,
	})
	if errors.Is(err, sandbox.ErrInput) {
		return Result{Status: Failed, Text: fmt.Sprintf("ERROR: %s. The command is still running.", Clean([]byte(err.Error())))}, nil
	}
	if err != nil {
		return t.broken(ctx, "the shell broke while the command ran", err)
	}
	first := previousOutput
	if unsent {
		first = "[The command had ended before anything could be sent to it.]\n" + first
	}
	return t.saw(ctx, run, t.left, key, first)
}

// saw makes the observation of a command that began at that time.
func (t *bash) saw(ctx context.Context, run sandbox.Result, began time.Time, key sandbox.Key, first string) (Result, error) {
	t.left = time.Time{}
	if run.End == sandbox.Left {
		t.left = began
	}
	result := t.observe(run, key, first)
	if run.End == sandbox.Cancelled {
		return result, context.Cause(ctx)
	}
	return result, nil
}

// ended is what is left to say of a command that ended unseen.
func (t *bash) ended(ctx context.Context) (Result, error) {
	run, err := t.shell.Continue(ctx, sandbox.Step{MaxOutput: t.env.Limits.held(), OnOutput: t.env.OnOutput})
	if err != nil {
		return Result{}, err
	}
	var r Result
	ending, _, _ := strings.Cut(t.ending(run, sandbox.None, &r), "\n")
	t.left = time.Time{}
	limits := t.env.Limits
	limits.Observation /= 2
	r.show(run, texts{first: previousOutput, none: nothingPrinted, cut: cutNote, last: ending + "\n[Below is the output of the new command.]\n"}, limits)
	return r, nil
}

// broken gives up the shell. The next command gets a fresh one, unless the
// sandbox is gone or the caller is.
func (t *bash) broken(ctx context.Context, what string, err error) (Result, error) {
	if t.shell != nil {
		if closing := t.shell.Close(); closing != nil {
			err = fmt.Errorf("%w (closing the shell: %v)", err, closing)
		}
		t.shell, t.left = nil, time.Time{}
	}
	if terminal(ctx, err) {
		return Result{}, err
	}
	text := fmt.Sprintf("ERROR: %s: %s. The next command starts in a fresh shell.", what, Clean([]byte(err.Error())))
	return Result{Text: text, Status: Failed}, nil
}

func (t *bash) Close() error {
	if t.shell == nil {
		return nil
	}
	shell := t.shell
	t.shell, t.left = nil, time.Time{}
	return shell.Close()
}
