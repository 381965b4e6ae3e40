package task

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"rollbench/engine/task/rows"
	"rollbench/engine/task/testlog"
	"rollbench/sandbox"
)

//go:embed r2e.sh
var r2eScript string

// r2e is a problem of R2E-Gym: the tests are in the image, and the row says how
// each of them must end.
type r2e struct {
	expected testlog.Expected
}

// r2eVerifyLimit is SkyRL-Agent's for run_tests.sh.
const r2eVerifyLimit = 600 * time.Second

// r2ePath has the repository's own Python environment first.
const r2ePath = "/testbed/.venv/bin:/root/.local/bin:/root/.cargo/bin:/go/bin:/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// r2eRow is a row of R2E-Gym, with its own names of columns or with those that
// SkyRL-Agent gives them.
func r2eRow(r rows.Row, o *Options) (Instance, error) {
	text := func(names ...string) (string, error) {
		for _, name := range names {
			if r.Given(name) {
				return r.Text(name)
			}
		}
		return r.Need(names[0], "every R2E-Gym row needs it")
	}
	image, err := text("docker_image", "instance_id")
	if err != nil {
		return Instance{}, err
	}
	commit, err := text("commit_hash", "base_commit")
	if err != nil {
		return Instance{}, err
	}
	repo, err := text("repo_name", "repo")
	if err != nil {
		return Instance{}, err
	}
	statement, err := r.Need("problem_statement", "it is what the policy is told")
	if err != nil {
		return Instance{}, err
	}
	if !isCommit(commit) {
		return Instance{}, r.Wrong("commit_hash", "is %q; it must be a commit id in hexadecimal", commit)
	}
	kind := &r2e{}
	if kind.expected, err = expectedOutcomes(r); err != nil {
		return Instance{}, err
	}
	in := Instance{
		ID: strings.ReplaceAll(repo, "/", "__") + "__" + commit, Workdir: defaultWorkdir, Image: r2eImage(image, o.ImagePrefix), Repo: repo,
		Instruction: rowInstruction(repo, defaultWorkdir, issueText(statement)), Network: o.Network, VerifyLimit: r2eVerifyLimit,
		Env:  map[string]string{"PATH": r2ePath, "VIRTUAL_ENV": defaultWorkdir + "/.venv"},
		kind: kind,
	}
	patch, err := commitPatch(r)
	if err != nil {
		in.Warnings = append(in.Warnings, "no reference solution: "+err.Error())
	}
	in.Reference = Reference{Patch: []byte(patch)}
	return in, nil
}

func r2eImage(image, prefix string) string {
	if prefix == "" {
		return image
	}
	return prefix + image[strings.LastIndex(image, "/")+1:]
}

// expectedOutcomes are the statuses by test, an object or one as JSON.
func expectedOutcomes(r rows.Row) (testlog.Expected, error) {
	list, given, err := r.Object("expected_output_json")
	switch {
	case err != nil:
		return nil, err
	case !given:
		return nil, r.Wrong("expected_output_json", "is missing; every R2E-Gym row needs it")
	}
	out := testlog.Expected{}
	for _, test := range list.Columns() {
		outcome, err := list.Text(test)
		if err != nil {
			return nil, err
		}
		out[test] = outcome
	}
	if len(out) == 0 {
		return nil, r.Wrong("expected_output_json", "holds no test; there is nothing to grade by")
	}
	return out, nil
}

// parsedCommit is the part of parsed_commit_content that makes a diff.
type parsedCommit struct {
	Files []struct {
		Header struct {
			File struct {
				Path string `json:"path"`
			} `json:"file"`
			Misc string `json:"misc_line"`
		} `json:"header"`
		Index *struct {
			Old  string `json:"old_commit_hash"`
			New  string `json:"new_commit_hash"`
			Mode string `json:"mode"`
		} `json:"index_line"`
		Binary bool                   `json:"is_binary_file"`
		Minus  *struct{ Path string } `json:"minus_file"`
		Plus   *struct{ Path string } `json:"plus_file"`
		Hunks  []struct {
			Descriptor struct {
				Old     hunkRange `json:"old_range"`
				New     hunkRange `json:"new_range"`
				Section string    `json:"section"`
			} `json:"descriptor"`
			Group struct {
				Lines []struct{ Content, Type string } `json:"all_lines"`
			} `json:"line_group"`
		} `json:"hunks"`
	} `json:"file_diffs"`
}

