package source

import (
	"fmt"
	"strings"
	"testing"
)

// outline writes a File as one line an entity and reference, for tables of
// expected values.
func outline(f *File) string {
	kinds := map[Kind]string{Class: "class", Function: "func", Variable: "var"}
	refs := map[RefKind]string{Imports: "imports", Invokes: "calls", Inherits: "inherits", Decorates: "decorates"}
	name := func(i int) string {
		if i < 0 {
			return "-"
		}
		return f.Entities[i].Name
	}
	var b strings.Builder
	for _, e := range f.Entities {
		fmt.Fprintf(&b, "%s %s %d-%d in %s", kinds[e.Kind], e.Name, e.Start, e.End, name(e.Parent))
		if e.Decorated > 0 {
			fmt.Fprintf(&b, " @%d", e.Decorated)
		}
		b.WriteString("\n")
	}
	for _, r := range f.Refs {
		fmt.Fprintf(&b, "%d %s %s %s%s", r.Line, name(r.From), refs[r.Kind], strings.Repeat(".", r.Level), r.Name)
		if r.Target != "" {
			b.WriteString(" " + r.Target)
		}
		if r.As != "" {
			b.WriteString(" as " + r.As)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func checkOutline(t *testing.T, path, src, want string) {
	t.Helper()
	if got := outline(Scan(path, src)); got != strings.TrimPrefix(want, "\n") {
		t.Errorf("got\n%swant%s", got, want)
	}
}

func TestPythonDefinitions(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"nested, one line, decorated": {`import os
class A(Base, mixin.B[T], metaclass=M): pass
@app.route("/x",
           methods=get())
@cache
async def f(a, b=g(1)) -> "int":
    def inner(): return h()
    return inner
class C:
    x = 1
    def m(self):
        return super().m(self.y.z(2))
`, `
class A 2-2 in -
func f 6-8 in - @3
func inner 7-7 in f
class C 9-12 in -
func m 11-12 in C
1 - imports os
2 A inherits Base
2 A inherits mixin.B
3 f decorates app.route
3 f calls app.route
4 f calls get
5 f decorates cache
6 f calls g
7 inner calls h
12 m calls super
12 m calls super().m
12 m calls self.y.z
`},
		"variables": {`a = b = f(1)
(c, [d, *e]), o.x, k["="] = 1, 2
if True:
    g: int = 3
else: h: "str"
a += 1
i == 2
j = lambda x=1, *y: {x: y}
def f():
    local = 1
type X[T] = list[T]
for q in r: s = q; t = 1;
print(u := 2)
`, `
var a 1-1 in -
var b 1-1 in -
var c 2-2 in -
var d 2-2 in -
var e 2-2 in -
var g 4-4 in -
var h 5-5 in -
var j 8-8 in -
func f 9-10 in -
var X 11-11 in -
var s 12-12 in -
var t 12-12 in -
1 a calls f
13 - calls print
`},
		"imports": {`import a.b as c, d
from . import (x as y,  # comment
    z)
from ...p.q import *
from r \
    import s
`, `
1 - imports a.b as c
1 - imports d
2 - imports . x as y
3 - imports . z
4 - imports ...p.q *
6 - imports r s
`},
		"f-strings": {`def f():
    return f"{x["a"]!r:>{width(1)}} {{no}} {
        call(f'{inner("}")}')}" + rf'\{a()}' f"\N{LEFT CURLY BRACKET}{b()}"
def old(): return f'{x:{"{"}>10} {c()}'
def g(): f"{x
def h(): pass
`, `
func f 1-3 in -
func old 4-4 in -
func g 5-5 in -
func h 6-6 in -
2 f calls width
3 f calls call
3 f calls inner
3 f calls a
3 f calls b
4 old calls c
`},
		"match": {`match (f(x)):
    case A(b=1) | B() if ok(x): c()
    case (d): e = 1
match(1)
case = match
case: int = 2
`, `
var e 3-3 in -
var case 5-5 in -
var case 6-6 in -
1 - calls f
2 - calls ok
2 - calls c
4 - calls match
`},
		"python 2": {"class A:\n\tdef f(self, (a, b)):\n\t\tprint >>out, `a`, ur\"\\\"x\"\n        \texec 'x' in d\n\tdef g(self):\n\t\traise E, 0777L\n\t\texcept E, e: pass\n", `
class A 1-7 in -
func f 2-4 in A
func g 5-7 in A
`},
		"continued and commented": {`def f(a, # )
      b): \
    return """
def no(): pass
""" \

# f has ended
x = [
    1, # ]
]
`, `
func f 1-5 in -
var x 8-10 in -
`},
		"type parameters": {`class A[T: (int, str) = call()](B[T], C): ...
def f[*Ts, **P](*args: *Ts) -> A[T]: ...
`, `
class A 1-1 in -
func f 2-2 in -
1 A calls call
1 A inherits B
1 A inherits C
`},
		"apart": {`x = (a # one
  .b
  . c (1)
  .d("x" .join(y), 1 .real(), 1..hex(), z[0].w()))
class A:
    def f(self):
        return super().f(super(A, self)
            .g())
`, `
var x 1-4 in -
class A 5-8 in -
func f 6-8 in A
3 x calls a.b.c
4 x calls .d
4 x calls .join
4 x calls .real
4 x calls .hex
4 x calls .w
7 f calls super
7 f calls super().f
7 f calls super
8 f calls super().g
`},
		"form feed and line ends": {"\ufeffclass A:\r\n\fclass B:\r  def f(): 'x\\\r\ny'\r\n", `
class A 1-1 in -
class B 2-4 in -
func f 3-4 in B
`},
	} {
		t.Run(name, func(t *testing.T) { checkOutline(t, "x.py", c.src, c.want) })
	}
}

func TestPythonBroken(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"parenthesis": {"def f(a:\n    x = g(1, [2\n    return\n\n@d\ndef h():\n    pass\n", `
func f 1-3 in -
func h 6-7 in - @5
2 f calls g
5 h decorates d
`},
		"string": {"def f():\n    x = 'abc\n    y = 1\ndef g(): pass\n", `
func f 1-3 in -
func g 4-4 in -
`},
		"docstring": {"class A:\n    def f(self):\n        \"\"\"Text.\n        return 1\n\n    def g(self):\n        \"\"\"More.\"\"\"\n", `
class A 1-7 in -
func f 2-5 in A
func g 6-7 in A
`},
		"closers":  {"def f(a]):\n  g(1))\ndef h(: pass\n", "\nfunc f 1-2 in -\nfunc h 3-3 in -\n2 f calls g\n"},
		"no colon": {"def f()\n    g()\nclass\ndef\nclass B\n  pass\n", "\nfunc f 1-2 in -\nclass B 5-6 in -\n2 f calls g\n"},
	} {
		t.Run(name, func(t *testing.T) {
			checkOutline(t, "x.py", c.src, c.want)
			if !Scan("x.py", c.src).Broken {
				t.Error("not said to be broken")
			}
		})
	}
}

func TestPythonTexts(t *testing.T) {
	f := Scan("x.py", `#!/usr/bin/python
r'''Of the
module.''' 'more'
class A(
    B): "Of A"
async  def f(x: {1: 2} = lambda: 0) -> int: # why
    # not yet
    u"""Of f"""
def g():
    "no" % doc
def h():
    b"no"
`)
	if f.Doc != "Of the\nmodule." {
		t.Errorf("module: %q", f.Doc)
	}
	for i, want := range [][2]string{
		{"class A(\n    B)", "Of A"},
		{"async  def f(x: {1: 2} = lambda: 0) -> int", "Of f"},
		{"def g()", ""},
		{"def h()", ""},
	} {
		if got := [2]string{f.Entities[i].Signature, f.Entities[i].Doc}; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPythonEncodings(t *testing.T) {
	checkOutline(t, "x.py", "# -*- coding: latin-1 -*-\ndef caf\xe9(): pass\n", "\nfunc café 2-2 in -\n")
	// In Shift JIS the second byte of 表 is a backslash.
	checkOutline(t, "x.py", "\n# vim: set fileencoding=shift_jis :\nx = '\x95\x5c'\ndef f(): pass\n", "\nvar x 3-3 in -\nfunc f 4-4 in -\n")
	checkOutline(t, "x.py", "def \xe9(): pass\n", "\nfunc \xe9 1-1 in -\n")
}
