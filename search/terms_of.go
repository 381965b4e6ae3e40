package search

import (
	"strings"
)

// form is how a term of a query is to be taken.
type form uint8

const (
	formName form = iota
	formGlob
	formPath
	formRelation
	formText
)

// asked is a term taken apart.
type asked struct {
	form     form
	raw      string
	relation string // "callers", …
	file     string // path before the colon, or a path by itself
	name     string // dotted
	kind     string // "class" or "function" when the term begins with class or def
}

// relations are the words before the colon of a relation.
var relations = []string{"callers", "calls", "subclasses", "bases", "overrides", "overridden", "importers", "imports", "members", "tests"}

// parseTerm takes a term apart by its form.
func parseTerm(raw string) asked {
	t := strings.TrimSpace(raw)
	a := asked{raw: t, form: formText}
	t = strings.Trim(t, "`\"'")
	if word, rest, ok := strings.Cut(t, ":"); ok && isRelation(word) && strings.TrimSpace(rest) != "" {
		a = parseTerm(rest)
		a.raw, a.relation, a.form = strings.TrimSpace(raw), strings.ToLower(word), formRelation
		return a
	}
	t, a.kind = cutKeyword(t)
	t = strings.TrimSuffix(t, "()")
	switch file, name, ok := cutPath(t); {
	case t == "" || strings.ContainsAny(t, " \t\n"):
		a.kind = ""
	case ok && isDotted(name):
		a.form, a.file, a.name = formName, file, name
	case isGlob(t) && isNameGlob(t):
		a.form, a.name = formGlob, t
	case isGlob(t) && !strings.ContainsAny(t, "()="):
		a.form, a.file = formPath, t
	case looksLikePath(t):
		a.form, a.file = formPath, cleanPath(t)
	case isDotted(t):
		a.form, a.name = formName, strings.Trim(t, ".")
	}
	return a
}

func isRelation(word string) bool {
	for _, r := range relations {
		if strings.EqualFold(r, strings.TrimSpace(word)) {
			return true
		}
	}
	return false
}

// cutKeyword cuts the keyword of a definition, and what follows its name.
func cutKeyword(t string) (rest, kind string) {
	for _, k := range [...]struct{ word, kind string }{{"async def ", "function"}, {"def ", "function"}, {"func ", "function"}, {"class ", "class"}} {
		if after, ok := strings.CutPrefix(t, k.word); ok {
			name, _, _ := strings.Cut(after, "(")
			name = strings.TrimRight(strings.TrimSpace(name), ":")
			if isDotted(name) {
				return name, k.kind
			}
		}
	}
	return t, ""
}

// cutPath splits "path.py:Class.method", also with two colons.
func cutPath(t string) (file, name string, ok bool) {
	file, name, ok = strings.Cut(t, ":")
	name = strings.TrimPrefix(name, ":")
	name = strings.ReplaceAll(name, "::", ".")
	return cleanPath(file), strings.TrimSuffix(name, "()"), ok && file != "" && name != ""
}

func cleanPath(p string) string {
	p = strings.TrimPrefix(p, "./")
	return strings.Trim(p, "/")
}

// isDotted says whether t is names joined by dots.
func isDotted(t string) bool {
	letters := false
	for i := 0; i < len(t); i++ {
		switch byteClass[t[i]] {
		case byteOther:
			if t[i] != '.' {
				return false
			}
		default:
			letters = true
		}
	}
	return letters
}

func isNameGlob(t string) bool {
	return !strings.Contains(t, "/") && !strings.ContainsAny(t, "()=,: ") && !hasExtension(strings.TrimLeft(t, "*"))
}

// looksLikePath says whether t can only be meant as a file or directory.
func looksLikePath(t string) bool {
	return strings.Contains(t, "/") && !strings.ContainsAny(t, "()=<>\"' ") || hasExtension(t)
}

var sourceExtensions = map[string]bool{
	"py": true, "pyi": true, "go": true, "js": true, "ts": true, "tsx": true, "jsx": true, "java": true, "rs": true,
	"c": true, "h": true, "cc": true, "cpp": true, "hpp": true, "toml": true, "cfg": true, "ini": true, "md": true,
	"rst": true, "txt": true, "json": true, "yml": true, "yaml": true, "html": true, "css": true, "sh": true,
}

func hasExtension(t string) bool {
	i := strings.LastIndexByte(t, '.')
	return i > 0 && sourceExtensions[strings.ToLower(t[i+1:])]
}
