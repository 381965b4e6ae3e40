package testlog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// parsers by the names of SWE-bench's registry, without "parse_log_". Names
// that are in no row of it come last: of runners that rows older than the column
// log_parser need, of SWE-smith's and SWE-Gym's harnesses, and our own unittest.
var parsers = map[string]func(string) Results{
	"pytest": pytest, "astroid": pytest, "flask": pytest, "marshmallow": pytest, "pvlib": pytest, "pyvista": pytest, "sqlfluff": pytest, "xarray": pytest,
	"pytest_options": pytestOptions, "pydicom": pytestOptions, "requests": pytestOptions, "pylint": pytestOptions,
	"pytest_v2": pytestV2, "astropy": pytestV2, "scikit": pytestV2, "sphinx": pytestV2,
	"django": django, "matplotlib": matplotlib, "seaborn": seaborn, "sympy": sympy,

	"calypso": calypso, "bpmn_js": bpmn, "carbon": carbon, "eslint": eslint, "grommet": grommet, "highlightjs": highlight,
	"openlayers": openlayers, "prismjs": prism, "quarto_cli": quarto, "chart_js": chart, "marked": marked, "p5js": p5,
	"react_pdf": carbon, "jest": jest, "jest_json": jestJSON, "vitest": vitest, "karma": karma, "tap": tap,

	"redis": redis, "jq": jq, "doctest": doctest, "micropython_test": micropython, "googletest": googletest,
	"gotest": gotest, "cargo": cargo, "maven": maven, "ant": ant, "gradle_custom": gradle, "phpunit": phpunit,
	"minitest": minitest, "cucumber": cucumber, "ruby_unit": rubyUnit, "rspec_transformed_json": rspec,

	"next_v1": nextKarma, "next_v2": nextCypress, "lighthouse_mocha": lighthouseMocha, "lighthouse_jest": carbon, "lighthouse_json": lighthouseJSON,
	"cypress": cypress, "emotion": emotion, "prettier": carbon, "scratch_gui": carbon, "plotly": plotly,
	"swesmith_pytest": smithPytest, "swesmith_mypy": smithMypy, "swesmith_tornado": smithTornado, "swesmith_paramiko": smithParamiko,
	"swesmith_autograd": smithAutograd, "swesmith_python_slugify": smithSlugify, "swegym_pydantic": gymPydantic,
	"unittest": unittest, "mocha": mocha,
}

// aliases that people write.
var aliases = map[string]string{"micropython": "micropython_test", "gradle": "gradle_custom", "rspec": "rspec_transformed_json", "go": "gotest"}

func init() {
	for alias, name := range aliases {
		parsers[alias] = parsers[name]
	}
}

// variants are names that stand for several formats.
var variants = map[string]func(Row) (string, error){
	"immutable_js": func(r Row) (string, error) {
		return byPull(r, map[string]string{"2006": "jest", "2005": "jest_json"})
	},
	"jekyll": func(r Row) (string, error) {
		return byPull(r, map[string]string{"9141": "minitest", "8047": "minitest", "8167": "minitest", "8761": "cucumber", "8771": "cucumber"})
	},
	"next": func(r Row) (string, error) {
		if r.Version == "1.27" {
			return "next_v2", nil
		}
		return "next_v1", nil
	},
	"lighthouse": func(r Row) (string, error) {
		if slices.Contains([]string{"9.5", "10.0", "10.2"}, r.Version) {
			return "lighthouse_mocha", nil
		}
		version, err := strconv.ParseFloat(r.Version, 64)
		switch {
		case err != nil:
			return "", fmt.Errorf("field \"version\" is %q; log_parser lighthouse needs a number there", r.Version)
		case version >= 3:
			return "lighthouse_jest", nil
		}
		return "lighthouse_json", nil
	},
}

// byPull decides by the number of the pull request that ends an instance's id.
func byPull(r Row, names map[string]string) (string, error) {
	number := r.InstanceID[strings.LastIndexByte(r.InstanceID, '-')+1:]
	if name, ok := names[number]; ok {
		return name, nil
	}
	return "", fmt.Errorf("field \"instance_id\" is %q; its log_parser knows only those that end in %s", r.InstanceID, strings.Join(slices.Sorted(maps.Keys(names)), ", "))
}

// Names of all parsers, sorted.
func Names() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for name := range parsers {
			if _, alias := aliases[name]; !alias && !yield(name) {
				return
			}
		}
		for name := range variants {
			if !yield(name) {
				return
			}
		}
	})
}

