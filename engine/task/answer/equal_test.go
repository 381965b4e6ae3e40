package answer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// What equals what. Cases are values from the tests of Math-Verify and of the
// graders that SkyRL-Agent uses (naive_dapo, prime_math), and our own; how it is
// meant to come out is worked out by hand. The last column names where upstream
// says otherwise, and why that is not followed.
func TestEqual(t *testing.T) {
	const (
		yes  = "yes"  // by value and by form
		form = "form" // by value only
		no   = "no"
	)
	for _, c := range []struct{ given, truth, want string }{
		// Numbers.
		{`1/2`, `0.5`, yes}, {`\frac12`, `1/2`, yes}, {`\dfrac{1}{2}`, `\frac{1}{2}`, yes}, {`.5`, `0.5`, yes}, {`5.`, `5`, yes}, {`+5`, `5`, yes}, {`--5`, `5`, form},
		{`2.0`, `2`, yes}, {`2.5`, `5/2`, yes}, {`-\frac{1}{2}`, `\frac{-1}{2}`, yes}, {`\frac{-1}{2}`, `-0.5`, yes}, {`2/4`, `1/2`, form}, {`\frac{2}{4}`, `\frac{1}{2}`, form},
		{`4/2`, `2`, form}, {`2^{10}`, `1024`, form}, {`10!`, `3628800`, form}, {`\binom{5}{2}`, `10`, form}, {`1.5\times 10^3`, `1500`, form}, {`3 million`, `3000000`, form},
		{`0.333`, `1/3`, no}, {`0.33333333`, `\frac13`, no}, {`0.\overline{3}`, `1/3`, yes}, {`0.1\overline{6}`, `\frac{1}{6}`, yes}, {`0.\overline{9}`, `1`, form}, {`1.\overline{09}`, `12/11`, yes},
		{`1`, `1.0001`, no}, // upstream rounds
		{`100000`, `100001`, no},
		{`1,234`, `1234`, yes}, {`1{,}234`, `1234`, yes}, {`1,\!234,\! 567`, `1234567`, yes}, {`1,234.5`, `1234.5`, yes}, {`12,34`, `1234`, no}, {`1000,99`, `1000.99`, no},
		{`7 3/4`, `31/4`, yes}, {`7\frac{3}{4}`, `7.75`, yes}, {`-2 1/2`, `-5/2`, yes}, {`73/4`, `7 3/4`, no}, {`7\frac{4}{3}`, `28/3`, no}, {`7 3`, `73`, no},
		{`1 2`, `12`, no}, {`1/0`, `1/0`, yes}, {`1/0`, `2/0`, no}, {`0^0`, `1`, no},

		// Percent, money, degrees, units. Upstream takes 50 for 0.5 without a sign.
		{`50\%`, `50`, yes}, {`50\%`, `0.5`, yes}, {`50%`, `\frac{1}{2}`, yes}, {`1/2`, `50 percent`, yes}, {`50`, `0.5`, no}, {`50\%`, `5`, no}, {`5000`, `50`, no},
		{`\$5`, `5`, yes}, {`$5$`, `5`, yes}, {`90^\circ`, `90`, yes}, {`90°`, `90^{\circ}`, yes}, {`45 degrees`, `45`, yes},
		{`5 cm`, `5`, yes}, {`5cm`, `5 \text{ cm}`, yes}, {`10\text{ cm}^2`, `10`, yes}, {`10 cm^2`, `10 \text{ cm}^2`, yes}, {`125\text{ miles}`, `125`, yes}, {`3 hours`, `3 hour`, yes},
		{`5 \text{ cm}`, `5 \text{ m}`, no}, {`5 meters`, `5 feet`, no}, {`10 cm^2`, `10 cm^3`, no}, // upstream drops them

		// Roots, powers, constants.
		{`\sqrt{8}`, `2\sqrt{2}`, yes}, {`\sqrt2`, `\sqrt{2}`, yes}, {`\frac{1}{\sqrt{2}}`, `\frac{\sqrt{2}}{2}`, yes}, {`\frac{1}{1+\sqrt{2}}`, `\sqrt2-1`, yes}, {`\sqrt{6}`, `\sqrt{2}\sqrt{3}`, yes},
		{`\sqrt{2}+\sqrt{3}`, `\sqrt{5}`, no}, {`(\sqrt2+\sqrt3)^2`, `5+2\sqrt6`, yes}, {`\sqrt{\frac{1}{3}}`, `\frac{\sqrt{3}}{3}`, yes}, {`\sqrt[3]{16}`, `2\sqrt[3]{2}`, yes}, {`2^{1/2}`, `\sqrt{2}`, yes},
		{`4^{3/2}`, `8`, form}, {`\sqrt[3]{-8}`, `-2`, form}, {`\sqrt[4]{4}`, `\sqrt{2}`, yes}, {`\sqrt{-4}`, `2i`, yes}, {`8^{-1/3}`, `1/2`, yes}, {`\sqrt{2}`, `1.41421356`, no},
		{`2^{100}`, `2^{99} \cdot 2`, yes}, {`2^{-1}`, `0.5`, yes}, {`2\pi`, `\pi \cdot 2`, yes}, {`\frac{\pi}{2}`, `\pi/2`, yes}, {`π/2`, `\frac{\pi}{2}`, yes}, {`\pi`, `3.14`, no}, {`2\pi`, `6.28`, no},
		{`e^2`, `e \cdot e`, yes}, {`3+4i`, `4i+3`, yes}, {`√2/2`, `1/√2`, yes}, {`\sqrt{x^2}`, `x`, no}, {`\sqrt{x}`, `x^{1/2}`, yes}, {`|{-3}|`, `3`, form}, {`|x|`, `x`, no},
		{`\lfloor 2.5 \rfloor`, `2`, form}, {`\lceil -2.5 \rceil`, `-2`, form}, {`\lfloor -2.5 \rfloor`, `-2`, no},

		// Algebra.
		{`x^2+2x+1`, `(x+1)^2`, yes}, {`x^2-1`, `(x-1)(x+1)`, yes}, {`(x+1)^2`, `x^2+1`, no}, {`\frac{x^2-1}{x-1}`, `x+1`, yes}, {`2x+3y`, `3y+2x`, yes}, {`2xy`, `2yx`, yes}, {`x^{10}`, `x^10`, yes},
		{`\frac{1}{x}+\frac{1}{y}`, `\frac{x+y}{xy}`, yes}, {`\frac{3}{2}x`, `1.5x`, yes}, {`\frac{ab}{c}`, `\frac{ba}{c}`, yes}, {`-(a-b)`, `b-a`, yes}, {`a-b`, `b-a`, no}, {`x_1+x_2`, `x_2+x_1`, yes}, {`x_1`, `x_2`, no},
		{`\sin(2x)`, `\sin(x+x)`, yes}, {`\sin 2x`, `\sin(2x)`, yes}, {`\sin x\cos x`, `\cos(x)\sin(x)`, yes}, {`\sin^2 x`, `(\sin x)^2`, yes}, {`\sin x`, `\sin y`, no}, {`\sin^{-1} x`, `\frac{1}{\sin x}`, no},
		{`\log_2 3`, `\log_3 2`, no}, {`\ln 2 + 1`, `1 + \ln(2)`, yes}, {`f(2)+1`, `1+f(2)`, yes}, {`f(2)+1`, `2f+1`, no}, {`1/2x`, `\frac{1}{2x}`, no}, {`1/2x`, `\frac{x}{2}`, no}, {`1 - \frac{1}{\mathrm{e}}`, `1 + \frac{1}{e}`, no},
		{`1011_2`, `1011`, no}, {`1011_2`, `1011_2`, yes}, {`1011_{2}`, `1011_3`, no}, // upstream drops the base

		// Tuples, sets, intervals, matrices.
		{`(1,2)`, `(1, 2)`, yes}, {`\left(1,2\right)`, `(1,2)`, yes}, {`(1,2)`, `(2,1)`, no}, {`(1,2)`, `[1,2]`, no}, {`[1,2)`, `[1,2]`, no}, {`(1/2, 3)`, `(0.5, 3)`, yes}, {`(1,2,3)`, `(1,2)`, no}, {`(2/4, 1)`, `(1/2, 1)`, form},
		{`1,2`, `1, 2`, yes}, {`1,2`, `2,1`, no}, {`12 and 13`, `12,13`, yes}, {`12 \text{ or } 13`, `12,13`, yes}, {`\{1,2\}`, `\{2,1\}`, yes}, {`\{1,2\}`, `2,1`, yes}, {`\{1,2,2\}`, `\{1,2\}`, yes}, {`\{1,2\}`, `\{1,3\}`, no}, {`\{1,2\}`, `(1,2)`, no},
		{`\{\}`, `\{ \}`, yes}, {`\pm 2`, `2,-2`, yes}, {`x = \pm\sqrt{2}`, `\{\sqrt{2},-\sqrt{2}\}`, yes}, {`1\pm\sqrt{8}`, `1\pm 2\sqrt{2}`, yes}, {`\pm 2`, `2`, no}, {`\pm 2`, `\pm 3`, no},
		{`(-\infty, 2)`, `(-∞,2)`, yes}, {`(-\infty,1)\cup(2,\infty)`, `(2,\infty)\cup(-\infty,1)`, yes}, {`(-\infty,1)\cup(2,\infty)`, `(-\infty,1)\cup[2,\infty)`, no}, {`(1,2),(3,4)`, `(1,2), (3,4)`, yes}, {`(3,4),(1,2)`, `(1,2),(3,4)`, no},
		{`\begin{pmatrix} 1/2 & 0 \\ 0 & 1 \end{pmatrix}`, `\begin{pmatrix}0.5&0\\0&1\\\end{pmatrix}`, yes}, {`\begin{pmatrix}1\\2\end{pmatrix}`, `\begin{pmatrix}2\\1\end{pmatrix}`, no}, {`\begin{pmatrix}1&2\end{pmatrix}`, `\begin{pmatrix}1\\2\end{pmatrix}`, no},
		{`\begin{bmatrix}1&2\end{bmatrix}`, `\begin{pmatrix}1&2\end{pmatrix}`, yes}, {`\begin{vmatrix}1&2\\3&4\end{vmatrix}`, `\begin{pmatrix}1&2\\3&4\end{pmatrix}`, no},

		// Equations and inequalities.
		{`x=5`, `5`, yes}, {`5`, `x=5`, yes}, {`x = 5`, `y = 5`, no}, {`5=x`, `x=5`, yes}, {`y=2x+1`, `2x+1`, yes}, {`y=2x+1`, `2x-y+1=0`, yes}, {`y=2x+1`, `2y=4x+2`, yes}, {`y=2x+1`, `y=2x`, no}, {`f(x)=x^2`, `x^2`, yes},
		{`x>3`, `3<x`, yes}, {`x \geq 3`, `x>3`, no}, {`x \ge 3`, `x≥3`, yes}, {`-x<-3`, `x>3`, yes}, {`-x<-3`, `x<3`, no}, {`1<x<2`, `2>x>1`, yes}, {`1<x\le 2`, `1<x<2`, no}, {`x \in [1,2]`, `[1,2]`, yes}, {`x\in[1,2]`, `1 \le x \le 2`, no},
		{`x=1 \text{ or } x=2`, `1,2`, yes}, {`x=1,x=2`, `x=1, 2`, yes}, {`(x,y)=(1,2)`, `(1,2)`, yes}, {`x = 5+6 = 11`, `11`, yes}, {`11`, `5+6=11`, no}, {`x^2=4`, `4`, no}, {`x \ne 2`, `x \neq 2`, yes}, {`x\approx 11`, `11`, no},

		// Words. None of them is a product.
		{`A`, `(A)`, yes}, {`\text{(B)}`, `B`, yes}, {`b.`, `B`, yes}, {`A`, `B`, no}, {`yes`, `Yes`, yes}, {`\text{Monday}`, `monday`, yes}, {`east`, `seat`, no}, {`\text{east}`, `\text{seat}`, no}, {`on`, `no`, no}, {`4cats`, `4cast`, no},
		{`even`, `\text{even}`, yes}, {`is in`, `in is`, no}, {`\boxed{5}`, `5`, yes}, {`{5}`, `5`, yes}, {`f \circ g`, `fg`, no}, {``, ``, yes}, {``, `5`, no}, {`\rightarrow`, `arrow`, no}, {`5.`, `5`, yes}, {`since`, `sinec`, no}, {`4 Cats`, `4 cats`, yes}, {`\frac{A}{2}`, `\frac{a}{2}`, no}, {`X^2`, `x^2`, no},
	} {
		for _, pair := range [][2]string{{c.given, c.truth}, {c.given + " ", "\n" + c.truth}} {
			if got := Equal(pair[0], pair[1], ByValue); got != (c.want != no) {
				t.Errorf("%q, %q by value: %v", pair[0], pair[1], got)
			}
			if got := Equal(pair[0], pair[1], ByForm); got != (c.want == yes) {
				t.Errorf("%q, %q by form: %v", pair[0], pair[1], got)
			}
		}
	}
}

