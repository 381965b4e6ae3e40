package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	fenced  = regexp.MustCompile("(?s)```.*?```")
)

// Links between the pages lead to files and headings that are there.
func TestDocsLinks(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatal(pages, err)
	}
	more, err := filepath.Glob("../../docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(append(pages, more...), "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if why := leads(page, m[1]); why != "" {
				t.Errorf("%s links to %s: %s", page, m[1], why)
			}
		}
	}
}

// Pages that are named in the configuration and in what the program prints are
// there, too.
func TestNamedPagesExist(t *testing.T) {
	named := regexp.MustCompile(`\bdocs/[a-z0-9/_-]+\.md\b`)
	for _, pattern := range []string{"../../*.toml", "../../*/*.go", "../../*/*/*.go", "../../docs/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, page := range named.FindAllString(string(text), -1) {
				if _, err := os.Stat("../../" + page); err != nil {
					t.Errorf("%s names %s: %v", file, page, err)
				}
			}
		}
	}
}

// leads says why a link of a page goes nowhere, "" when it does not.
func leads(page, target string) string {
	file, anchor, _ := strings.Cut(target, "#")
	if file == "" {
		file = page
	} else {
		file = filepath.Join(filepath.Dir(page), file)
	}
	if _, err := os.Stat(file); err != nil {
		return "no such file"
	}
	if anchor == "" {
		return ""
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		if slug(m[1]) == anchor {
			return ""
		}
	}
	return "no such heading"
}

// slug is a heading's anchor, as GitHub makes it.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}
