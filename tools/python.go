package tools

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"rollbench/sandbox"
)

//go:embed python.md
var pythonText string

// pythonServer is the program that python3 runs; it needs nothing but the
// standard library.
//
//go:embed python.py
var pythonServer string

var pythonParameters = json.RawMessage(`{
  "type": "object",
  "properties": {
    "code": {"type": "string", "description": "The Python code to run. It may have several lines."}
  },
  "required": ["code"]
}`)

// python runs code in one interpreter that lives as long as the trajectory.
type python struct {
	env  Env
	live *interpreter // nil until the first call, and after it ended
}

func (t *python) Spec() Spec {
	return Spec{Name: "python", Description: strings.TrimSpace(pythonText), Parameters: pythonParameters}
}

const pythonCut = "\n[... %d characters are cut here. To see them, print parts of the value, or write it to a file and read parts of that ...]\n"

// pythonFresh ends every text about an interpreter that is gone.
const pythonFresh = "The next call starts a fresh interpreter: variables, imports and functions are gone."

func (t *python) Run(ctx context.Context, args map[string]any) (Result, error) {
	code, _ := args["code"].(string)
	if strings.TrimSpace(code) == "" {
		return Result{Status: Failed, Text: "ERROR: the code is empty. Give Python code to run."}, nil
	}
	w := watch{ctx: ctx, began: time.Now(), limits: t.env.Limits, out: sandbox.NewCollector(t.env.Limits.held(), t.env.OnOutput)}
	note, ran := "", ending{}
	for fresh := false; ; fresh = true {
		if t.live == nil {
			if result, err := t.start(&w); err != nil || result.Status != "" {
				return result, err
			}
		}
		if ran = t.live.run(&w, code); !ran.refused || fresh {
			break
		}
		// It ended since the last call.
		note = fmt.Sprintf("[The interpreter had ended%s since the last call. This call ran in a fresh one: earlier variables, imports and functions are gone.]\n", withCode(ran.code))
		if err := t.drop(); err != nil && terminal(ctx, err) {
			return Result{}, err
		}
	}
	result, err := t.observe(&w, ran, note)
	if ran.end == sandbox.Exited && !ran.gone {
		return result, nil
	}
	if lost := t.drop(); lost != nil {
		if terminal(ctx, lost) {
			return result, lost
		}
		result.Text += "\nERROR: " + Clean([]byte(lost.Error()))
	}
	return result, err
}

// start an interpreter. A result with a status says why there is none.
func (t *python) start(w *watch) (Result, error) {
	t.live = startInterpreter(w.ctx, t.env.Sandbox)
	ran := t.live.greet(w)
	if ran.end == sandbox.Exited && !ran.gone {
		return Result{}, nil
	}
	err := t.drop()
	if ran.end == sandbox.Cancelled {
		return Result{Status: Failed}, context.Cause(w.ctx)
	}
	if err != nil && terminal(w.ctx, err) {
		return Result{}, err
	}
	if ran.end != sandbox.Exited {
		return t.observe(w, ran, "")
	}
	if ran.code == 126 || ran.code == 127 {
		return Result{Status: Failed, Text: "ERROR: there is no python3 in this sandbox, so this tool cannot run. Use the other tools."}, nil
	}
	var said sandbox.Result
	w.out.Fill(&said)
	text, _ := cutMiddle(Clean(said.Output), t.env.Limits.Observation/2, clipNote)
	if err != nil {
		text += Clean([]byte(err.Error()))
	}
	return Result{Status: Failed, Text: fmt.Sprintf("ERROR: the interpreter could not be started (exit code %d): %s", ran.code, strings.TrimSpace(text))}, nil
}

// observe makes the text for the model: the output, then how it ended unless
// the code came to its end.
func (t *python) observe(w *watch, ran ending, note string) (Result, error) {
	result, err := Result{Status: OK}, error(nil)
	var last string
	switch {
	case ran.end == sandbox.TimedOut:
		result.Status, result.Limit, result.Bound = TimedOut, "tools.command_timeout", t.env.Limits.Command
		last = fmt.Sprintf("[The code timed out after %s and was killed, with every process it had started. %s]", seconds(t.env.Limits.Command), pythonFresh)
	case ran.end == sandbox.IdledOut:
		result.Status, result.Limit, result.Bound = TimedOut, "tools.no_output_timeout", t.env.Limits.Idle
		last = fmt.Sprintf("[The code had no new output after %s and was killed, with every process it had started. %s]", seconds(t.env.Limits.Idle), pythonFresh)
	case ran.end == sandbox.Cancelled:
		result.Status, err = Failed, context.Cause(w.ctx)
		last = "[The code was cancelled and killed, with every process it had started. " + pythonFresh + "]"
	case ran.gone:
		result.Status, result.Exit = Failed, &ran.code
		last = fmt.Sprintf("[The interpreter ended%s. %s]", withCode(ran.code), pythonFresh)
	case ran.text != "ok":
		result.Status = Failed
	}
	var run sandbox.Result
	w.out.Fill(&run)
	result.show(run, texts{first: note, none: "[The code printed nothing.]", cut: pythonCut, last: last}, t.env.Limits)
	return result, err
}