// Everything ends soon, whatever is asked. Without limits each of these runs for
// longer than a test may.
func TestHostileAnswers(t *testing.T) {
	rep := strings.Repeat
	for _, a := range []string{
		`9^{9^{9^{9}}}`, `9^9^9^9`, `2^{99999999999}`, `(x+1)^{1000}`, `(a+b+c+d+e+f)^{100}`, `999999999999!`, `300!^{300}`, `\binom{300}{150}^{100}`, `x^{1000}^{1000}`,
		rep("(", 4000), rep("{", 4000), rep(`\sqrt{`, 500), rep(`\frac{1}{`, 400) + "1" + rep("}", 400), rep("-", 4000) + "1", rep("1+", 2000) + "1", rep("(x+1)", 800), rep("(x+1)(y+2)(z+3)", 200),
		rep("9", 4000), rep("9", 4000) + "/" + rep("7", 90), `\sqrt{999999999989}`, rep(`\sqrt{999999999989}+`, 200) + "1", `\sqrt{` + rep("9", 100) + `}`, `\{` + rep("1,", 1900) + `1\}`, `\{` + rep(`\{1\},`, 500) + `1\}`,
		rep(`\cup`, 1000), rep("=", 3000), rep("x=", 1000) + "1", rep("<", 3000), rep(`\pm`, 1000), rep(`\frac1`, 600) + "1", rep("1,234", 700), rep(`\sin`, 900) + "x", rep("f(", 900), rep("x!", 1000), "x" + rep("!", 3000), rep("|", 3000), rep("a_", 2000), rep("[", 3000) + rep("]", 90),
		rep(`\text{`, 600), rep(`\left`, 800), "0." + rep("1", 2000) + `\overline{` + rep("3", 60) + `}`, `0.\overline{` + rep("3", 3000) + `}`, rep("x^{", 900), rep("%", 4000), rep(" million", 400), rep("½", 1500), "\xff\xfe", rep(`\begin{pmatrix}`, 200), rep("&", 3000), rep("1 2/3", 700),
	} {
		for _, b := range []string{"1", a + "+1"} {
			Equal(b, a, ByValue)
		}
	}
	if Equal(rep("1", maxLength+1), rep("1", maxLength+1)+".0", ByValue) || !Equal(rep("1", maxLength+1), rep("1", maxLength+1)+" ", ByValue) {
		t.Error("long answers are compared as text")
	}
}

