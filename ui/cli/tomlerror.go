package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

// The decoder's own words for a value of the wrong type: where it is, what was found,
// what was wanted.
var (
	typeError    = regexp.MustCompile(`^toml: (?:line (\d+) )?\(last key "([^"]*)"\): (.*)$`)
	incompatible = regexp.MustCompile(`^incompatible types: TOML value has type (.+); destination has type (.+)$`)
	mismatched   = regexp.MustCompile(`^type mismatch for .+: expected (.+) but found (.+)$`)
	outOfRange   = regexp.MustCompile(`^(.+) is out of range for .+$`)
)

// found and wanted are the decoder's names of types, as a person who writes TOML knows
// them.
var (
	found = map[string]string{"string": "a text", "int64": "a whole number", "float64": "a number with a fraction", "bool": "true or false", "time.Time": "a date",
		"[]any": "a list", "[]interface {}": "a list", "map[string]any": "a table", "map[string]interface {}": "a table", "[]map[string]any": "a list of tables", "[]map[string]interface {}": "a list of tables"}
	wanted = map[string]string{"string": `a text in quotes, as "x"`, "integer": "a whole number, as 8", "float": "a number, as 0.5", "float64": "a number, as 0.5", "float32": "a number, as 0.5",
		"boolean": "true or false", "bool": "true or false", "slice": `a list, as ["x"] (of tables: [[KEY]])`, "array": `a list, as ["x"]`, "table": "a table, as {key = 1}", "map": "a table, as {key = 1}", "struct": "a table, as {key = 1}",
		"primitive (string-like)": `a duration, as "90s"`, "int64": "a whole number, as 8", "map[string]any": "a table, as {key = 1}"}
)

// placed is a decoder's error with its place, line and key, without a word of Go.
func placed(err error, place, text string) error {
	m := typeError.FindStringSubmatch(err.Error())
	if m == nil {
		return fmt.Errorf("%s: %s", place, strings.TrimPrefix(err.Error(), "toml: "))
	}
	line, key, said := m[1], m[2], plainType(m[3], m[2])
	switch {
	case strings.HasPrefix(place, "--set"):
		return fmt.Errorf("%s: %s", place, said)
	case line == "":
		return fmt.Errorf("%s: %s: %s", onLine(place, lineOf(text, toml.Key(strings.Split(key, ".")))), key, said)
	}
	return fmt.Errorf("%s:%s: %s: %s", place, line, key, said)
}

// plainType says what a key is and what it has to be. Texts that are no errors of types
// stay as they are.
func plainType(said, key string) string {
	if m := incompatible.FindStringSubmatch(said); m != nil {
		return isMustBe(m[1], m[2], key)
	}
	if m := mismatched.FindStringSubmatch(said); m != nil {
		return isMustBe(m[2], m[1], key)
	}
	if m := outOfRange.FindStringSubmatch(said); m != nil {
		return m[1] + " is too large a number"
	}
	return said
}

func isMustBe(is, must, key string) string {
	was, known := found[is]
	if !known {
		was = "something else"
	}
	want, known := wanted[must]
	if !known {
		want = "of another kind: docs/config.md shows it"
	}
	return fmt.Sprintf("it is %s and must be %s", was, strings.ReplaceAll(want, "KEY", key))
}
