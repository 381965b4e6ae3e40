package source

import "testing"

func TestGo(t *testing.T) {
	checkOutline(t, "a.go", `// Package a does.
package a

import (
	"fmt"
	. "strings"
	x "a/b"
)

// Of T.
type T[K any] struct {
	Base
	*x.Other
	field int
}

func (t *T[K]) M(a, b int) (err error) {
	type local struct{ T[int] }
	fmt.Println(f(1)(2), t.field.get().
		deep().a.b(), x.Gen[int](1))
	return func() error { return nil }()
}

func (u *Elsewhere) N() {}

const (
	A, B = iota, len("x")
	_    = 1
)

var v = New()

type I interface{ fmt.Stringer; m() }
`, `
class T 11-15 in -
func M 17-22 in T
class local 18-18 in M
func N 24-24 in -
var A 27-27 in -
var B 27-27 in -
var v 31-31 in -
class I 33-33 in -
5 - imports fmt
6 - imports strings *
7 - imports a/b as x
12 T inherits Base
13 T inherits x.Other
18 local inherits T
19 M calls fmt.Println
19 M calls f
19 M calls t.field.get
20 M calls .a.b
20 M calls .deep
20 M calls x.Gen
27 A calls len
31 v calls New
33 I inherits fmt.Stringer
`)
	f := Scan("a.go", "// Package a does.\npackage a\n\n// F is\n// two lines.\nfunc F(a int,\n\tb int) error { g() }\n\nfunc broken( {\n\nfunc G() {}\n")
	if !f.Broken || f.Doc != "Package a does." || len(f.Entities) < 1 {
		t.Fatalf("%+v", f)
	}
	if e := f.Entities[0]; e.Signature != "func F(a int,\n\tb int) error" || e.Doc != "F is\ntwo lines." || e.Start != 6 || e.End != 7 {
		t.Errorf("%+v", e)
	}
	if n := Scan("a.go", "package a\nfunc (u *Elsewhere) N() {}\n").Entities[0]; n.Receiver != "Elsewhere" || n.Parent != -1 {
		t.Errorf("%+v", n)
	}
}