// expression is a random formula, as LaTeX and as a function of x and y.
type expression struct {
	latex string
	at    func(x, y float64) float64
}

func randomExpression(r *rand.Rand, depth int) expression {
	if depth == 0 {
		switch r.IntN(4) {
		case 0:
			return expression{"x", func(x, _ float64) float64 { return x }}
		case 1:
			return expression{"y", func(_, y float64) float64 { return y }}
		}
		n := r.IntN(5)
		return expression{fmt.Sprint(n), func(_, _ float64) float64 { return float64(n) }}
	}
	a, b := randomExpression(r, depth-1), randomExpression(r, r.IntN(depth))
	switch r.IntN(7) {
	case 0:
		return expression{a.latex + "+" + b.latex, func(x, y float64) float64 { return a.at(x, y) + b.at(x, y) }}
	case 1:
		return expression{a.latex + "-(" + b.latex + ")", func(x, y float64) float64 { return a.at(x, y) - b.at(x, y) }}
	case 2:
		return expression{"(" + a.latex + ")(" + b.latex + ")", func(x, y float64) float64 { return a.at(x, y) * b.at(x, y) }}
	case 3:
		return expression{`\frac{` + a.latex + `}{` + b.latex + `}`, func(x, y float64) float64 { return a.at(x, y) / b.at(x, y) }}
	case 4:
		n := r.IntN(4)
		return expression{fmt.Sprintf("(%s)^{%d}", a.latex, n), func(x, y float64) float64 { return math.Pow(a.at(x, y), float64(n)) }}
	case 5:
		return expression{`\sqrt{` + a.latex + `}`, func(x, y float64) float64 { return math.Sqrt(a.at(x, y)) }}
	}
	return expression{`\sin(` + a.latex + `)`, func(x, y float64) float64 { return math.Sin(a.at(x, y)) }}
}

