package rows

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// places of rows and errors, in a word each.
func places(t testing.TB, table Table) []string {
	t.Helper()
	var out []string
	for row, err := range table.All() {
		if err != nil {
			out = append(out, "! "+err.Error())
			continue
		}
		id, err := row.Label("id")
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, row.Place+" "+id)
	}
	return out
}

func TestJSONShapes(t *testing.T) {
	for text, want := range map[string][]string{
		"{\"id\":1}\n\n{\"id\":\"b\"}\r\n":             {"line 1 1", "line 3 b"},
		"\xef\xbb\xbf{\"id\":1}\n{\"id\":2}":           {"line 1 1", "line 2 2"},
		"{\"id\":1}":                                   {"line 1 1"},
		"\n {\"id\":1}\n\n":                            {"line 2 1"},
		"{\n \"id\": 1\n}\n":                           {"row 1 1"},
		"[{\"id\":1},\n{\"id\":2}]":                    {"row 1 1", "row 2 2"},
		"{\"x\":{\"id\":1},\"a\":{\"id\":2}}":          {"line 1 "}, // a row whose fields are objects
		"{\"id\":1}\n{\"id\":\n{\"id\":3}\n[4]\n":      {"line 1 1", "! line 2: broken JSON at byte 6: it is cut there", "line 3 3", "! line 4: a list stands where a row (an object) must be"},
		"{\"id\":1,}\n{\"id\":2}\n":                    {"! line 1: broken JSON at byte 9: invalid character '}' looking for beginning of object key string", "line 2 2"},
		"{\"id\":1} {\"id\":2}\n{\"id\":3}\n":          {"! line 1: 8 bytes stand behind the row", "line 2 3"},
		"{\"id\":\"caf\xe9\"}\n{\"id\":2}\n":           {"! line 1: it is not UTF-8, as JSON must be", "line 2 2"},
		`{"id":"caf\udce9"}`:                           {`! line 1: it holds \udce9, half of a character, and no text holds that`},
		`{"id":"\ud83d\ude00\\udce9\u00e9"}`:           {"line 1 😀\\udce9é"},
		`{"id":"\ud83d\ud83d\ude00"}`:                  {`! line 1: it holds \ud83d, half of a character, and no text holds that`},
		"[1]":                                          {"! row 1: a number stands where a row (an object) must be"},
		"[]":                                           {"! the file holds no rows"},
		" \n":                                          {"! the file is empty; it must hold a JSON row a line"},
		"[{\"id\":1},\n{]":                             {"! line 2: broken JSON: invalid character ']' looking for beginning of object key string"},
		"version https://git-lfs.github.com/spec/v1\n": {"! it is a pointer of Git LFS and not the data: run git lfs pull in its repository"},
		"id,name\n":                                    {"! line 1: not a JSON row; give rows as .jsonl, .json or .parquet, or a folder of tasks"},
	} {
		dir := write(t, map[string]string{"a.jsonl": text})
		if got := places(t, Table{Files: []string{filepath.Join(dir, "a.jsonl")}}); !slices.Equal(got, want) {
			t.Errorf("%q:\ngot  %q\nwant %q", text, got, want)
		}
	}
}

