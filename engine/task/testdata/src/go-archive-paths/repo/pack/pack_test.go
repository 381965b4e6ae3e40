package pack

import (
	"strings"
	"testing"

	"example.invalid/bundle/tree"
)

func TestRoundTrip(t *testing.T) {
	var tr tree.Tree
	for name, data := range map[string]string{"a/b": "one\ntwo\n", "c d": "", "e": "file 3 \"x\"\n"} {
		if err := tr.Put(name, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	packed := Write(&tr)
	back, err := Read(packed)
	if err != nil {
		t.Fatal(err)
	}
	if string(Write(back)) != string(packed) {
		t.Error("another tree came back")
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"file":                             "no end of line",
		"fil 1 \"a\"\nx\n":                 "expected",
		"file x \"a\"\nx\n":                "not a number",
		"file 1 a\nx\n":                    "not quoted",
		"file 9 \"a\"\nx\n":                "does not have 9 bytes",
		"file 0 \"/a\"\n\n":                "absolute",
		"file 0 \"a\"\n\nfile 0 \"a\"\n\n": "entry 2: \"a\" comes twice",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
