package names

import (
	"errors"
	"testing"
)

func TestClean(t *testing.T) {
	for name, want := range map[string]string{
		"a":        "a",
		"a/b.txt":  "a/b.txt",
		"a//b":     "a/b",
		"./a/./b/": "a/b",
		`a\b`:      "a/b",
	} {
		if got, err := Clean(name); err != nil || got != want {
			t.Errorf("Clean(%q) is %q, %v; want %q", name, got, err, want)
		}
	}
}

func TestCleanRefuses(t *testing.T) {
	for _, name := range []string{"", "/etc/passwd", "../a"} {
		if got, err := Clean(name); !errors.Is(err, ErrBad) {
			t.Errorf("Clean(%q) is %q, %v", name, got, err)
		}
	}
}

func TestWithin(t *testing.T) {
	if !Within("src/a.go", "src") || Within("doc/a.md", "src") || !Within("a", "") {
		t.Error("wrong")
	}
}
