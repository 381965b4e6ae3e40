package source

import "testing"

func TestJava(t *testing.T) {
	checkOutline(t, "A.java", `/* Licence */
package x.y;

import java.util.List;
import static a.b.C.*;

/**
 * Of A.
 */
@Deprecated
@SuppressWarnings({"a", "b}"})
public non-sealed class A<T extends Comparable<T>> extends x.Base<T> implements I, J<Map<String, T>> {
    private static final List<A<?>> ALL = new ArrayList<>(f(1)), more = g();
    static { init(); }
    A(int x) throws E { this(x, '{', "\"}"); }
    @Override public <R> Map<String, R[]> m(@Nullable final T t, int... n) throws x.E, F {
        String s = """
            } " \""" {
            """ + h();
        Runnable r = new Runnable() {
            @Override
            public void run() { go(); }
        };
        if (x) { return (y) -> { z.q().w(); }; }
        class Local { void inner() {} }
        return Collections.<R>emptyMap();
    }
    abstract int[] sum(int a);
    default void d() {}
    enum Op implements I {
        ADD(1) { int apply(int a) { return a; } },
        SUB { int apply(int a) { return neg(a); } };
        Op(int n) {}
        abstract int apply(int a);
    }
    @interface Ann { int value() default 1; }
    record P<T>(int x, @N T y) implements I { P { check(x); } static P of() { return new P(1, 2); } }
}
interface I { void f(); }
`, `
class A 12-38 in - @10
func A 15-15 in A
func m 16-27 in A @16
func run 22-22 in m @21
class Local 25-25 in m
func inner 25-25 in Local
func sum 28-28 in A
func d 29-29 in A
class Op 30-35 in A
func apply 31-31 in Op
func apply 32-32 in Op
func Op 33-33 in Op
func apply 34-34 in Op
class Ann 36-36 in A
func value 36-36 in Ann
class P 37-37 in A
func P 37-37 in P
func of 37-37 in P
class I 39-39 in -
func f 39-39 in I
4 - imports java.util List
5 - imports a.b.C *
10 A decorates Deprecated
11 A decorates SuppressWarnings
12 A inherits x.Base
12 A inherits I
12 A inherits J
13 A calls ArrayList
13 A calls f
13 A calls g
14 A calls init
15 A calls this
16 m decorates Override
16 m decorates Nullable
19 m calls h
20 m calls Runnable
21 run decorates Override
22 run calls go
24 m calls z.q
24 m calls .w
26 m calls emptyMap
30 Op inherits I
31 Op calls ADD
32 apply calls neg
37 P inherits I
37 P decorates N
37 P calls check
37 of calls P
`)
	f := Scan("A.java", "/** Of A.\n * More. */\npublic class A {\n  // Of f\n  // and so on\n  public int f(int a) throws E { }\n}\n")
	if a := f.Entities[0]; a.Signature != "public class A" || a.Doc != "Of A.\nMore." {
		t.Errorf("%+v", a)
	}
	if a := f.Entities[1]; a.Signature != "public int f(int a) throws E" || a.Doc != "Of f\nand so on" {
		t.Errorf("%+v", a)
	}
}