// ForRepo names the parser for rows of a repository that are older than the
// column log_parser: those of SWE-bench, its multilingual and multimodal sets,
// and SWE-Gym. Everything else is read as pytest's.
func ForRepo(repo string) string {
	if name, ok := repositories[strings.ToLower(repo)]; ok {
		return name
	}
	return "pytest"
}

// repositories in lower case, as some datasets write them.
var repositories = map[string]string{
	"astropy/astropy": "astropy", "django/django": "django", "matplotlib/matplotlib": "matplotlib", "mwaskom/seaborn": "seaborn",
	"psf/requests": "requests", "pydicom/pydicom": "pydicom", "pylint-dev/pylint": "pylint", "scikit-learn/scikit-learn": "scikit",
	"sphinx-doc/sphinx": "sphinx", "sympy/sympy": "sympy",

	"automattic/wp-calypso": "calypso", "chartjs/chart.js": "chart_js", "markedjs/marked": "marked", "processing/p5.js": "p5js",
	"diegomura/react-pdf": "react_pdf", "babel/babel": "jest", "vuejs/core": "vitest", "facebook/docusaurus": "jest",
	"immutable-js/immutable-js": "immutable_js", "mrdoob/three.js": "tap", "preactjs/preact": "karma", "axios/axios": "tap",
	"alibaba-fusion/next": "next", "bpmn-io/bpmn-js": "bpmn_js", "carbon-design-system/carbon": "carbon", "cypress-io/cypress": "cypress",
	"emotion-js/emotion": "emotion", "eslint/eslint": "eslint", "googlechrome/lighthouse": "lighthouse", "grommet/grommet": "grommet",
	"highlightjs/highlight.js": "highlightjs", "openlayers/openlayers": "openlayers", "plotly/plotly.js": "plotly", "prettier/prettier": "prettier",
	"prismjs/prism": "prismjs", "quarto-dev/quarto-cli": "quarto_cli", "scratchfoundation/scratch-gui": "scratch_gui",

	"redis/redis": "redis", "valkey-io/valkey": "redis", "jqlang/jq": "jq", "nlohmann/json": "doctest", "micropython/micropython": "micropython_test", "fmtlib/fmt": "googletest",
	"caddyserver/caddy": "gotest", "hashicorp/terraform": "gotest", "prometheus/prometheus": "gotest", "gohugoio/hugo": "gotest", "gin-gonic/gin": "gotest",
	"google/gson": "maven", "apache/druid": "maven", "javaparser/javaparser": "maven", "projectlombok/lombok": "ant", "apache/lucene": "gradle_custom", "reactivex/rxjava": "gradle_custom",
	"phpoffice/phpspreadsheet": "phpunit", "laravel/framework": "phpunit", "php-cs-fixer/php-cs-fixer": "phpunit", "briannesbitt/carbon": "phpunit",
	"jekyll/jekyll": "jekyll", "fluent/fluentd": "ruby_unit", "faker-ruby/faker": "ruby_unit",
	"fastlane/fastlane": "rspec_transformed_json", "jordansissel/fpm": "rspec_transformed_json", "rubocop/rubocop": "rspec_transformed_json",
	"burntsushi/ripgrep": "cargo", "sharkdp/bat": "cargo", "astral-sh/ruff": "cargo", "tokio-rs/tokio": "cargo", "uutils/coreutils": "cargo", "nushell/nushell": "cargo", "tokio-rs/axum": "cargo",

	"pydantic/pydantic": "swegym_pydantic",
}

// failOnly repositories are graded by eval_type "fail_only" where the row does
// not say: their parsers record failures alone.
var failOnly = []string{"chartjs/chart.js", "processing/p5.js", "markedjs/marked", "bpmn-io/bpmn-js", "openlayers/openlayers", "eslint/eslint"}

// FailOnly reports whether rows of a repository are graded by "fail_only" when
// they do not say how.
func FailOnly(repo string) bool { return slices.Contains(failOnly, strings.ToLower(repo)) }

// forSmith are the repositories of SWE-smith that its own pytest reader does not fit.
var forSmith = map[string]string{
	"gin-gonic/gin": "gotest", "hips/autograd": "swesmith_autograd", "paramiko/paramiko": "swesmith_paramiko",
	"python/mypy": "swesmith_mypy", "tornadoweb/tornado": "swesmith_tornado", "un33k/python-slugify": "swesmith_python_slugify",
}

// ForSmith names the parser for a SWE-smith row, whose tests run verbosely and
// without a summary. The repository is in the id: owner__name.commit.bug.
func ForSmith(instanceID string) string {
	id, _, _ := strings.Cut(instanceID, ".")
	if name, ok := forSmith[strings.ToLower(strings.ReplaceAll(id, "__", "/"))]; ok {
		return name
	}
	return "swesmith_pytest"
}
