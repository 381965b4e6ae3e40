package task

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"rollbench/engine/task/answer"
	"rollbench/engine/task/rows"
	"rollbench/sandbox"
)

//go:embed call.py
var callScript []byte

// caseLimit is for one run of a program, as coder1 has it.
const caseLimit = 30 * time.Second

// programPlace is where a program and what it is given lie in the sandbox.
const programPlace = "/tmp/rollbench-program"

// judge runs the program of a reply. What it must print is never in the sandbox.
func (p *program) judge(ctx context.Context, in *Instance, sb sandbox.Sandbox, reply string) (Verdict, error) {
	code := answer.Program(reply)
	if code == "" {
		return Verdict{Reward: new(float64), Note: "the reply has no code block", Log: []byte("answer: " + reply + "\n")}, nil
	}
	run := &programRun{program: p, in: in, sb: sb, dir: sb.Path(programPlace)}
	fmt.Fprintf(&run.log, "--- the program ---\n%s\n", code)
	if err := run.lay(ctx, code); err != nil {
		return Verdict{Log: run.log.Bytes()}, err
	}
	why, err := run.tests(ctx)
	verdict := Verdict{Log: run.log.Bytes(), Note: why}
	if err != nil {
		return verdict, err
	}
	verdict.Reward = new(float64)
	if why == "" {
		*verdict.Reward, verdict.Note = 1, "all tests pass"
		if n := len(p.cases); n > 0 {
			verdict.Note = fmt.Sprintf("all %d cases pass", n)
		}
	}
	return verdict, nil
}

// programRun is one program under test.
type programRun struct {
	*program
	in  *Instance
	sb  sandbox.Sandbox
	dir string
	log bytes.Buffer
}

// lay the program, and the tests that are code.
func (r *programRun) lay(ctx context.Context, code string) error {
	need := `command -v python3 >/dev/null || { echo "rollbench: python3 is not in the sandbox"; exit 1; }`
	if r.pytest != "" {
		need += "\n" + `python3 -c "import pytest" 2>/dev/null || { echo "rollbench: pytest is not in the sandbox, and the tests need it"; exit 1; }`
	}
	if _, err := runScript(ctx, r.sb, need, nil, caseLimit); err != nil {
		return err
	}
	if err := clean(ctx, r.sb, r.dir); err != nil {
		return err
	}
	if r.prefix != "" && r.asserts != "" {
		code = r.prefix + "\n" + code
	}
	files := map[string][]byte{"solution.py": []byte(code + "\n")}
	switch {
	case r.asserts != "":
		files["solution.py"] = []byte(code + "\n" + r.asserts + "\n" + reached + "\n")
	case r.script != "":
		files["test_solution.py"] = []byte(r.script)
	case r.pytest != "":
		files["test_solution.py"] = []byte(r.pytest)
	case r.function != "":
		files["call.py"] = callScript
	}
	for name, content := range files {
		if err := r.sb.WriteFile(ctx, r.dir+"/"+name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A program that ends by itself before its tests have run has not passed them: what
// is printed at their end must be there.
const (
	reachedMark = "rollbench: the end was reached"
	reached     = `__import__("os").write(1, b"\n` + reachedMark + `\n")`
)

// pytestPassed is pytest's last line: a program may end it before, with exit code 0.
var pytestPassed = regexp.MustCompile(`(?m)^=+ .*\b\d+ passed\b.* in [\d.]+s.*=+\s*$`)

// tests says what fails, "" when nothing does.
func (r *programRun) tests(ctx context.Context) (string, error) {
	switch {
	case r.asserts != "":
		return r.toTheEnd(ctx, "python3", "solution.py")
	case r.script != "" || r.pytest != "":
		if why, err := r.toTheEnd(ctx, "python3", "-c", "import solution\n"+reached); why != "" || err != nil {
			return why, err
		}
		argv := []string{"python3", "test_solution.py"}
		if r.pytest != "" {
			argv = []string{"python3", "-m", "pytest", "-p", "no:cacheprovider", "."}
		}
		out, why, err := r.once(ctx, nil, argv...)
		if err == nil && why == "" && r.pytest != "" && !pytestPassed.MatchString(out) {
			why = "the tests end before they say how they went"
		}
		return why, err
	}
	for i, c := range r.cases {
		why, err := r.try(ctx, c)
		if err != nil || why != "" {
			return fmt.Sprintf("case %d of %d: %s", i+1, len(r.cases), why), err
		}
	}
	return "", nil
}

// toTheEnd runs a command that must say that its end was reached.
func (r *programRun) toTheEnd(ctx context.Context, argv ...string) (string, error) {
	out, why, err := r.once(ctx, nil, argv...)
	if err == nil && why == "" && !strings.Contains(out, reachedMark) {
		why = "the program ends itself before its tests have run"
	}
	return why, err
}

// try one case.
func (r *programRun) try(ctx context.Context, c programCase) (string, error) {
	if r.function == "" {
		out, why, err := r.once(ctx, []byte(c.in), "bash", "-c", `python3 solution.py 2>stderr; code=$?; [ $code = 0 ] || tail -c 2000 stderr; exit $code`)
		if err == nil && why == "" && !answer.SameOutput(out, c.out) {
			why = fmt.Sprintf("it printed %.200q and not %.200q", strings.TrimSpace(out), strings.TrimSpace(c.out))
		}
		return why, err
	}
	args, err := json.Marshal(c.args)
	if err != nil {
		return "", err
	}
	if err := r.sb.WriteFile(ctx, r.dir+"/args.json", args, 0o644); err != nil {
		return "", err
	}
	result := r.dir + "/result.json"
	if _, why, err := r.once(ctx, nil, "python3", "call.py", r.function, "args.json", result); err != nil || why != "" {
		return why, err
	}
	text, err := r.sb.ReadFile(ctx, result)
	if errors.Is(err, sandbox.ErrNotExist) {
		return "the program ends itself before the call returned", nil
	}
	if err != nil {
		return "", err
	}
	got, err := rows.Decode(text)
	if err != nil {
		return fmt.Sprintf("it left a result that is no JSON: %v", err), nil
	}
	if !c.returned(got) {
		return fmt.Sprintf("it returned %.200s and not %s", text, inJSON(c.result)), nil
	}
	return "", nil
}

func inJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%.200s", text)
}

// once runs a command in the program's folder; why says how it failed.
func (r *programRun) once(ctx context.Context, stdin []byte, argv ...string) (out, why string, err error) {
	res, err := r.sb.Exec(ctx, sandbox.Command{Argv: argv, Dir: r.dir, Stdin: stdin, Timeout: caseLimit, Env: map[string]string{"PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}})
	if err != nil {
		return "", "", err
	}
	out = string(res.Output)
	fmt.Fprintf(&r.log, "--- %s ---\n%s\n", argv[0], clip(out))
	switch {
	case res.End == sandbox.Cancelled:
		return out, "", cancelled(ctx)
	case res.End != sandbox.Exited:
		why = fmt.Sprintf("it took longer than %v", caseLimit)
	case res.ExitCode != 0:
		why = fmt.Sprintf("it ended with %s", scriptMessage(out, res.ExitCode))
	case res.Dropped > 0:
		why = fmt.Sprintf("it printed more than %d bytes", sandbox.DefaultMaxOutput)
	}
	return out, why, nil
}

// clip what a program printed for the log.
func clip(out string) string {
	const most = 4096
	if len(out) <= most {
		return strings.TrimRight(out, "\n")
	}
	return out[:most] + "\n[…]"
}
