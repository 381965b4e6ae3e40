package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"
)

// themes by name, built on a renderer's empty style for a dark or a light
// background. The first sixteen colours follow the person's own palette, so they
// are readable on any background; those from 16 on are the same everywhere.
var themes = map[string]func(s lipgloss.Style, light bool) styles{
	"dark":         darkStyles,
	"light":        lightStyles,
	"deuteranopia": deuteranopiaStyles,
	"tritanopia":   tritanopiaStyles,
	"none":         noneStyles,
}

// themeNames in the order they are offered. The first is dark or light, as the
// terminal's background is told to be.
var themeNames = []string{"default", "dark", "light", "deuteranopia", "tritanopia", "none"}

// oldThemes are names that configurations may still hold.
var oldThemes = map[string]string{"mono": "none"}

// themeHelp says what each is for.
var themeHelp = map[string]string{
	"default":      "dark or light, by COLORFGBG",
	"dark":         "the terminal's own sixteen colours, on a dark background",
	"light":        "without yellow and cyan, which white swallows",
	"deuteranopia": "blue against orange, also for protanopia",
	"tritanopia":   "teal against red",
	"none":         "no colour: weight, reverse, glyphs and words",
}

// CheckTheme says whether there is a theme of that name; "" is the default.
func CheckTheme(name string) error {
	if name == "" || oldThemes[name] != "" || slices.Contains(themeNames, name) {
		return nil
	}
	return fmt.Errorf("no theme %q: use %s", name, ThemeList())
}

// ThemeList is the names of the themes in words.
func ThemeList() string {
	last := len(themeNames) - 1
	return strings.Join(themeNames[:last], ", ") + " or " + themeNames[last]
}

// Themes are the names of the themes.
func Themes() []string { return slices.Clone(themeNames) }

// tone is a colour of the 256, with the one of the sixteen that stands for it
// where there are no more: which that is, the terminal's palette says.
func tone(of256, of16 string) lipgloss.CompleteColor {
	return lipgloss.CompleteColor{ANSI: of16, ANSI256: of256, TrueColor: of256}
}

// darkStyles keep to the sixteen.
func darkStyles(s lipgloss.Style, _ bool) styles {
	const red, green, yellow, blue, magenta, cyan = lipgloss.Color("1"), lipgloss.Color("2"), lipgloss.Color("3"), lipgloss.Color("4"), lipgloss.Color("5"), lipgloss.Color("6")
	return styles{
		plain: s, dim: s.Faint(true), strong: s.Bold(true),
		good: s.Foreground(blue), live: s.Foreground(cyan), warn: s.Foreground(yellow), fail: s.Foreground(red).Bold(true),
		person: s.Foreground(magenta), thought: s.Faint(true).Italic(true), call: s.Foreground(cyan),
		added: s.Foreground(green), removed: s.Foreground(red), hunk: s.Foreground(cyan),
		keyword: s.Foreground(magenta), quoted: s.Foreground(green), comment: s.Faint(true).Italic(true),
		variable: s.Foreground(cyan), operator: s.Bold(true),
		chosen: s.Reverse(true), focused: s.Foreground(cyan),
	}
}

// lightStyles replace yellow and cyan, which white backgrounds swallow. Where
// there are sixteen colours only, red stands in for orange.
func lightStyles(s lipgloss.Style, _ bool) styles {
	t := darkStyles(s, true)
	t.set(s.Foreground(lipgloss.Color("4")), live, call, hunk, focused, variable)
	t.set(s.Foreground(tone("130", "1")), warn)
	return t
}

// deuteranopiaStyles take their colours from the two ends of what is left
// without the red-green axis, blue and orange (Okabe and Ito's advice), and tell
// those of one end apart by lightness.
func deuteranopiaStyles(s lipgloss.Style, light bool) styles {
	t := darkStyles(s, light)
	blue, sky, yellow, orange, violet := tone("33", "4"), tone("117", "6"), tone("228", "3"), tone("202", "1"), tone("183", "5")
	if light {
		blue, sky, yellow, orange, violet = tone("18", "4"), tone("26", "6"), tone("94", "3"), tone("52", "1"), tone("91", "5")
	}
	t.inks(s, blue, sky, yellow, orange, violet)
	return t
}

// tritanopiaStyles take theirs from red and teal, the ends of what is left
// without the blue-yellow axis, and tell those of one end apart by lightness.
func tritanopiaStyles(s lipgloss.Style, light bool) styles {
	t := darkStyles(s, light)
	teal, mint, pink, red, grey := tone("37", "6"), tone("123", "6"), tone("218", "5"), tone("203", "1"), tone("250", "5")
	if light {
		teal, mint, pink, red, grey = tone("23", "6"), tone("25", "4"), tone("161", "5"), tone("88", "1"), tone("59", "3")
	}
	t.inks(s, teal, mint, pink, red, grey)
	return t
}

// inks gives the roles five colours: what is well and what is under way, what
// wants attention and what is broken, and what a person made.
func (t *styles) inks(s lipgloss.Style, well, going, attention, broken, made lipgloss.CompleteColor) {
	t.set(s.Foreground(well), good, added, quoted)
	t.set(s.Foreground(going), live, call, hunk, focused, variable)
	t.set(s.Foreground(attention), warn)
	t.set(s.Foreground(broken).Bold(true), fail)
	t.set(s.Foreground(broken), removed)
	t.set(s.Foreground(made), person, keyword)
}

// noneStyles keep weight and reverse only: glyphs and words carry the meaning.
func noneStyles(s lipgloss.Style, _ bool) styles {
	t := styles{plain: s, chosen: s.Reverse(true)}
	t.set(s, good, live, call, added, quoted, variable)
	t.set(s.Faint(true), dim, thought, removed, comment)
	t.set(s.Bold(true), strong, warn, fail, person, hunk, focused, keyword, operator)
	return t
}

// lightBackground reports whether the terminal says (in COLORFGBG) that its
// background is light.
func lightBackground(colorFgBg string) bool {
	bg := colorFgBg[strings.LastIndexByte(colorFgBg, ';')+1:]
	return bg == "7" || bg == "15"
}

// pickTheme by name; "" is the default. Without colour it is always none.
func pickTheme(name string, noColor bool, colorFgBg string, r *lipgloss.Renderer) (theme, error) {
	if err := CheckTheme(name); err != nil {
		return theme{}, err
	}
	light := lightBackground(colorFgBg)
	if now := oldThemes[name]; now != "" {
		name = now
	}
	switch {
	case noColor:
		name = "none"
	case (name == "" || name == "default") && light:
		name = "light"
	case name == "" || name == "default":
		name = "dark"
	}
	return newTheme(themes[name](r.NewStyle(), light)), nil
}
