package task

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// ignoreFile is left to whoever sends a build its files: the engine takes all that
// it gets (it only drops this file and the Dockerfile, where they are named in it).
const ignoreFile = ".dockerignore"

// ignoreRule is one line of it. The last rule that matches a file, or a folder that
// it is in, decides.
type ignoreRule struct {
	match *regexp.Regexp
	keep  bool // of a line that begins with !
}

type ignoreRules []ignoreRule

// readIgnore of a folder, none where it has no such file.
func readIgnore(root fs.FS) (ignoreRules, error) {
	text, err := fs.ReadFile(root, ignoreFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rules, err := parseIgnore(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ignoreFile, err)
	}
	return rules, nil
}

// parseIgnore reads patterns as docker build does
// (docs.docker.com/build/concepts/context, "dockerignore files").
func parseIgnore(text string) (ignoreRules, error) {
	var rules ignoreRules
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		n++
		if strings.HasPrefix(line, "#") {
			continue
		}
		pattern, keep := strings.CutPrefix(strings.TrimSpace(line), "!")
		if pattern = strings.TrimSpace(pattern); pattern == "" {
			continue
		}
		if pattern = strings.TrimPrefix(path.Clean(pattern), "/"); pattern == "" || pattern == "." {
			continue // the folder itself
		}
		match, err := ignorePattern(pattern)
		if err != nil {
			return nil, fmt.Errorf("line %d: the pattern %q cannot be read", n, pattern)
		}
		rules = append(rules, ignoreRule{match, keep})
	}
	return rules, nil
}

// ignorePattern as a regular expression: * and ? stay within a name, ** does not.
func ignorePattern(pattern string) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch c := pattern[i]; {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString("(.*/)?")
			i += 2
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '[' || c == ']': // a class is written as in a regular expression
			b.WriteByte(c)
		case c == '\\':
			if i++; i == len(pattern) {
				return nil, path.ErrBadPattern
			}
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		case c == '-' || c == '^' && strings.HasSuffix(pattern[:i], "["): // of a class
			b.WriteByte(c)
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	return regexp.Compile(b.String() + `\z`)
}

// drops reports whether a file is kept from a build.
func (r ignoreRules) drops(file string) bool {
	dropped := false
	for _, rule := range r {
		for name := file; name != "."; name = path.Dir(name) {
			if rule.match.MatchString(name) {
				dropped = !rule.keep
				break
			}
		}
	}
	return dropped
}