type hunkRange struct {
	Start  int  `json:"start"`
	Length *int `json:"length"`
}

func (h hunkRange) String() string {
	if h.Length == nil {
		return fmt.Sprint(h.Start)
	}
	return fmt.Sprintf("%d,%d", h.Start, *h.Length)
}

// commitPatch is the upstream fix without its tests, as R2E-Gym takes it: the
// changes of Python files that are no tests.
func commitPatch(r rows.Row) (string, error) {
	text, err := r.Text("parsed_commit_content")
	if err != nil {
		return "", err
	}
	if text == "" {
		return "", errors.New("the row has no parsed_commit_content")
	}
	var commit parsedCommit
	if err := json.Unmarshal([]byte(text), &commit); err != nil {
		return "", r.Wrong("parsed_commit_content", "is broken JSON: %w", err)
	}
	var b strings.Builder
	for _, f := range commit.Files {
		file := f.Header.File.Path
		if !strings.HasSuffix(file, ".py") || isR2ETest(file) || f.Binary {
			continue
		}
		fmt.Fprintf(&b, "diff --git a/%s b/%s\n", file, file)
		if f.Header.Misc != "" {
			b.WriteString(f.Header.Misc + "\n")
		}
		if f.Index != nil {
			b.WriteString(strings.TrimSpace(fmt.Sprintf("index %s..%s %s", f.Index.Old, f.Index.New, f.Index.Mode)) + "\n")
		}
		if f.Minus != nil && f.Plus != nil {
			fmt.Fprintf(&b, "--- %s\n+++ %s\n", f.Minus.Path, f.Plus.Path)
		}
		for _, h := range f.Hunks {
			b.WriteString(strings.TrimSpace(fmt.Sprintf("@@ -%v +%v @@ %s", h.Descriptor.Old, h.Descriptor.New, h.Descriptor.Section)) + "\n")
			for _, line := range h.Group.Lines {
				sign, ok := map[string]string{"context": " ", "added": "+", "deleted": "-", "note": `\ `}[line.Type]
				if !ok {
					return "", r.Wrong("parsed_commit_content", "has a line of type %q", line.Type)
				}
				b.WriteString(sign + line.Content + "\n")
			}
		}
	}
	if b.Len() == 0 {
		return "", errors.New("parsed_commit_content changes no Python file but tests")
	}
	if _, err := parseDiff([]byte(b.String())); err != nil {
		return "", r.Wrong("parsed_commit_content", "makes no diff: %w", err)
	}
	return b.String(), nil
}

func isR2ETest(file string) bool {
	folders := strings.Split(file, "/")
	return strings.HasSuffix(file, "_test.py") || strings.HasPrefix(path.Base(file), "test_") ||
		slices.ContainsFunc(folders, func(part string) bool { return slices.Contains([]string{"tests", "Tests", "test", "Test"}, part) })
}

func (k *r2e) lay(ctx context.Context, in *Instance, sb sandbox.Sandbox) (string, error) {
	if _, err := (&swebench{}).lay(ctx, in, sb); err != nil {
		return "", err
	}
	_, err := runScript(ctx, sb, r2eScript, map[string]string{"ROLLBENCH_HIDE": ""}, prepareLimit)
	return "", err
}

func (k *r2e) hide(ctx context.Context, _ *Instance, sb sandbox.Sandbox) error {
	_, err := runScript(ctx, sb, r2eScript, map[string]string{"ROLLBENCH_HIDE": "1"}, prepareLimit)
	return err
}

func (k *r2e) solve(context.Context, *Instance, sandbox.Sandbox) error {
	return errors.New("the row has no patch")
}

// verify runs the image's tests and compares how each of them ended.
func (k *r2e) verify(ctx context.Context, in *Instance, sb sandbox.Sandbox) (Verdict, error) {
	run := sandbox.Command{Script: `away="${HOME:-/root}"; rm -rf r2e_tests run_tests.sh; ln -s "$away/r2e_tests" r2e_tests; exec bash "$away/run_tests.sh" 2>&1`}
	return in.readLog(ctx, sb, run, func(log string, _ bool, verdict *Verdict) {
		var same bool
		verdict.Reward = new(float64)
		if same, verdict.Note = k.expected.Match(testlog.R2E(log)); same {
			*verdict.Reward = 1
		}
	})
}
