package task

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rollbench/engine/task/rows"
	"rollbench/engine/task/testlog"
	"rollbench/sandbox"
)

//go:embed smith.sh
var smithScript string

// smith is a problem of SWE-smith: a bug that was put into a repository. Its
// tests come from the commit before the one that removed them.
type smith struct {
	swebench
	branch string
	bug    []byte
	hidden []string // files of FAIL_TO_PASS, which the policy does not see
}

// smithPytest prints a line for each test, and nothing long.
const smithPytest = "pytest --disable-warnings --color=no --tb=no --verbose"

// smithPytests are the parsers that read what it prints.
var smithPytests = []string{"swesmith_pytest", "swesmith_python_slugify"}

// smithRow is a row of SWE-smith. Its patch is the bug; the way back is the
// reference.
func smithRow(r rows.Row, o *Options) (Instance, error) {
	if err := needed(r, "instance_id", "image_name"); err != nil {
		return Instance{}, err
	}
	if _, err := r.Need("patch", "it is the bug that a SWE-smith row puts in"); err != nil {
		return Instance{}, err
	}
	d, err := decodeRow(r)
	if err != nil {
		return Instance{}, err
	}
	back, err := reverseDiff(d.Patch)
	if err != nil {
		return Instance{}, r.Wrong("patch", "%w", err)
	}
	tests := testFiles(d.FailToPass, d.PassToPass)
	smithRules := d.LogParser == "" && (d.TestCmd != "" || d.EvalScript != "")
	if d.LogParser == "" {
		d.LogParser = testlog.ForSmith(d.ID)
	}
	if d.TestCmd == "" && len(tests) > 0 && slices.Contains(smithPytests, d.LogParser) {
		d.TestCmd, d.Run = smithPytest, tests
	}
	name, runner, err := findRunner(d)
	if err != nil {
		return Instance{}, err
	}
	d.Image = smithImage(d.Image, o.ImagePrefix)
	kind := &smith{branch: d.ID, bug: []byte(d.Patch), hidden: testFiles(d.FailToPass)}
	kind.grading, kind.tests = gradingOf(d, runner.parser), tests
	// A row's own command may run no more than the files that decide; ours runs
	// all that are named, so that each test must occur.
	kind.grading.rules.Smith = smithRules
	in := Instance{
		ID: d.ID, Workdir: d.Workdir, Image: d.Image, Network: o.Network, VerifyLimit: rowVerifyLimit,
		Instruction: smithInstruction(d), Reference: Reference{Patch: []byte(back)}, TestCommand: d.TestCmd,
		Repo: d.Repo, Env: condaEnv(d.Image, name), kind: kind,
	}
	switch {
	case d.EvalScript != "":
		kind.script = d.EvalScript
	case d.TestCmd == "":
		in.Warnings = append(in.Warnings, "how this repository's tests are run is not known, and the row has neither test_cmd nor eval_script: it cannot be verified")
	default:
		kind.script, err = smithEval(d, tests)
	}
	return in, err
}

// smithImage is where the image is published; its name has no two underscores.
func smithImage(name, prefix string) string {
	name = strings.ReplaceAll(name, "__", "_1776_")
	switch {
	case strings.Contains(name, "/") && prefix == "":
		return name
	case prefix != "":
		return prefix + name[strings.LastIndex(name, "/")+1:]
	}
	return "jyangballin/" + name
}

// smithInstruction of a bug that nobody has described yet asks to find it.
func smithInstruction(d *row) string {
	if strings.TrimSpace(d.Statement) == "" {
		d.Statement = "Something that used to work is broken: some of the project's tests fail. Find the bug and fix it."
	}
	return rowInstruction(d.Repo, d.Workdir, d.Statement)
}

// smithEval puts the tests back as they were before they were removed, and runs
// them between the markers.
func smithEval(d *row, tests []string) (string, error) {
	for _, file := range tests {
		if strings.ContainsAny(file, "\n\x00") || strings.HasPrefix(file, "-") {
			return "", fmt.Errorf("field \"FAIL_TO_PASS\" names a test in %q, which is no file", file)
		}
	}
	var b strings.Builder
	b.WriteString("#!/bin/bash\nset -uxo pipefail\n")
	b.WriteString(activate)
	if len(tests) > 0 {
		b.WriteString("git checkout refs/rollbench/tests -- " + strings.Join(quoteAll(tests), " ") + " || exit 1\n")
	}
	command := d.TestCmd
	if len(d.Run) > 0 {
		command += " " + strings.Join(quoteAll(d.Run), " ")
	}
	b.WriteString(marked(command))
	return b.String(), nil
}

func (s *smith) lay(ctx context.Context, in *Instance, sb sandbox.Sandbox) (string, error) {
	if _, err := s.swebench.lay(ctx, in, sb); err != nil {
		return "", err
	}
	if err := sb.WriteFile(ctx, ".git/rollbench.bug", s.bug, 0o644); err != nil {
		return "", err
	}
	out, err := runScript(ctx, sb, smithScript, map[string]string{"ROLLBENCH_BRANCH": s.branch, "ROLLBENCH_HIDDEN": strings.Join(s.hidden, "\n")}, prepareLimit)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		if commit, ok := strings.CutPrefix(strings.TrimSpace(line), "rollbench: problem "); ok {
			return commit, nil
		}
	}
	return "", errors.New("the problem's commit was not made")
}
