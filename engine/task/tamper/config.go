package tamper

import (
	"regexp"
	"slices"
	"strings"
)

// testConfig says, by the name of a file, what of it decides which tests run and how.
type testConfig struct {
	sections *regexp.Regexp // of them every line; nil: none
	lines    *regexp.Regexp // wherever they stand; nil: none
	whole    bool
}

var (
	all        = testConfig{whole: true}
	testLine   = regexp.MustCompile(`^\s*(addopts|testpaths|python_files|python_classes|python_functions|norecursedirs|pytest_plugins|collect_ignore\w*)\s*=`)
	scriptLine = regexp.MustCompile(`^\s*"(pre|post)?(test[\w:-]*|jest|mocha|vitest)"\s*:`)
	configs    = map[string]testConfig{
		"pytest.ini": all, ".pytest.ini": all, "pytest.toml": all, ".rspec": all, "phpunit.xml": all, "phpunit.xml.dist": all, "noxfile.py": all, ".coveragerc": all,
		"tox.ini":        {sections: regexp.MustCompile(`^\[(pytest|tox|testenv.*)\]`), lines: testLine},
		"setup.cfg":      {sections: regexp.MustCompile(`^\[(tool:pytest|aliases)\]`), lines: testLine},
		"pyproject.toml": {sections: regexp.MustCompile(`^\[tool\.(pytest|tox|coverage|nox)\b.*\]`), lines: testLine},
		"package.json":   {lines: scriptLine},
	}
	jsConfig = regexp.MustCompile(`^(jest|vitest|karma|mocha)\.(config|conf|setup)\.\w+$|^\.mocharc(\.\w+)?$`)
)

// configured are the lines of a text that decide about tests. A hunk shows few lines
// around a change: one whose section is out of sight counts by its words alone.
func configured(base, text string) string {
	c, known := configs[base]
	if !known && !jsConfig.MatchString(base) {
		return ""
	}
	if !known || c.whole {
		return text
	}
	var found []string
	within := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if c.sections != nil && strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			within = c.sections.MatchString(line)
		}
		if within && line != "" || c.lines != nil && c.lines.MatchString(line) {
			found = append(found, line)
		}
	}
	return strings.Join(slices.Clip(found), "\n")
}