// In a document an object of objects is rows by id.
func TestRowsByID(t *testing.T) {
	dir := write(t, map[string]string{"a.json": `{"x":{"id":1},"a":{"id":2}}`, "b.json": `{"id":1}`})
	for file, want := range map[string][]string{"a.json": {`row "a" 2`, `row "x" 1`}, "b.json": {"row 1 1"}} {
		if got := places(t, Table{Files: []string{filepath.Join(dir, file)}}); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
}

// A field that is wrong says which it is and what it must be.
func TestFields(t *testing.T) {
	fields, err := parseObject([]byte(`{"s":"x","n":12,"f":1.5,"b":true,"l":["a",1],"j":"[\"a\"]","o":{"deep":3},"q":"{\"k\":\"v\"}","null":null,"blank":" ","big":1e999}`))
	if err != nil {
		t.Fatal(err)
	}
	r := New("here", fields)
	second := func(_ any, err error) error { return err }
	third := func(_, _ any, err error) error { return err }
	names := func(name string) error { _, _, err := r.Names(name); return err }
	object := func(name string) (Row, error) { o, _, err := r.Object(name); return o, err }
	inner, err := object("o")
	if err != nil {
		t.Fatal(err)
	}
	for want, err := range map[string]error{
		`field "n" is a number; it must be a string`:   second(r.Text("n")),
		`field "o.deep" is a number; it must be a str`: second(inner.Text("deep")),
		`field "f" is a number; it must be a string`:   second(r.Label("f")),
		`field "none" is missing; all need it`:         second(r.Need("none", "all need it")),
		`field "null" is missing; all need it`:         second(r.Need("null", "all need it")),
		`field "blank" is empty; all need it`:          second(r.Need("blank", "all need it")),
		`field "s" is a string; it must be a number`:   third(first3(r.Number("s"))),
		`field "big" is 1e999, which is out of range`:  third(first3(r.Number("big"))),
		`or one written as a JSON string; its item 2 `: names("l"),
		`field "s" must be a list of strings, or one`:  names("s"),
		`field "s" is a string; it must be an object`:  second(object("s")),
	} {
		if err == nil || !strings.HasPrefix(err.Error()+"…", want) && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	list, given, err := r.Names("j")
	if !given || err != nil || !slices.Equal(list, []string{"a"}) {
		t.Errorf("%q %v %v", list, given, err)
	}
	if q, err := object("q"); err != nil || q.Value("k") != "v" {
		t.Errorf("%v %v", q, err)
	}
	if n, err := r.Label("n"); n != "12" || err != nil {
		t.Errorf("%q %v", n, err)
	}
}

func first3(a float64, b bool, err error) (any, any, error) { return a, b, err }

func TestSplitsAndShards(t *testing.T) {
	row := func(id string) string { return `{"id":"` + id + `","split":"` + id[:1] + `"}` + "\n" }
	dir := write(t, map[string]string{
		"splits/data/train-00000-of-00001.jsonl":     row("a"),
		"splits/data/test-00000-of-00002-0aff.jsonl": row("b"),
		"splits/data/test-00001-of-00002-beef.jsonl": row("c"),
		"splits/dataset_infos.json":                  "{}",
		"cut/test-00000-of-00003.jsonl":              row("a"),
		"cut/test-00002-of-00003.jsonl":              row("b"),
		"parts/one.jsonl":                            row("x1") + row("y2"),
		"parts/two.jsonl":                            row("x3"),
		"one/test.jsonl":                             row("t1"),
		"plain/rows.jsonl":                           `{"id":"1"}` + "\n",
		"[odd]/a.jsonl":                              row("o"),
		"empty/README.md":                            "x",
	})
	for _, c := range []struct {
		path, split string
		want        []string
	}{
		{"splits", "train", []string{"line a"}},
		{"splits", "TEST", []string{"test-00000-of-00002-0aff.jsonl line 1 b", "test-00001-of-00002-beef.jsonl line 1 c"}},
		{"splits", "", []string{"! it holds several splits: test, train; choose one with --split"}},
		{"splits", "dev", []string{`! no file is of split "dev"; there are: test, train`}},
		{"cut", "", []string{"! shard 00001 of test-…-of-00003 is missing: it has 2 of 3"}},
		{"parts", "", []string{"one.jsonl line 1 x1", "one.jsonl line 2 y2", "two.jsonl line 1 x3"}},
		{"parts", "x", []string{"one.jsonl line 1 x1", "two.jsonl line 1 x3"}},
		{"parts/one.jsonl", "y", []string{"line 2 y2"}},
		{"parts", "z", []string{`! no row is of split "z"`}},
		{"one/test.jsonl", "test", []string{"line 1 t1"}},
		{"plain", "test", []string{`! split "test": neither a file's name nor a column "split" says which rows are of it`}},
		{"[odd]", "", []string{"line 1 o"}},
		{"empty", "", []string{"! " + ErrNoTable.Error()}},
	} {
		table, err := Find(filepath.Join(dir, c.path), c.split)
		got := places(t, table)
		if err != nil {
			got = []string{"! " + err.Error()}
		}
		if c.path == "splits" && c.split == "train" {
			c.want = []string{"line 1 a"}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, split %q:\ngot  %q\nwant %q", c.path, c.split, got, c.want)
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{"{\"id\":1}\n{\"id\":2}", "[{\"a\":[1]}]", "{\"a\":{}}\n{", "\xef\xbb\xbf\n", "{\n\"a\":1}", "{\"a\":{\"b\":1}}"} {
		f.Add([]byte(seed), true)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, lines bool) {
		name := filepath.Join(dir, "a.json")
		if lines {
			name += "l"
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
		n := 0
		for row, err := range (Table{Files: []string{name}}).All() {
			n++
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
			if err == nil && row.Origin == "" {
				t.Error("a row without an origin")
			}
		}
		if n == 0 {
			t.Error("neither a row nor an error")
		}
	})
}
