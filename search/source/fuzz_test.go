package source

import (
	"strings"
	"testing"
	"time"
)

// checkFile states what holds for the File of any text.
func checkFile(t *testing.T, src string, f *File) {
	t.Helper()
	lines := 1 + strings.Count(src, "\n") + strings.Count(src, "\r")
	start := 0
	for i, e := range f.Entities {
		if e.Name == "" || e.Kind < Class || e.Kind > Variable {
			t.Fatalf("entity %d: %+v", i, e)
		}
		if e.Start < 1 || e.End < e.Start || e.End > lines || e.Decorated < 0 || e.Decorated > e.Start {
			t.Fatalf("entity %d of %d lines: %+v", i, lines, e)
		}
		if e.Start < start {
			t.Fatalf("entity %d is out of order: %+v", i, e)
		}
		start = e.Start
		if e.Parent >= len(f.Entities) || e.Parent == i || e.Parent < -1 || e.Parent > i && e.Receiver == "" {
			t.Fatalf("entity %d has no parent before it: %+v", i, e)
		}
		if e.Parent >= 0 && e.Receiver == "" {
			if p := f.Entities[e.Parent]; e.Start < p.Start || e.End > p.End {
				t.Fatalf("entity %d: %+v is not within %+v", i, e, p)
			}
		}
	}
	for i, r := range f.Refs {
		if r.Kind < Imports || r.Kind > Decorates || r.From < -1 || r.From >= len(f.Entities) || r.Line < 1 || r.Line > lines {
			t.Fatalf("reference %d of %d lines: %+v", i, lines, r)
		}
		// An impl of Rust may stand anywhere.
		if r.From >= 0 && !(f.Language == "rust" && r.Kind == Inherits) {
			e := f.Entities[r.From]
			first := e.Start
			if e.Decorated > 0 {
				first = e.Decorated
			}
			if r.Line < first || r.Line > e.End {
				t.Fatalf("reference %d: %+v is not within %+v", i, r, e)
			}
		}
	}
}

func FuzzPython(f *testing.F) {
	for _, src := range []string{
		pythonSample, "f\"{x[\"a\"]!r:{w}}\\N{DASH}{{\" + rf'''{\n'''", "match f(x):\n case A() if b(): c",
		"class A[T](B, C[1], m=D):\n\t'''d\n\tdef f(self): return super(). f()\n", "\"\"\"\n@d\nasync def f(", "x = (\ndef g(a, *, b=lambda x: {1: 2}):\n\treturn",
		"from . import (a as b,\n  *)\nimport c . d, \\\n e\n", "# coding: gbk\n\x81\x5c'\n", "class A(\ndef)", "a, (b, *c), d.e[f('=')] = x: int = 1;\\\ntype T[X] = 2",
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		checkFile(t, src, Scan("x.py", src))
	})
}

func FuzzOthers(f *testing.F) {
	for _, src := range []string{
		"class A extends B { m(a = () => { f(`${g({})}`) }, /[/]/) {} static x: T<U> = async (y): Z => y }\nimport a, {b as c} from 'd'",
		"const f = <div a={b} c='d'>it's {x.map(() => <A/>)}</div>, g = 1\nexport const enum E { A }",
		"@A(1) public class B<T extends C> extends D implements E, F { @G int[] h(I j) throws K { new L() { void m() {} }; } N() {} }",
		"#[a(b)] pub struct S<'a>(u8);\nimpl<T> X for S<'_> { fn f() -> Y where Z: { r#\"\"#; 'a'; m!{} } }\nuse a::{b as c, d::*};",
		"#if A\nint f(a) int a; {\n#else\ntypedef struct s { int (*g)(int); } t;\n#endif\n}\n#define M(x) \\\n 1\n",
		"template <class T> A<T>::A(int x) : b(1), c{2} { R\"x()x\"; } class D final : public E::F<G> { operator bool() const; ~D(); };",
		"package a\nfunc (t *T[K]) f() { x.y().z() }\ntype T struct { B }\nvar a, b = 1, c()",
	} {
		for i := range hostilePaths {
			f.Add(i, "class A{)A(}\n{0")
			f.Add(i, src)
		}
	}
	f.Fuzz(func(t *testing.T, language int, src string) {
		checkFile(t, src, Scan(hostilePaths[uint(language)%uint(len(hostilePaths))], src))
	})
}

