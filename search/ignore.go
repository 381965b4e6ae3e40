package search

import (
	"path"
	"strings"
)

// ignore holds the rules of .gitignore files.
type ignore struct {
	rules map[string][]ignoreRule // by the directory that holds the file, "" at the top
}

type ignoreRule struct {
	pattern  string // without the slashes at both ends
	anchored bool   // matches from the directory of its file only
	dirOnly  bool
	negated  bool
}

func newIgnore(files []File) ignore {
	ig := ignore{rules: map[string][]ignoreRule{}}
	for _, f := range files {
		if path.Base(f.Path) != ".gitignore" {
			continue
		}
		dir := path.Dir(f.Path)
		if dir == "." {
			dir = ""
		}
		ig.rules[dir] = parseIgnore(string(f.Content))
	}
	return ig
}

func parseIgnore(text string) []ignoreRule {
	var rules []ignoreRule
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if trimmed := strings.TrimRight(line, " "); !strings.HasSuffix(trimmed, `\`) {
			line = trimmed
		}
		if line == "" || line[0] == '#' {
			continue
		}
		var r ignoreRule
		if line[0] == '!' {
			r.negated, line = true, line[1:]
		}
		line = strings.TrimPrefix(line, `\`)
		line, r.dirOnly = strings.CutSuffix(line, "/")
		r.anchored = strings.Contains(line, "/")
		r.pattern = strings.TrimPrefix(line, "/")
		if r.pattern != "" {
			rules = append(rules, r)
		}
	}
	return rules
}

// match says whether the file, or a directory it is in, is ignored. As in git nothing
// below an ignored directory can be taken back in. A .gitignore file is not ignored by
// itself: an index that comes from disk has to have the rules.
func (ig ignore) match(file string) bool {
	if len(ig.rules) == 0 {
		return false
	}
	for i := 0; i < len(file); i++ {
		if file[i] == '/' && ig.one(file[:i], true) {
			return true
		}
	}
	return path.Base(file) != ".gitignore" && ig.one(file, false)
}

// one judges a path by itself: the last rule that matches, nearest directory last.
func (ig ignore) one(name string, isDir bool) bool {
	ignored := ig.apply("", name, isDir, false)
	for i := 0; i < len(name); i++ {
		if name[i] == '/' {
			ignored = ig.apply(name[:i], name[i+1:], isDir, ignored)
		}
	}
	return ignored
}

// apply judges by the rules of the directory dir; rest is the path below it.
func (ig ignore) apply(dir, rest string, isDir, ignored bool) bool {
	for _, r := range ig.rules[dir] {
		if r.dirOnly && !isDir {
			continue
		}
		subject := rest
		if !r.anchored {
			subject = path.Base(rest)
		}
		if globMatch(r.pattern, subject) {
			ignored = !r.negated
		}
	}
	return ignored
}
