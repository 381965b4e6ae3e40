package task

import (
	_ "embed"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"rollbench/engine/task/rows"
)

// recipe is how a harness evaluates one version of a repository that is not written
// in Python: shell lines that build it with the tests of the row, and those that run
// the tests, to which no names of tests are added.
type recipe struct {
	build, test []string
}

// recipeLines are those of SWE-bench's multilingual and multimodal repositories, from
// its harness at v4.1.0 (726c5461, swebench/harness/constants/{c,go,java,javascript,
// php,ruby,rust}.py: build and test_cmd; for wp-calypso test_spec/javascript.py). Of
// gson, druid, tokio and one version of lucene, which were mended later, they are
// those of 6cd91d8c, the last before version 5. In the multilingual set the version
// of a row is the number in its id. Two lines are told otherwise: rubocop's program
// for jq is on one, and one that ends tests that hang, by timeout, does not call that
// a failure.
//
//go:embed recipes.txt
var recipeLines string

// recipes by "repository version".
var recipes = sync.OnceValues(func() (map[string]*recipe, error) { return parseRecipes(recipeLines) })

// recipeOf a row, nil for one whose repository or version the harness does not know.
func recipeOf(d *row) (*recipe, error) {
	all, err := recipes()
	if err != nil {
		return nil, fmt.Errorf("read recipes.txt: %w", err)
	}
	repo := strings.ToLower(d.Repo) + " "
	if found := all[repo+d.Version]; found != nil || strings.Contains(d.Version, ".") {
		return found, nil
	}
	return all[repo+d.Version+".0"], nil // 3.0, written as a number
}

// recipeReader reads lines of four kinds. "repo NAME" begins a repository; "build LINE"
// and "test LINE" are for the versions that follow them, until such a line begins the
// next; "VERSION,VERSION… ARGUMENT" are versions, whose argument stands for {} in the
// test lines. A version that is told again is tested with that argument, too.
type recipeReader struct {
	all  map[string]*recipe
	repo string
	// build and test are for the versions to come; told says that one came.
	build, test []string
	told        bool
	of          map[string]int // of each version the number of the lines it is for
	group       int
}

func parseRecipes(text string) (map[string]*recipe, error) {
	r := &recipeReader{all: map[string]*recipe{}, of: map[string]int{}}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSuffix(line, "\n"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := r.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if !r.told {
		return nil, errors.New("the last lines are for no version")
	}
	return r.all, nil
}

func (r *recipeReader) line(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case word == "repo":
		if len(r.test) > 0 && !r.told {
			return fmt.Errorf("the lines before %q are for no version", line)
		}
		r.begin()
		r.repo = rest
		if rest == "" || rest != strings.ToLower(rest) || strings.Count(rest, "/") != 1 || strings.Contains(rest, " ") {
			return fmt.Errorf("%q is no repository in lower case", rest)
		}
		return nil
	case rest == "" && (word == "build" || word == "test"):
		return fmt.Errorf("%q holds no command", line)
	case word == "build" && strings.Contains(rest, "{}"):
		return fmt.Errorf("%q takes an argument, which only a test may", line)
	case word == "build" || word == "test":
		if r.told {
			r.begin()
		}
		if word == "build" {
			r.build = append(r.build, rest)
		} else {
			r.test = append(r.test, rest)
		}
		return nil
	}
	for version := range strings.SplitSeq(word, ",") {
		if err := r.version(version, rest); err != nil {
			return err
		}
	}
	return nil
}

// begin lines for other versions.
func (r *recipeReader) begin() {
	r.build, r.test, r.told = nil, nil, false
	r.group++
}

var recipeVersion = regexp.MustCompile(`^\d+(\.\d+)*$`)

func (r *recipeReader) version(version, argument string) error {
	wants := slices.ContainsFunc(r.test, func(line string) bool { return strings.Contains(line, "{}") })
	key := r.repo + " " + version
	known := r.all[key]
	switch {
	case !recipeVersion.MatchString(version):
		return fmt.Errorf("%q is no version", version)
	case r.repo == "" || len(r.test) == 0:
		return fmt.Errorf("version %s has no repository or no test", version)
	case wants != (argument != ""):
		return fmt.Errorf("version %s has an argument that no line takes, or a line an argument that it has not", version)
	case known != nil && (!wants || r.of[key] != r.group):
		return fmt.Errorf("version %s of %s is told twice", version, r.repo)
	case known == nil:
		known = &recipe{build: r.build}
		r.all[key], r.of[key] = known, r.group
	}
	for _, line := range r.test {
		known.test = append(known.test, strings.ReplaceAll(line, "{}", argument))
	}
	r.told = true
	return nil
}

// command is all that runs the tests. A line with {file} runs for each file that the
// test patch leaves.
func (r *recipe) command(files []*fileDiff) string {
	var out []string
	for _, line := range r.test {
		if !strings.Contains(line, "{file}") {
			out = append(out, line)
			continue
		}
		for _, f := range files {
			if !f.delete {
				out = append(out, fileTest(line, f.newPath)...)
			}
		}
	}
	return strings.Join(out, "\n")
}

// fileTest runs one file's tests as wp-calypso's are: by the jest of the client or of
// the packages, for a snapshot all of the folder that it is of, those of test/e2e by
// a script of their own, and no others.
func fileTest(line, file string) []string {
	if dir := path.Dir(file); strings.HasSuffix(file, ".js.snap") && path.Base(dir) == "__snapshots__" {
		file = path.Dir(dir)
	}
	top, _, _ := strings.Cut(file, "/")
	switch {
	case top == "client" || top == "packages":
		return []string{strings.NewReplacer("{package}", top, "{file}", quote(file)).Replace(line)}
	case strings.HasPrefix(file, "test/e2e"):
		return []string{"cd test/e2e", "NODE_CONFIG_ENV=test npm run test " + quote(file), "cd ../.."}
	}
	return nil
}

// useRecipe has a row evaluated by its harness's commands, if it knows them.
func (d *row) useRecipe(r rows.Row) error {
	found, err := recipeOf(d)
	if err != nil || found == nil {
		return err
	}
	files, err := parseDiff([]byte(d.TestPatch))
	if err != nil {
		return r.Wrong("test_patch", "%w", err)
	}
	d.TestCmd, d.Build, d.Run, d.Fetch = found.command(files), found.build, []string{}, fetchAssets(r)
	return nil
}
