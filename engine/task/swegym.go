package task

import (
	"regexp"
	"slices"
	"strings"

	"rollbench/engine/task/rows"
)

// sweGymRepos are the repositories of SWE-Gym, in lower case.
var sweGymRepos = []string{"bokeh/bokeh", "conan-io/conan", "dask/dask", "facebookresearch/hydra", "getmoto/moto", "iterative/dvc", "modin-project/modin",
	"pandas-dev/pandas", "project-monai/monai", "pydantic/pydantic", "python/mypy"}

// fromSWEGym tells a row of SWE-Gym from one of SWE-bench, whose columns it has
// (but for environment_setup_commit), by its repository. A row that brings its
// image or its script needs neither family's rules.
func fromSWEGym(r rows.Row) bool {
	repo, err := r.Text("repo")
	return err == nil && slices.Contains(sweGymRepos, strings.ToLower(repo)) && !r.Has("environment_setup_commit") &&
		!r.Given("image") && !r.Given("image_name") && !r.Given("docker_image") && !r.Given("eval_script")
}

// sweGymRow is a row of SWE-Gym: SWE-bench's, with images of another publisher
// and lists that are lists.
func sweGymRow(r rows.Row, o *Options) (Instance, error) {
	if err := needed(r, "instance_id", "base_commit", "problem_statement"); err != nil {
		return Instance{}, err
	}
	d, err := decodeRow(r)
	if err != nil {
		return Instance{}, err
	}
	if d.Image == "" {
		d.Image = evalImage(d.ID, o.ImagePrefix, "xingyaoww/")
	}
	if strings.EqualFold(d.Repo, "python/mypy") && d.EvalScript == "" {
		d.Run = mypyTests(d)
	}
	return newRow(r, d, o)
}

var mypyCase = regexp.MustCompile(`\[case ([^\]]+)\]`)

// mypyTests are the cases that the test patch shows, which are data that mypy's
// tests are made of; the files of the tests where it shows none.
func mypyTests(d *row) []string {
	var names []string
	for _, found := range mypyCase.FindAllStringSubmatch(d.TestPatch, -1) {
		names = append(names, found[1])
	}
	if len(names) == 0 {
		return testFiles(d.FailToPass, d.PassToPass)
	}
	return []string{"-k", strings.Join(names, " or ")}
}

// testFiles are the files of tests that pytest names, each once and in order.
func testFiles(lists ...[]string) []string {
	var files []string
	for _, list := range lists {
		for _, name := range list {
			file, _, ok := strings.Cut(name, "::")
			if ok && file != "" && !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	slices.Sort(files)
	return files
}
