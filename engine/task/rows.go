package task

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"rollbench/engine/task/rows"
)

// row is what a verifier of the SWE-bench kind needs of a problem, whichever
// family it is from.
type row struct {
	ID, Repo, Base, Statement string
	Patch, TestPatch          string
	FailToPass, PassToPass    []string
	Image, Workdir            string
	EvalScript, EvalType      string
	LogParser, TestCmd        string
	Version                   string // of the project; some parsers differ by it
	// Run are the tests to run, nil for those that the test patch touches.
	Run []string
	// Fetch are shell lines that get what the test patch names but cannot hold.
	Fetch []string
	// Build are shell lines that the tests need, after the test patch.
	Build []string
	// Spec is how the harness evaluates a row that does not say it; nil otherwise.
	Spec *spec
}

// rowVerifyLimit is the harness's limit for one evaluation.
const rowVerifyLimit = 1800 * time.Second

// decodeRow takes the fields that SWE-bench and what followed it share. What
// every row must have is checked by the family.
func decodeRow(r rows.Row) (*row, error) {
	d := &row{Workdir: defaultWorkdir}
	for _, one := range []struct {
		name string
		into *string
	}{
		{"instance_id", &d.ID}, {"repo", &d.Repo}, {"base_commit", &d.Base}, {"problem_statement", &d.Statement}, {"patch", &d.Patch}, {"test_patch", &d.TestPatch},
		{"workdir", &d.Workdir}, {"eval_script", &d.EvalScript}, {"eval_type", &d.EvalType}, {"log_parser", &d.LogParser}, {"test_cmd", &d.TestCmd},
	} {
		text, err := r.Text(one.name)
		if err != nil {
			return nil, err
		}
		if text != "" {
			*one.into = text
		}
	}
	if v := r.Value("version"); v != nil { // some datasets write it as a number
		d.Version = fmt.Sprint(v)
	}
	d.Statement, d.Base = issueText(d.Statement), strings.TrimSpace(d.Base)
	for _, name := range []string{"image", "image_name", "docker_image"} {
		image, err := r.Text(name)
		if err != nil {
			return nil, err
		}
		if d.Image == "" {
			d.Image = image
		}
	}
	if workdir := path.Clean(d.Workdir); !path.IsAbs(workdir) || workdir == "/" {
		return nil, r.Wrong("workdir", "is %q; it must be an absolute path below /", d.Workdir)
	}
	d.Workdir = path.Clean(d.Workdir)
	return d, d.readTests(r)
}

// readTests takes the names of the tests that decide.
func (d *row) readTests(r rows.Row) (err error) {
	given := false
	if d.FailToPass, given, err = r.Names("FAIL_TO_PASS"); err != nil {
		return err
	}
	if d.PassToPass, _, err = r.Names("PASS_TO_PASS"); err != nil {
		return err
	}
	switch {
	case !given:
		return r.Wrong("FAIL_TO_PASS", "is missing; every SWE-bench row needs it")
	case len(d.FailToPass)+len(d.PassToPass) == 0:
		return r.Wrong("FAIL_TO_PASS", `is empty and so is "PASS_TO_PASS"; there is no test to grade by`)
	}
	switch d.EvalType {
	case "", "pass_and_fail", "fail_only":
	default:
		return r.Wrong("eval_type", "is %q; it must be pass_and_fail or fail_only", d.EvalType)
	}
	if _, err := parseDiff([]byte(d.TestPatch)); err != nil {
		return r.Wrong("test_patch", "%w", err)
	}
	return nil
}

// needed are fields that every row of the SWE-bench kind must have.
func needed(r rows.Row, names ...string) error {
	for _, name := range names {
		if _, err := r.Need(name, "every SWE-bench row needs it"); err != nil {
			return err
		}
	}
	return nil
}

// issueText is the inside of [ISSUE]…[/ISSUE], where a statement is wrapped so.
func issueText(text string) string {
	_, inside, opened := strings.Cut(text, "[ISSUE]")
	inside, _, closed := strings.Cut(inside, "[/ISSUE]")
	if !opened || !closed || strings.TrimSpace(inside) == "" {
		return text
	}
	return strings.TrimSpace(inside)
}

