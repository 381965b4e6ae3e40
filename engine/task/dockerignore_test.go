package task

import (
	"strings"
	"testing"
	"testing/fstest"
)

// The examples of docker's documentation of .dockerignore, and what they say of them.
func TestDockerignore(t *testing.T) {
	for _, c := range []struct{ rules, dropped, kept string }{
		{"# comment\n*/temp*\n*/*/temp*\ntemp?\n", "somedir/temporary.txt somedir/temp somedir/temp/x somedir/subdir/temporary.txt tempa tempb tempa/x", "temp temporary.txt a/b/c/temp x"},
		{"**/*.go\n", "a.go b/a.go b/c/a.go", "a.gox go"},
		{"*.md\n!README.md\n", "a.md", "README.md b/a.md"},
		{"*.md\n!README*.md\nREADME-secret.md\n", "a.md README-secret.md", "README.md README-x.md"},
		{"*.md\nREADME-secret.md\n!README*.md\n", "a.md", "README-secret.md README.md"},
		{"/foo/bar\n foo/baz/ \n", "foo/bar foo/bar/x foo/baz/x", "foo/x bar x/foo/bar"},
		{"*\n!src\n", "a b/c", "src/x src/y/z"},
		{"a/**\n", "a/b a/b/c", "a b"},
		{"**/foo/*.c", "foo/x.c a/foo/x.c", "foo/a/x.c"},
		{"[a-c]x\n[^a]y\n\\!z\na+b\n", "bx by !z a+b", "dx ay z aab"},
		{".\n/\n\n!\n", "", "a b/c"},
	} {
		rules, err := parseIgnore(c.rules)
		if err != nil {
			t.Fatal(c.rules, err)
		}
		for _, file := range strings.Fields(c.dropped) {
			if !rules.drops(file) {
				t.Errorf("%q keeps %s", c.rules, file)
			}
		}
		for _, file := range strings.Fields(c.kept) {
			if rules.drops(file) {
				t.Errorf("%q drops %s", c.rules, file)
			}
		}
	}
	for _, bad := range []string{"a\n[b\n", "x\n" + `a\`} {
		if _, err := parseIgnore(bad); err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// The name of a build follows what is sent, and nothing else.
func TestEnvironmentTag(t *testing.T) {
	dir := func(change func(m fstest.MapFS)) fstest.MapFS {
		m := fstest.MapFS{"Dockerfile": {Data: []byte("FROM x\n")}, ".dockerignore": {Data: []byte("notes\n")}, "notes/a": {Data: []byte("1")}, "lib/a": {Data: []byte("1")},
			"link": {Data: []byte("lib/a"), Mode: 0o120777}}
		if change != nil {
			change(m)
		}
		return m
	}
	tag := func(m fstest.MapFS, args map[string]string) string {
		got, err := environmentTag("My Task", m, args)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := tag(dir(nil), nil)
	if !strings.HasPrefix(first, "rollbench/env-my-task:") || len(first) != len("rollbench/env-my-task:")+12 {
		t.Error(first)
	}
	if other := tag(dir(func(m fstest.MapFS) { m["notes/a"] = &fstest.MapFile{Data: []byte("2")} }), nil); other != first {
		t.Error("an ignored file makes another image")
	}
	for name, change := range map[string]func(m fstest.MapFS){
		"content": func(m fstest.MapFS) { m["lib/a"] = &fstest.MapFile{Data: []byte("2")} },
		"name":    func(m fstest.MapFS) { delete(m, "lib/a"); m["lib/b"] = &fstest.MapFile{Data: []byte("1")} },
		"mode":    func(m fstest.MapFS) { m["lib/a"] = &fstest.MapFile{Data: []byte("1"), Mode: 0o755} },
		"link":    func(m fstest.MapFS) { m["link"] = &fstest.MapFile{Data: []byte("lib/b"), Mode: 0o120777} },
		"file":    func(m fstest.MapFS) { m["link"] = &fstest.MapFile{Data: []byte("lib/a")} },
		"ignore":  func(m fstest.MapFS) { m[".dockerignore"] = &fstest.MapFile{Data: []byte("other\n")} },
	} {
		if tag(dir(change), nil) == first {
			t.Errorf("another %s makes no other image", name)
		}
	}
	if tag(dir(nil), map[string]string{"BASE": "a"}) == first {
		t.Error("build arguments make no other image")
	}
}

func FuzzDockerignore(f *testing.F) {
	f.Add("*/temp*\n!a\n**/x[a-z]?\\\\\n", "a/temp/x")
	f.Fuzz(func(t *testing.T, text, file string) {
		rules, err := parseIgnore(text)
		if err == nil && file != "" && file[0] != '/' {
			rules.drops(file)
		}
	})
}
