package sandbox

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wall are the ways to a time of the wall clock, which may jump. A limit that is a
// difference of two time.Now is not among them: Go takes the monotonic clock then.
var wall = []string{"Unix", "UnixNano", "UnixMilli", "UnixMicro", "Date", "Round", "Truncate", "UTC", "Local", "In", "Parse", "ModTime", "CLOCK_REALTIME", "Gettimeofday", "Time"}

// mayUseWall are the functions that may, and what for.
var mayUseWall = map[string]string{
	"local/wire_linux.go infoOf":  "times of files",
	"local/tar.go unpackFile":     "times of files",
	"local/copy_linux.go data":    "a file's length, no time",
	"docker/images.go Images":     "the time an image was made, to be shown",
	"docker/images.go notePulled": "the time of a pull, to be shown",
	"docker/files.go parseStat":   "times of files",
	"docker/ssh.go sshOptions":    "an address, no time",
	"docker/pending.go awaitOne":  "a wait with a bound of its own, see pendingLeft",
}

// Limits, the owner and the reaper do not depend on the wall clock: a jump of it ends
// no command and makes no living owner a dead one.
func TestNoWallClock(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.go", "local/*.go", "docker/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				sel, ok := call.Fun.(*ast.SelectorExpr)
				if ok && slices.Contains(wall, sel.Sel.Name) && mayUseWall[file+" "+fn.Name.Name] == "" {
					t.Errorf("%s: %s calls %s: say why the wall clock does no harm there, or use time.Since", file, fn.Name.Name, sel.Sel.Name)
				}
				return true
			})
		}
	}
}