// swebenchRow is a row of SWE-bench: full, Lite, Verified, Multilingual or of
// anybody who uses its columns.
func swebenchRow(r rows.Row, o *Options) (Instance, error) {
	if err := needed(r, "instance_id", "base_commit", "problem_statement"); err != nil {
		return Instance{}, err
	}
	d, err := decodeRow(r)
	if err != nil {
		return Instance{}, err
	}
	if d.Image == "" {
		publisher := "swebench/"
		if r.Given("install_config") {
			publisher = "swerebench/"
		}
		d.Image = evalImage(d.ID, o.ImagePrefix, publisher)
	}
	if err := d.rebench(r); err != nil {
		return Instance{}, err
	}
	in, err := newRow(r, d, o)
	if n := assets(r, "test_patch", "patch") - len(d.Fetch); n > 0 && err == nil {
		in.Warnings = append(in.Warnings, fmt.Sprintf("image_assets names %d files that no patch can carry and that are not fetched: tests that need them fail. A task repository has them in test_assets/", n))
	}
	if shown := assets(r, "problem_statement"); shown > 0 && err == nil {
		in.Warnings = append(in.Warnings, fmt.Sprintf("the problem statement shows %d pictures, which a policy does not see", shown))
	}
	return in, err
}

// assets counts the files that parts of a multimodal row need beside their text, which
// its harness downloads.
func assets(r rows.Row, parts ...string) int {
	named, given, err := r.Object("image_assets")
	if err != nil || !given {
		return 0 // of other columns of that name nothing is known
	}
	n := 0
	for _, part := range parts {
		if list, ok := named.Value(part).([]any); ok {
			n += len(list)
		}
	}
	return n
}

// fetchAssets are shell lines that download the files of a multimodal row's tests, as
// its harness does after the test files were put back.
func fetchAssets(r rows.Row) []string {
	named, given, err := r.Object("image_assets")
	if err != nil || !given {
		return nil
	}
	list, _ := named.Value("test_patch").([]any)
	var lines []string
	for _, one := range list {
		asset, _ := one.(map[string]any)
		file, _ := asset["path"].(string)
		url, _ := asset["url"].(string)
		if fs.ValidPath(file) && (strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")) {
			lines = append(lines, fmt.Sprintf("mkdir -p -- %s && curl -fsSL -o %s %s && chmod 777 -- %[2]s", quote(path.Dir(file)), quote("./"+file), quote(url)))
		}
	}
	return lines
}

// evalImage is the name of a published image. Docker forbids the two underscores
// of an id: the swebench images write _1776_ for them, xingyaoww's _s_.
func evalImage(id, prefix, published string) string {
	if prefix == "" {
		prefix = published
	}
	between := "_1776_"
	if strings.Contains(prefix, "xingyaoww") {
		between = "_s_"
	}
	return prefix + "sweb.eval.x86_64." + strings.ReplaceAll(strings.ToLower(id), "__", between) + ":latest"
}

// condaHome is where the published Python images have conda.
const condaHome = "/opt/miniconda3"

// condaPath puts the environment that the published Python images test in first.
const condaPath = condaHome + "/envs/testbed/bin:" + condaHome + "/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// condaEnv is the environment of commands in a published image for Python, nil
// for any other image, whose own must stand.
func condaEnv(image, runner string) map[string]string {
	published := strings.Contains(image, "sweb.eval.") || strings.Contains(image, "swesmith.")
	python := strings.HasPrefix(commands[runner], "python3 ") || slices.Contains([]string{"django", "sympy"}, runner) || strings.HasPrefix(runner, "swesmith_")
	if !published || !python {
		return nil
	}
	return map[string]string{"PATH": condaPath, "CONDA_DEFAULT_ENV": "testbed", "CONDA_PREFIX": condaHome + "/envs/testbed"}
}

// rowInstruction tells the agent where it is and what counts, around the
// problem statement as it stands.
func rowInstruction(repo, workdir, statement string) string {
	name := "A software repository"
	if repo != "" {
		name = "The repository " + repo
	}
	return fmt.Sprintf(`%s is checked out in %s. Somebody filed the issue below.

<issue>
%s
</issue>

Change the source code in %s so that the issue is resolved. Find the cause before you edit, keep the change small, and do not break what works now. The change will be judged by tests that you cannot see: edits to the tests themselves do not count. Nothing has to be installed, and there may be no network.
`, name, workdir, strings.TrimSpace(statement), workdir)
}
