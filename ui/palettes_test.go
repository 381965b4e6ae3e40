package ui

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
)

// vec is a colour in some space.
type vec [3]float64

// matrix takes a colour from one space to another.
type matrix [3]vec

func (m matrix) times(v vec) (out vec) {
	for i, row := range m {
		out[i] = row[0]*v[0] + row[1]*v[1] + row[2]*v[2]
	}
	return out
}

// deficiencies as Machado, Oliveira and Fernandes (2009) simulate them at severity
// 1.0, on linear RGB.
var deficiencies = map[string]matrix{
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
	"nobody":       {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
}

// xtermPalette is what colour n of the 256 is, as xtermPalette and all that follow it have it:
// a cube of 6×6×6 and 24 greys.
func xtermPalette(n int) vec {
	level := []float64{0, 95, 135, 175, 215, 255}
	if n >= 232 {
		g := float64(8 + 10*(n-232))
		return vec{g, g, g}
	}
	n -= 16
	return vec{level[n/36], level[n/6%6], level[n%6]}
}

func linear(c vec) (out vec) {
	for i, x := range c {
		if x /= 255; x <= 0.04045 {
			out[i] = x / 12.92
		} else {
			out[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
		out[i] = min(max(out[i], 0), 1)
	}
	return out
}

// lab of linear RGB under D65.
func lab(rgb vec) vec {
	for i := range rgb {
		rgb[i] = min(max(rgb[i], 0), 1)
	}
	xyz := matrix{{0.4124564, 0.3575761, 0.1804375}, {0.2126729, 0.7151522, 0.0721750}, {0.0193339, 0.1191920, 0.9503041}}.times(rgb)
	for i, white := range []float64{0.95047, 1, 1.08883} {
		if t := xyz[i] / white; t > 216.0/24389 {
			xyz[i] = math.Cbrt(t)
		} else {
			xyz[i] = (24389.0/27*t + 16) / 116
		}
	}
	return vec{116*xyz[1] - 16, 500 * (xyz[0] - xyz[1]), 200 * (xyz[1] - xyz[2])}
}

// ciede2000 is CIE's difference of two colours in Lab (Sharma, Wu and Dalal 2005).
func ciede2000(a, b vec) float64 {
	deg := func(x float64) float64 { return x * math.Pi / 180 }
	pow7 := func(x float64) float64 { return math.Sqrt(math.Pow(x, 7) / (math.Pow(x, 7) + math.Pow(25, 7))) }
	g := 0.5 * (1 - pow7((math.Hypot(a[1], a[2])+math.Hypot(b[1], b[2]))/2))
	polar := func(c vec) (chroma, hue float64) {
		x := c[1] * (1 + g)
		if chroma = math.Hypot(x, c[2]); chroma == 0 {
			return 0, 0
		}
		return chroma, math.Mod(math.Atan2(c[2], x)*180/math.Pi+360, 360)
	}
	c1, h1 := polar(a)
	c2, h2 := polar(b)
	dh, sum := h2-h1, h1+h2
	switch {
	case c1*c2 == 0:
		dh = 0
	case dh > 180:
		dh, sum = dh-360, sum+360
	case dh < -180:
		dh, sum = dh+360, sum+360
	}
	mean := sum / 2
	if c1*c2 == 0 {
		mean = sum
	} else if mean >= 360 {
		mean -= 360
	}
	l, c := (a[0]+b[0])/2, (c1+c2)/2
	t := 1 - 0.17*math.Cos(deg(mean-30)) + 0.24*math.Cos(deg(2*mean)) + 0.32*math.Cos(deg(3*mean+6)) - 0.20*math.Cos(deg(4*mean-63))
	sl := 1 + 0.015*(l-50)*(l-50)/math.Sqrt(20+(l-50)*(l-50))
	sc, sh := 1+0.045*c, 1+0.015*c*t
	rt := -math.Sin(deg(60*math.Exp(-math.Pow((mean-275)/25, 2)))) * 2 * pow7(c)
	dl, dc, dH := (b[0]-a[0])/sl, (c2-c1)/sc, 2*math.Sqrt(c1*c2)*math.Sin(deg(dh/2))/sh
	return math.Sqrt(dl*dl + dc*dc + dH*dH + rt*dc*dH)
}

// The measure itself, by pairs of the paper's test data.
func TestColourDifference(t *testing.T) {
	for _, c := range []struct {
		a, b vec
		want float64
	}{
		{vec{50, 2.6772, -79.7751}, vec{50, 0, -82.7485}, 2.0425},
		{vec{50, -1, 2}, vec{50, 0, 0}, 2.3669},
		{vec{50, 2.5, 0}, vec{50, 0, -2.5}, 4.3065},
		{vec{50, 2.5, 0}, vec{73, 25, -18}, 27.1492},
		{vec{60.2574, -34.0099, 36.2677}, vec{60.4626, -34.1751, 39.4387}, 1.2644},
		{vec{22.7233, 20.0904, -46.6940}, vec{23.0331, 14.9730, -42.5619}, 2.0373},
	} {
		if got := ciede2000(c.a, c.b); math.Abs(got-c.want) > 5e-5 {
			t.Errorf("%v %v: %.4f, want %.4f", c.a, c.b, got, c.want)
		}
	}
}

// inkOf is the colour of the 256 that a role is written in.
func inkOf(t *testing.T, th theme, r role) int {
	t.Helper()
	_, rest, ok := strings.Cut(th[r].before, "38;5;")
	n, err := strconv.Atoi(strings.TrimSuffix(rest, "m"))
	if !ok || err != nil || n < 16 {
		t.Fatalf("role %d is written %q: not one of the colours that are the same everywhere", r, th[r].before)
	}
	return n
}

// tellApart is what a person must be able to tell apart at a glance, and how far
// apart it has to be: CIEDE2000 25 is about the distance of two colours with
// different names. A pair that only a colour's lightness tells apart gets 18.
var tellApart = []struct {
	name string
	a, b role
	far  float64
}{
	{"good/fail", good, fail, 25}, {"good/warn", good, warn, 25}, {"added/removed", added, removed, 25}, {"live/warn", live, warn, 25}, {"live/fail", live, fail, 25}, {"warn/fail", warn, fail, 18},
}

// The themes for colour-blind eyes keep what must be told apart apart, to those
// eyes and to others, and are readable on their background: WCAG's 4.5 to 1.
func TestColourBlindThemes(t *testing.T) {
	for _, c := range []struct{ theme, eyes string }{
		{"deuteranopia", "deuteranopia"}, {"deuteranopia", "protanopia"}, {"deuteranopia", "nobody"}, {"tritanopia", "tritanopia"}, {"tritanopia", "nobody"},
	} {
		for _, light := range []bool{false, true} {
			th := newTheme(themes[c.theme](testRenderer().NewStyle(), light))
			where := fmt.Sprintf("%s for %s, light %v", c.theme, c.eyes, light)
			see := func(r role) vec { return deficiencies[c.eyes].times(linear(xtermPalette(inkOf(t, th, r)))) }
			for _, p := range tellApart {
				far := ciede2000(lab(see(p.a)), lab(see(p.b)))
				if t.Logf("%s: %s %.1f", where, p.name, far); far < p.far {
					t.Errorf("%s: %s are %.1f apart, less than %.0f", where, p.name, far, p.far)
				}
			}
			for _, r := range []role{good, live, warn, fail, person, removed, keyword, quoted, variable} {
				if got := contrast(see(r), light); got < 4.5 {
					t.Errorf("%s: role %d (colour %d) has a contrast of %.1f", where, r, inkOf(t, th, r), got)
				}
			}
		}
	}
}

// contrast of linear RGB to a black or a white background.
func contrast(c vec, light bool) float64 {
	y := 0.0
	for i, part := range []float64{0.2126, 0.7152, 0.0722} {
		y += part * min(max(c[i], 0), 1)
	}
	if light {
		return 1.05 / (y + 0.05)
	}
	return (y + 0.05) / 0.05
}

// Where there are sixteen colours only, each theme names one of them for every
// role, and what must be told apart is never written in the same one.
func TestSixteenColours(t *testing.T) {
	r := newRenderer(io.Discard, "linux", "")
	for name, build := range themes {
		for _, light := range []bool{false, true} {
			th := newTheme(build(r.NewStyle(), light))
			for _, p := range tellApart {
				if name != "none" && p.far > 20 && th[p.a].before == th[p.b].before {
					t.Errorf("%s, light %v: %s are both %q", name, light, p.name, th[p.a].before)
				}
			}
			for n, ink := range th {
				if strings.Contains(ink.before, "38;5;") {
					t.Errorf("%s: role %d is %q on a terminal of sixteen colours", name, n, ink.before)
				}
			}
		}
	}
}

// Every theme has a word that says what it is for, and the word of each is known.
func TestThemeNames(t *testing.T) {
	for _, n := range themeNames {
		if themeHelp[n] == "" || n != "default" && themes[n] == nil {
			t.Errorf("theme %q has no help or no colours", n)
		}
		if err := CheckTheme(n); err != nil {
			t.Error(err)
		}
	}
	if len(themes) != len(themeNames)-1 {
		t.Error("a theme is not offered")
	}
	mono, err := pickTheme("mono", false, "", testRenderer())
	if err != nil || mono != testTheme("none") {
		t.Errorf("the old name of none: %v", err)
	}
	if err := CheckTheme("neon"); err == nil || err.Error() != `no theme "neon": use default, dark, light, deuteranopia, tritanopia or none` {
		t.Errorf("an unknown theme: %v", err)
	}
}
