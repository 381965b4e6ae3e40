package task

import "rollbench/engine/task/testlog"

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
	"gotest":   "go test -v",
}

// findRunner names the runner of a row.
func findRunner(r *row) (string, runner, error) {
	parser, err := testlog.Choose(testlog.Row{InstanceID: r.ID, Repo: r.Repo, LogParser: r.LogParser, Version: r.Version})
	if err != nil {
		return "", runner{}, err
	}
	return parser.Name, runner{parser: parser, command: commands[parser.Name]}, nil
}
