package task

import (
	"strconv"

	"rollbench/engine/task/testlog"
)

// runner is a test runner: how its log is read, and the command that runs it
// ("" when only the row can know).
type runner struct {
	parser  testlog.Parser
	command string
}

const pytest = "python3 -m pytest -rA"

// commands that run the tests of a row which brings none, by its parser.
var commands = map[string]string{
	"pytest": pytest, "astroid": pytest, "flask": pytest, "marshmallow": pytest, "pvlib": pytest, "pyvista": pytest, "sqlfluff": pytest, "xarray": pytest,
	"pytest_options": pytest, "pydicom": pytest, "requests": pytest, "pylint": pytest,
	"pytest_v2": pytest, "astropy": pytest, "scikit": pytest, "sphinx": pytest,
	"matplotlib": pytest, "seaborn": pytest, "swegym_pydantic": pytest,
	"unittest": "python3 -m unittest -v",
}

// findRunner names the runner of a row.
func findRunner(r *row) (string, runner, error) {
	of := testlog.Row{Repo: r.Repo, LogParser: r.LogParser, Version: versionText(r.Version)}
	if r.InstanceID != nil {
		of.InstanceID = *r.InstanceID
	}
	parser, err := testlog.Choose(of)
	if err != nil {
		return "", runner{}, err
	}
	return parser.Name, runner{parser: parser, command: commands[parser.Name]}, nil
}

// versionText of a row, which some datasets write as a number.
func versionText(version any) string {
	switch v := version.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}
