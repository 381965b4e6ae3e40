package tools

import (
	"fmt"
	"strings"
	"time"

	"rollbench/sandbox"
)

const (
	// cutNote stands where the middle of an output was cut out.
	cutNote = "\n[... %d characters are cut here. To see them, send the output to a file and read parts of it: COMMAND > /tmp/out.txt 2>&1; sed -n '100,200p' /tmp/out.txt ...]\n"

	nothingPrinted = "[The command printed nothing.]"
	previousOutput = "[Below is the output of the previous command.]\n"

	// waysOn is what can be done with a running command.
	waysOn = "To go on with it, call again with: an empty command to wait for more output; a line of input with is_input \"true\"; " +
		"or C-c to interrupt it, C-d to end its input, C-z to stop it and get the shell back."
)

// observe makes the text for the model: first, the output, then how it ended.
func (t *bash) observe(run sandbox.Result, key sandbox.Key, first string) Result {
	result := Result{Status: OK, Exit: &run.ExitCode}
	none := nothingPrinted
	if first != "" || run.End == sandbox.Left {
		none = "[Nothing new was printed.]"
	}
	ending := t.ending(run, key, &result)
	result.show(run, texts{first: first, none: none, cut: cutNote, last: ending}, t.env.Limits)
	return result
}

// ending says how the command ended, or that it did not, and where the shell is.
func (t *bash) ending(run sandbox.Result, key sandbox.Key, result *Result) string {
	var text string
	switch run.End {
	case sandbox.TimedOut:
		result.Status, result.Exit = TimedOut, nil
		result.Limit, result.Bound = "tools.command_timeout", t.env.Limits.Command
		text = fmt.Sprintf("[The command timed out after %s and was killed, with every process it had started. "+
			"If it needs longer, run it in the background with its output in a file: COMMAND > /tmp/out.txt 2>&1 &]", seconds(t.env.Limits.Command))
	case sandbox.Left:
		result.Exit = nil
		result.Limit, result.Bound = "tools.no_output_timeout", t.env.Limits.Idle
		text = t.running(key)
	case sandbox.Stopped:
		result.Exit = nil
		text = "[The command was stopped. Its processes still exist: " + pids(run.Stopped) + ". " +
			"kill -CONT with these pids lets them go on in the background, without input; kill -9 ends them.]"
	case sandbox.Cancelled:
		result.Status, result.Exit = Failed, nil
		text = "[The command was cancelled and killed, with every process it had started.]"
	default:
		if run.ExitCode != 0 {
			result.Status = Failed
		}
		text = fmt.Sprintf("[The command completed with exit code %d.]", run.ExitCode)
	}
	if run.Fresh {
		text += "\n[The shell ended with it. A fresh one goes on in the directory below, with the exported environment of before; other variables, functions and shell options are gone.]"
	}
	if run.NoInput != "" && (run.End == sandbox.Left || !t.told) {
		t.told = true
		text += "\n[No terminal could be opened, so commands get an empty input and nothing can be sent to them: " + Clean([]byte(run.NoInput)) + "]"
	}
	text += "\n[Current working directory: " + Clean([]byte(t.shell.Dir())) + "]"
	if result.Exit != nil {
		text += fmt.Sprintf("\n[Command finished with exit code %d]", run.ExitCode)
	}
	return text
}

// running says that nothing new came and what can be done.
func (t *bash) running(key sandbox.Key) string {
	what := "The command"
	switch key {
	case sandbox.Interrupt, sandbox.EndInput:
		what = fmt.Sprintf("The command did not end by %s. It", key)
	}
	ran := time.Since(t.left).Round(time.Second)
	return fmt.Sprintf("[%s has printed nothing new for %s and is still running, for %s until now (it is killed at %s). %s]",
		what, seconds(t.env.Limits.Idle), seconds(ran), seconds(t.env.Limits.Command), waysOn)
}

func pids(list []int) string {
	words := make([]string, len(list))
	for i, pid := range list {
		words[i] = fmt.Sprintf("pid %d", pid)
	}
	return strings.Join(words, ", ")
}

func seconds(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%d seconds", d/time.Second)
	}
	return fmt.Sprintf("%.1f seconds", d.Seconds())
}
