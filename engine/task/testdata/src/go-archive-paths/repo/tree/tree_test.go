package tree

import (
	"reflect"
	"testing"
)

func TestTree(t *testing.T) {
	var tr Tree
	for _, name := range []string{"src/b.go", "src/a.go", "doc/x.md"} {
		if err := tr.Put(name, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	if got := tr.Names("src"); !reflect.DeepEqual(got, []string{"src/a.go", "src/b.go"}) {
		t.Errorf("src holds %q", got)
	}
	if data, ok := tr.Get("doc/x.md"); !ok || string(data) != "doc/x.md" {
		t.Errorf("got %q, %v", data, ok)
	}
	if n := tr.Remove("src"); n != 2 || len(tr.Names("")) != 1 {
		t.Errorf("%d removed, %q left", n, tr.Names(""))
	}
}

func TestFileAndFolder(t *testing.T) {
	var tr Tree
	if err := tr.Put("a", nil); err != nil {
		t.Fatal(err)
	}
	if err := tr.Put("a/b", nil); err == nil {
		t.Error("a file below a file is accepted")
	}
}