// hostile gives texts of about n bytes that make a careless scanner slow.
func hostile(n int) map[string]string {
	repeat := func(s string) string { return strings.Repeat(s, n/len(s)) }
	indents := func(head string) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			b.WriteString(strings.Repeat(" ", i))
			b.WriteString(head)
		}
		return b.String()
	}
	return map[string]string{
		"parentheses": repeat("("), "mixed brackets": repeat("([{"), "braces": repeat("{"), "closers": repeat(")]}"),
		"calls": repeat("f("), "one line": repeat("x = f(a, 'b') + "), "dots": repeat(".a"), "dots apart": "(" + repeat("a\n."),
		"quotes": repeat("'"), "double quotes": repeat("\""), "escaped triples": repeat(`""" \`), "escaped single triples": repeat(`''' \'`),
		"triples": repeat(`"""a`), "backslashes": "'" + repeat(`\`), "f-string fields": repeat(`f"{`), "nested f-strings": repeat(`f"{f'{`),
		"f-strings in lines": repeat("f'{\n"), "triple f-strings": repeat(`f"""{`), "formats": `f"` + repeat("{a:"), "definitions in strings": `"""` + repeat("\ndef f():"),
		"half triples": repeat("\n\"\"\"\ndef f(): \"\"\""), "lambdas": repeat("lambda:"), "lambdas open": repeat("lambda("), "continuations": repeat("\\\n"),
		"decorators": repeat("@a\n"), "decorators in brackets": "(\n" + repeat("@a\n"), "definitions": repeat("def f(\n"), "classes": repeat("class A(B,\n"),
		"deep definitions": indents("def f():\n"), "deep ifs": indents("if a:\n"), "assignments": repeat("a = "), "targets": repeat("a, ") + "= 1",
		"aliases": repeat("type X = "), "comments": repeat("#"), "lines": repeat("\n"), "imports": repeat("import a.b, "), "from": "from a import (" + repeat("b as c,\n"),
		"dotted imports": "import " + repeat("a ."), "supers": repeat("super()."), "supers open": repeat("super("), "cases": repeat("case f(): "), "semicolons": repeat("a=f();"),
		"carriage returns": repeat("\r"), "zeros": repeat("\x00"), "letters": repeat("a"), "high bytes": repeat("\xff"), "tabs": repeat("\t"),
		"annotations": repeat("a: b"), "bases": "class A(" + repeat("a, # \n"), "heads": repeat("else:"), "strings": repeat("'' "),
		"less": repeat("a<"), "templates": repeat("`${"), "generics": repeat("A<B,"), "slashes": repeat("/"), "comment starts": repeat("/*"), "regexes": repeat("/["),
		"raw strings": repeat(`r#"`), "hashes": repeat("r#"), "c++ raw strings": repeat(`R"a(`), "directives": repeat("#if A\n{\n#else\n"), "nested ifs": repeat("#if\n"),
		"tags": repeat("<a>"), "arrows": repeat("=>"), "functions": repeat("function f(){"), "types": repeat("class A{"), "methods": "class A{" + repeat("a(){},"),
		"impls": repeat("impl A for B{"), "template heads": repeat("template<"), "declarators": repeat("int (*f)("), "attributes": repeat("#[a"), "attributes [[": repeat("[["),
		"qualified": repeat("a::"), "chars": repeat("'a"), "lifetimes": repeat("'a "), "macros": repeat("a!{"), "exports": repeat("export default "), "annotations @": repeat("@A("),
	}
}

// hostilePaths has a file of each language.
var hostilePaths = []string{"x.py", "x.go", "x.js", "x.tsx", "x.ts", "X.java", "x.rs", "x.c", "x.hpp"}

// The time must grow with the size of the text, whatever is in it: where it grew
// with its square, this test would not end.
func TestHostile(t *testing.T) {
	for name, src := range hostile(100_000) {
		for _, path := range hostilePaths {
			begin := time.Now()
			f := Scan(path, src)
			took := time.Since(begin)
			checkFile(t, src, f)
			t.Logf("%s %s: %v", path, name, took)
		}
	}
}
