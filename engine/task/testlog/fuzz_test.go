package testlog

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// distinct are the parsers without those that are others by another name.
func distinct() map[string]func(string) Results {
	some := maps.Clone(parsers)
	for alias := range aliases {
		delete(some, alias)
	}
	for _, same := range strings.Fields("astroid flask marshmallow pvlib pyvista sqlfluff xarray pydicom requests pylint astropy scikit sphinx react_pdf prettier scratch_gui lighthouse_jest") {
		delete(some, same)
	}
	return some
}

// No log makes a parser panic, names what is no status, or gives a name with a
// line end; and a grade always says why in one line.
func FuzzParsers(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal(err, files)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(0), string(data[max(0, len(data)-800):]))
	}
	for _, log := range []string{"<a><a></a>", "</a><a>x<b></a></b>", "{\n[\n}\n]", " xvfb-run \n  a\n ✓", "+ " + prismCommand + "{}", "[smoke] /tmp/a/", "running 1 test files 2 passing", "<doctest><TestCase><SubCase></SubCase></TestCase></doctest>", ") 1)", "1):", "\xff ... ok"} {
		f.Add(uint8(0), log)
	}
	all := distinct()
	names := slices.Sorted(maps.Keys(all))
	f.Fuzz(func(t *testing.T, which uint8, log string) {
		some := names // one at a time is faster
		if which > 0 {
			some = names[int(which)%len(names):][:1]
		}
		for _, name := range some {
			read := all[name]
			p := Parser{Name: name, read: read}
			for test, s := range p.Parse(log) {
				if !isStatus(string(s)) || strings.Contains(test, "\r") {
					t.Errorf("%s: %q is %q", name, test, s)
				}
			}
			r := Rules{FailToPass: []string{"a[", "b"}, PassToPass: []string{"c"}, Parser: p}
			if g := r.Grade(evaluated(log, "0")); g.Broken || g.Note == "" && utf8.ValidString(log) || strings.Contains(g.Note, "\n") {
				t.Errorf("%s: %+v", name, g)
			}
		}
		if _, note := (Expected{"a": "PASSED"}).Match(R2E(log)); note == "" {
			t.Error("no note")
		}
	})
}

// hostile are logs on which a careless reader takes quadratic time.
func hostile(size int) map[string]string {
	rep := func(s string) string { return strings.Repeat(s, size/len(s)) }
	return map[string]string{
		"one line":          rep("x"),
		"status line":       "FAILED " + rep("a - "),
		"pass line":         "PASSED t::a[" + rep("b "),
		"brackets":          rep("["),
		"blanks":            rep(" "),
		"line ends":         rep("\n"),
		"returns":           rep("\r"),
		"numbers":           rep("  1) a\n"),
		"numbers, no error": "  1)" + rep(" x\n"),
		"errors":            rep("  1) a Error"),
		"headings":          rep(" a\n"),
		"deeper headings":   deepening(size),
		"open tags":         rep("<a>"),
		"tags":              rep("<a>") + "</a>",
		"nested tags":       strings.Repeat("<a>", size/7) + strings.Repeat("</a>", size/7),
		"xml":               "<doctest><TestCase name='x'>" + strings.Repeat("<SubCase name='a'>", size/32) + strings.Repeat("</SubCase>", size/32) + "</TestCase></doctest>",
		"xml attributes":    "<doctest " + rep("a='' "),
		"json":              prismCommand + rep("{"),
		"dots":              "a ... " + rep(" ... "),
		"django":            rep("a ... Testing against Django installed in b\n"),
		"django noise":      rep("a ... Testing against Django installed in b silenced).\nok\n"),
		"oks":               "a ... \n" + rep("ok\n"),
		"temps":             rep("[smoke] /tmp/a/b/\n"),
		"runs":              rep(" xvfb-run "),
		"assertions":        rep("AssertionError: #"),
		"chrome":            rep("Chrome 1.1 (a) ") + "FAILED",
		"gtest":             rep("[ OK ] ("),
		"maven":             rep("-Dtest=a "),
		"escapes":           rep("\x1b["),
		"passing":           rep("1 passing"),
		"suites":            "Test Suites: " + rep("1 a, "),
		"jest":              "✓ " + rep("(1 ms) "),
		"minitest":          rep(". =."),
		"underscores":       rep("_ a.py:b "),
	}
}

func deepening(size int) string {
	var b strings.Builder
	for indent := 1; b.Len() < size; indent++ {
		b.WriteString(strings.Repeat(" ", indent%2000))
		b.WriteString("a\n")
	}
	return b.String()
}

// BenchmarkHostile gives the time and memory for 10 MB of each hostile log with
// every parser.
func BenchmarkHostile(b *testing.B) {
	logs := hostile(10 << 20)
	for name, log := range logs {
		for parser, read := range distinct() {
			b.Run(strings.ReplaceAll(name, " ", "_")+"/"+parser, func(b *testing.B) {
				b.SetBytes(int64(len(log)))
				b.ReportAllocs()
				for b.Loop() {
					Parser{read: read}.Parse(log)
				}
			})
		}
	}
}

// Every hostile log is read, and the results it gives are no more than its lines.
func TestHostile(t *testing.T) {
	for name, log := range hostile(4 << 10) {
		for parser, read := range distinct() {
			found := Parser{read: read}.Parse(log)
			if most := 2 + strings.Count(log, "\n") + strings.Count(log, "\r") + strings.Count(log, "<SubCase"); len(found) > most {
				t.Errorf("%s, %s: %d results", name, parser, len(found))
			}
		}
	}
}

// BenchmarkGrade is an evaluation of 100,000 tests: the log of a big suite.
func BenchmarkGrade(b *testing.B) {
	var log strings.Builder
	var names []string
	for i := range 100_000 {
		name := "tests/test_module_" + itoa(i/100) + ".py::test_case[" + itoa(i) + "]"
		log.WriteString("PASSED " + name + "\n")
		names = append(names, name)
	}
	text := evaluated(log.String(), "0")
	r := Rules{FailToPass: names[:10], PassToPass: names[10:], Parser: parser(b, "pytest")}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if !r.Grade(text).Resolved() {
			b.Fatal("not resolved")
		}
	}
}
