package tools

import (
	"context"
	_ "embed"
	"encoding/json"
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
    "command": {"type": "string", "description": "The bash command to run. Several commands can be joined with && or ; or written on several lines."},
    "is_input": {"type": "string", "enum": ["true", "false"], "description": "\"true\" sends the command as input to a program that is still running; \"false\" (the default) runs it as a new command."}
  },
  "required": ["command"]
}`)

// bash runs commands in one shell that lives as long as the trajectory.
type bash struct {
	env   Env
	name  string
	shell sandbox.Shell // nil until the first command, and after the shell broke
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
	if args["is_input"] == "true" {
		return Result{Status: Failed, Text: "ERROR: no command is running that could take input. " +
			"A command either ends by itself or is killed at its time limit. Run it again with its input piped in, such as: printf 'yes\\n' | COMMAND"}, nil
	}
	if strings.TrimSpace(command) == "" {
		return Result{Status: Failed, Text: "ERROR: the command is empty, and no command is running whose output could be read. Give a command to run."}, nil
	}
	if strings.ContainsRune(command, 0) {
		return Result{}, invalidf("ERROR: the command contains a NUL character, which bash cannot take. Write it as \\0 for printf instead.")
	}
	if t.shell == nil {
		shell, err := t.env.Sandbox.Shell(ctx)
		if err != nil {
			return t.broken(ctx, "the shell could not be started", err)
		}
		t.shell = shell
	}
	run, err := t.shell.Run(ctx, sandbox.Command{
		Script:    command,
		Timeout:   t.env.Limits.Command,
		Idle:      t.env.Limits.Idle,
		MaxOutput: t.env.Limits.held(),
		OnOutput:  t.env.OnOutput,
	})
	if err != nil {
		return t.broken(ctx, "the shell broke while the command ran", err)
	}
	result := t.observe(run)
	if run.End == sandbox.Cancelled {
		return result, context.Cause(ctx)
	}
	return result, nil
}

// broken gives up the shell. The next command gets a fresh one, unless the
// sandbox is gone or the caller is.
func (t *bash) broken(ctx context.Context, what string, err error) (Result, error) {
	if t.shell != nil {
		if closing := t.shell.Close(); closing != nil {
			err = fmt.Errorf("%w (closing the shell: %v)", err, closing)
		}
		t.shell = nil
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
	t.shell = nil
	return shell.Close()
}

// cutNote stands where the middle of an output was cut out.
const cutNote = "\n[... %d characters are cut here. To see them, send the output to a file and read parts of it: COMMAND > /tmp/out.txt 2>&1; sed -n '100,200p' /tmp/out.txt ...]\n"

// observe makes the text for the model: the output, then how it ended.
func (t *bash) observe(run sandbox.Result) Result {
	result := Result{Status: OK, Exit: &run.ExitCode}
	ending := t.ending(run, &result)
	result.show(run, texts{none: "[The command printed nothing.]", cut: cutNote, last: ending}, t.env.Limits)
	return result
}

// ending says how the command ended and where the shell now is.
func (t *bash) ending(run sandbox.Result, result *Result) string {
	var text string
	switch run.End {
	case sandbox.TimedOut:
		result.Status, result.Exit = TimedOut, nil
		result.Limit, result.Bound = "tools.command_timeout", t.env.Limits.Command
		text = fmt.Sprintf("[The command timed out after %s and was killed, with every process it had started. "+
			"If it needs longer, run it in the background with its output in a file: COMMAND > /tmp/out.txt 2>&1 &]", seconds(t.env.Limits.Command))
	case sandbox.IdledOut:
		result.Status, result.Exit = TimedOut, nil
		result.Limit, result.Bound = "tools.no_output_timeout", t.env.Limits.Idle
		text = fmt.Sprintf("[The command had no new output after %s and was killed, with every process it had started. "+
			"If it waits for input, pipe the input in; if it only needs longer, run it in the background with its output in a file: COMMAND > /tmp/out.txt 2>&1 &]", seconds(t.env.Limits.Idle))
	case sandbox.Cancelled:
		result.Status, result.Exit = Failed, nil
		text = "[The command was cancelled and killed, with every process it had started.]"
	default:
		if run.ExitCode != 0 {
			result.Status = Failed
		}
		text = fmt.Sprintf("[The command completed with exit code %d.]", run.ExitCode)
	}
	text += "\n[Current working directory: " + Clean([]byte(t.shell.Dir())) + "]"
	if result.Exit != nil {
		text += fmt.Sprintf("\n[Command finished with exit code %d]", run.ExitCode)
	}
	return text
}

func seconds(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%d seconds", d/time.Second)
	}
	return fmt.Sprintf("%.1f seconds", d.Seconds())
}
