package search

import (
	"path"
	"slices"
	"strings"

	"rollbench/search/source"
)

// largestKept is the size in bytes beyond which only the name of a file is kept.
const largestKept = 8 << 20

// newFile reads a file: source with its entities, other text and what is too long to be
// source as text only, and of what is not text only the name.
func newFile(name, src string, w *words) file {
	const head = 16 << 10
	reason := source.Skip(name, []byte(src[:min(len(src), head)]), int64(len(src)))
	if hasBinaryName(name) || len(src) > largestKept {
		reason = "binary"
	}
	f := file{path: name, test: isTest(name), generated: reason == "generated" || reason == "minified"}
	switch reason {
	case "binary":
		f.unit = &unit{}
	case "huge", "minified":
		f.unit = &unit{src: src}
	default:
		f.unit = newUnit(name, src, w)
	}
	return f
}

// Wanted says whether a file is worth handing to an index, by its path and size alone:
// what holds the file can so leave out what the index would not keep. A file that is
// not wanted may still be added: then only its name is found.
func Wanted(file string, size int64) bool {
	return size <= largestKept && !inHiddenDir(file) && !hasBinaryName(file)
}

// hiddenDirs are directories that hold nothing of the repository itself.
var hiddenDirs = []string{".git", ".hg", ".svn", "node_modules", "__pycache__", ".tox", ".nox", ".venv",
	".mypy_cache", ".pytest_cache", ".ruff_cache", ".eggs"}

// HiddenDirs are the names of directories in which nothing is Wanted: what lists the
// files need not look into them.
func HiddenDirs() []string { return slices.Clone(hiddenDirs) }

func inHiddenDir(file string) bool {
	for dir := range strings.SplitSeq(path.Dir(file), "/") {
		if slices.Contains(hiddenDirs, dir) {
			return true
		}
	}
	return false
}

var binaryExtensions = func() map[string]bool {
	m := map[string]bool{}
	for e := range strings.FieldsSeq(".png .jpg .jpeg .gif .ico .bmp .webp .tif .tiff .pdf " +
		".zip .gz .bz2 .xz .zst .tar .tgz .whl .egg .jar .class .pyc .pyo .pyd .so .a .o " +
		".dll .exe .dylib .wasm .mo .woff .woff2 .ttf .otf .eot .npy .npz .pkl .pickle .db " +
		".sqlite .sqlite3 .fits .h5 .hdf5 .mp3 .mp4 .ogg .wav .avi .mov .webm .bin .dat") {
		m[e] = true
	}
	return m
}()

func hasBinaryName(file string) bool { return binaryExtensions[strings.ToLower(path.Ext(file))] }

// isTest says by path and name whether a file holds tests: in a folder of tests, or
// named as test runners look for them.
func isTest(file string) bool {
	rest := file
	for {
		dir, after, more := strings.Cut(rest, "/")
		if !more {
			break
		}
		switch strings.ToLower(dir) {
		case "test", "tests", "testing", "__tests__", "spec", "specs", "testdata", "unittests":
			return true
		}
		rest = after
	}
	name := strings.ToLower(rest)
	base, _, _ := strings.Cut(name, ".")
	return strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test") ||
		base == "conftest" || base == "tests" || base == "test" ||
		strings.Contains(name, ".test.") || strings.Contains(name, ".spec.") ||
		strings.HasSuffix(rest, "Test.java") || strings.HasSuffix(rest, "Tests.java")
}

// isAside says whether a file stands beside the code that a repository is for: in a
// folder of documentation, examples or measurements.
func isAside(file string) bool {
	dir, _, more := strings.Cut(file, "/")
	if !more {
		return false
	}
	switch strings.ToLower(dir) {
	case "doc", "docs", "example", "examples", "sample", "samples", "demo", "demos", "benchmark", "benchmarks", "bench", "asv_bench", "tutorial", "tutorials":
		return true
	}
	return false
}
