package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// floors says, for each package, which of ours it may import (design: nothing
// imports upward) and which third-party modules it alone may use.
var floors = map[string][]string{
	".":                       {"ui/cli"},
	"ui/cli":                  {"*"},
	"ui":                      {"engine", "engine/infer", "search", "sessions", "sessions/compare", "sessions/stats", "ui/quiet", "ui/replay"},
	"ui/quiet":                {},
	"ui/replay":               {"engine", "engine/infer", "sessions", "sessions/stats"},
	"engine":                  {"engine/agent", "engine/breaks", "engine/calls", "engine/dispatch", "engine/infer", "engine/task", "tools", "tools/follow", "tools/mcp", "sandbox", "sandbox/pool", "search", "sessions", "sessions/stats"},
	"engine/agent":            {"engine/breaks", "engine/calls", "engine/infer", "tools", "sandbox", "sessions"},
	"engine/breaks":           {"sessions", "tools"},
	"engine/calls":            {},
	"engine/dispatch":         {},
	"engine/infer":            {},
	"engine/infer/simulated":  {"engine/infer"},
	"engine/task":             {"engine/task/answer", "engine/task/compose", "engine/task/rows", "engine/task/tamper", "engine/task/testlog", "sandbox"},
	"engine/task/answer":      {},
	"engine/task/compose":     {},
	"engine/task/rows":        {},
	"engine/task/tamper":      {},
	"engine/task/testlog":     {},
	"tools":                   {"sandbox", "search", "tools/follow", "tools/mcp"},
	"tools/follow":            {"sandbox", "search"},
	"tools/mcp":               {},
	"sessions":                {},
	"sessions/compare":        {"sessions", "sessions/stats"},
	"sessions/export":         {"sessions", "sessions/export/parquet", "sessions/stats"},
	"sessions/export/parquet": {},
	"sessions/stats":          {"sessions"},
	"sandbox":                 {},
	"sandbox/docker":          {"sandbox"},
	"sandbox/local":           {"sandbox"},
	"sandbox/pool":            {"sandbox"},
	"sandbox/sandboxtest":     {"sandbox"},
	"search":                  {"search/source"},
	"search/source":           {},
}

// owners names the only packages that may import a module.
var owners = map[string][]string{
	"github.com/charmbracelet/":        {"ui"},
	"github.com/docker/":               {"sandbox/docker"},
	"github.com/spf13/cobra":           {"ui/cli"},
	"github.com/BurntSushi/toml":       {"ui/cli", "engine/task"},
	"modernc.org/sqlite":               {"sessions"},
	"github.com/parquet-go/":           {"engine/task/rows"},
	"go.yaml.in/yaml":                  {"engine/task", "engine/task/compose"},
	"github.com/modelcontextprotocol/": {"tools/mcp"},
}

// Test files may reach down further than the code they test, never up.
func TestFloors(t *testing.T) {
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && file != "." || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		checkImports(t, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkImports(t *testing.T, file string) {
	pkg := path.Dir(filepath.ToSlash(file))
	allowed, known := floors[pkg]
	if !known {
		t.Errorf("%s: package %q has no floor; give it one in floors_test.go", file, pkg)
		return
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Error(err)
		return
	}
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Error(err)
			continue
		}
		if ours, ok := strings.CutPrefix(imported, "rollbench/"); ok && !permits(allowed, ours) {
			t.Errorf("%s imports %s: the floor of %q allows only %v", file, ours, pkg, allowed)
		}
		for module, who := range owners {
			if strings.HasPrefix(imported, module) && !permits(who, pkg) {
				t.Errorf("%s imports %s: only %v may", file, imported, who)
			}
		}
	}
}

func permits(allowed []string, pkg string) bool {
	for _, a := range allowed {
		if a == "*" || a == pkg {
			return true
		}
	}
	return false
}
