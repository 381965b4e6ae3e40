package ui

import (
	"errors"
	"fmt"
	"os"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

func canTheme(w *Workbench) string {
	if w.opt.NoColor {
		return "NO_COLOR is set: there is no colour to change"
	}
	return ""
}

func offerThemes(*Workbench, string) []offer {
	var out []offer
	for _, n := range themeNames {
		out = append(out, offer{n, themeHelp[n]})
	}
	return out
}

// doThemeTyped changes the colours at once: nothing drawn is kept.
func doThemeTyped(w *Workbench, arg string) (tea.Cmd, error) {
	th, err := pickTheme(arg, w.opt.NoColor, os.Getenv("COLORFGBG"), newRenderer(w.opt.Output, os.Getenv("TERM"), os.Getenv("COLORTERM")))
	if err != nil {
		return nil, err
	}
	w.th, w.opt.Theme = th, arg
	w.toasts.add(w.now, ok, "theme "+arg+"; --set ui.theme="+arg+" keeps it")
	return nil, nil
}

func doHelpTyped(w *Workbench, arg string) (tea.Cmd, error) {
	doHelp(w)
	w.sheet.narrow.set(w, arg)
	return nil, nil
}

// settings that set changes: those of the screen, and the dispatcher's limits.
func offerSettings(w *Workbench, typed string) []offer {
	key, _, begun := strings.Cut(strings.TrimLeft(typed, " "), " ")
	switch {
	case begun && key == "ui.theme":
		return offerThemes(w, "")
	case begun && strings.HasPrefix(key, "dispatcher."):
		return offerTuning(strings.TrimPrefix(key, "dispatcher."))
	case begun && key == "ui.mouse":
		return []offer{{"true", ""}, {"false", ""}}
	case begun:
		return nil
	}
	out := []offer{{"ui.theme", "now " + or(w.opt.Theme, "default")}, {"ui.mouse", fmt.Sprintf("now %v", w.mouse)}}
	for _, f := range limitFields {
		help := ""
		if w.limits != nil {
			help = "now " + limitText(*f.of(w.limits), f.zero)
		}
		out = append(out, offer{"dispatcher." + f.name, help})
	}
	for _, f := range tunable(w.tuning) {
		out = append(out, offer{"dispatcher." + f.name, "now " + f.show(w.tuning)})
	}
	return out
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func doSetTyped(w *Workbench, arg string) (tea.Cmd, error) {
	key, value, _ := strings.Cut(strings.Replace(arg, "=", " ", 1), " ")
	value = strings.TrimSpace(value)
	limit, isLimit := strings.CutPrefix(key, "dispatcher.")
	switch {
	case value == "":
		return nil, fmt.Errorf("set %s: write its value behind it", key)
	case key == "ui.theme":
		if why := canTheme(w); why != "" {
			return nil, errors.New(why)
		}
		return doThemeTyped(w, value)
	case key == "ui.mouse" && (value == "true" || value == "false"):
		return doMouseTyped(w, map[string]string{"true": "on", "false": "off"}[value])
	case key == "ui.mouse":
		return nil, fmt.Errorf("ui.mouse is %q: use true or false", value)
	case isLimit:
		if why := canLimits(w); why != "" {
			return nil, errors.New(why)
		}
		if limitNamed(limit, w.gauges.status.Tuning) < 0 {
			break
		}
		return doLimitsTyped(w, limit+"="+value)
	}
	return nil, fmt.Errorf("%q cannot be set here: ui.theme, ui.mouse and what the dispatcher has can", key)
}