// What is found equal has the same value wherever both have one: 5,000 pairs
// of random formulas that are small enough to be equal now and then.
func TestEqualIsSound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	equal := 0
	for range 5_000 {
		a, b := randomExpression(r, r.IntN(4)), randomExpression(r, r.IntN(4))
		if a.latex == b.latex || !Equal(a.latex, b.latex, ByValue) {
			continue
		}
		equal++
		for _, p := range [][2]float64{{1.37, 2.91}, {4.2, 0.77}, {-0.6, 3.3}} {
			u, v := a.at(p[0], p[1]), b.at(p[0], p[1])
			if math.IsNaN(u) || math.IsNaN(v) || math.IsInf(u, 0) || math.IsInf(v, 0) {
				continue
			}
			if math.Abs(u-v) > 1e-6*(1+math.Abs(u)) {
				t.Fatalf("%s is taken for %s: %v, %v at %v", a.latex, b.latex, u, v, p)
			}
		}
	}
	if equal < 30 {
		t.Errorf("only %d pairs were equal: the test says nothing", equal)
	}
}

// Equal is symmetric for what is no chain, holds of an answer and itself, and
// answers anything.
func FuzzEqual(f *testing.F) {
	for _, s := range []string{`\frac{1}{2}`, `x^2+1`, `\{1,2\}`, `(1,2]`, `x=\pm 2`, `1<x\le 3`, `50\%`, `7 3/4`, `\sqrt[3]{2}`, `\begin{pmatrix}1&2\\3\end{pmatrix}`, `\sin^2 x`, `1,234`, `5 \text{ cm}^2`, `9^{9^9}`, "½π"} {
		f.Add(s, `1/2`)
		f.Add(`x+1`, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if !Equal(a, a, ByValue) || !Equal(a, a, ByForm) {
			t.Errorf("%q is not itself", a)
		}
		same := Equal(a, b, ByValue)
		if Equal(a, b, ByForm) && !same {
			t.Errorf("%q and %q have a form and no value in common", a, b)
		}
		if same != Equal(b, a, ByValue) && !strings.Contains(a+b, "=") {
			t.Errorf("%q and %q: one way only", a, b)
		}
		Boxed(a)
		ExactMatch(a, []string{b})
		if s := F1(a, []string{b}); s < 0 || s > 1 {
			t.Errorf("F1 %v", s)
		}
	})
}

func BenchmarkEqual(b *testing.B) {
	for name, pair := range map[string][2]string{
		"number":  {`\frac{3}{4}`, "0.75"},
		"formula": {`\frac{x^2-1}{x-1}`, `x+1`},
		"hostile": {strings.Repeat("(x+1)", 800), strings.Repeat("(x+1)", 799) + "(1+x)"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Equal(pair[0], pair[1], ByValue)
			}
		})
	}
}