// withCode says a process's exit code where there is one.
func withCode(code int) string {
	if code < 0 {
		return ""
	}
	return fmt.Sprintf(" with exit code %d", code)
}

// drop the interpreter, killed with all it started if it still runs.
func (t *python) drop() error {
	if t.live == nil {
		return nil
	}
	err := t.live.stop()
	t.live = nil
	return err
}

func (t *python) Close() error { return t.drop() }

// interpreter is one running python3: a command of the sandbox that lasts from
// call to call, so that it is killed as any command is.
type interpreter struct {
	sb     sandbox.Sandbox
	kill   context.CancelFunc
	out    *stream
	mark   string
	pid    string // as commands in the sandbox see it
	pipe   string // number of the descriptor that takes the calls
	exited chan struct{}
	result sandbox.Result // set when exited is closed, as err
	err    error
}

// startInterpreter goes on after ctx has ended: only stop ends it.
func startInterpreter(ctx context.Context, sb sandbox.Sandbox) *interpreter {
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	p := &interpreter{sb: sb, kill: kill, out: newStream(), mark: newMark(), exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		p.result, p.err = sb.Exec(life, sandbox.Command{
			Argv:     []string{"python3", "-u", "-c", pythonServer, p.mark},
			OnOutput: p.out.write, MaxOutput: 1, // the stream keeps it
		})
	}()
	return p
}

// IsInterpreter says that a process of a sandbox is the python tool's own.
func IsInterpreter(argv []string) bool {
	return len(argv) == 5 && argv[1] == "-u" && argv[2] == "-c" && argv[3] == pythonServer
}

// ending is how a call ended.
type ending struct {
	end     sandbox.End
	text    string // what the interpreter said: ok, error
	gone    bool   // the interpreter ended with code
	refused bool   // and had not taken the call
	code    int
}

// greet waits until the interpreter says where it takes calls.
func (p *interpreter) greet(w *watch) ending {
	ran := w.wait(p, p.out.begin(p.mark, w.out))
	p.out.end()
	p.pid, p.pipe, _ = strings.Cut(ran.text, " ")
	return ran
}

// run hands code over and waits for its end.
func (p *interpreter) run(w *watch, code string) ending {
	mark := newMark()
	said := p.out.begin(mark, w.out)
	defer p.out.end()
	fed, err := p.sb.Exec(w.ctx, sandbox.Command{
		Argv:    []string{"sh", "-c", `cat >"/proc/$1/fd/$2"`, "sh", p.pid, p.pipe},
		Stdin:   fmt.Appendf(nil, "%s %d\n%s", mark, len(code), code),
		Timeout: max(w.limits.Command-time.Since(w.began), time.Millisecond),
	})
	switch {
	case err != nil:
		p.kill()
		p.err = errors.Join(err, p.wait())
		return ending{end: sandbox.Exited, gone: true, code: -1}
	case fed.End != sandbox.Exited:
		return ending{end: fed.End}
	case fed.ExitCode != 0:
		p.kill()
		<-p.exited
		return ending{end: sandbox.Exited, gone: true, refused: true, code: p.result.ExitCode}
	}
	return w.wait(p, said)
}

func (p *interpreter) wait() error {
	<-p.exited
	return p.err
}

// stop kills what is left of it and waits until it is gone.
func (p *interpreter) stop() error {
	p.kill()
	return p.wait()
}

// watch holds a call to its limits.
type watch struct {
	ctx    context.Context
	began  time.Time
	limits Limits
	out    *sandbox.Collector
}

// wait for what the interpreter says, its end, or the first limit that strikes.
func (w *watch) wait(p *interpreter, said <-chan string) ending {
	hard := time.NewTimer(w.limits.Command - time.Since(w.began))
	defer hard.Stop()
	idle := time.NewTimer(w.limits.Idle)
	defer idle.Stop()
	for {
		select {
		case text := <-said:
			return ending{end: sandbox.Exited, text: text}
		case <-p.exited:
			select {
			case text := <-said: // and ended right afterwards
				return ending{end: sandbox.Exited, text: text}
			default:
			}
			return ending{end: sandbox.Exited, gone: true, code: p.result.ExitCode}
		case <-w.ctx.Done():
			return ending{end: sandbox.Cancelled}
		case <-hard.C:
			return ending{end: sandbox.TimedOut}
		case <-idle.C:
			// Output only moves a time stamp; the timer is set again for the rest.
			left := w.limits.Idle - time.Since(w.out.Last())
			if left <= 0 {
				return ending{end: sandbox.IdledOut}
			}
			idle.Reset(left)
		}
	}
}

// newMark is 128 random bits, so that code cannot print it by chance.
func newMark() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: it ends the program instead
	return hex.EncodeToString(b[:])
}
