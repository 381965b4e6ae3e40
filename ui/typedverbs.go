package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// typedVerbs in the order of the palette. What is not here has no argument.
var typedVerbs = []typedVerb{
	{name: "goto", help: "go to a trajectory", arg: argument{name: "INSTANCE#ID", needed: true, closed: true, offer: offerTrajectories}, do: doGotoTyped},
	{name: "turn", help: "go to a turn of the chosen trajectory; a bare number does so, too", arg: argument{name: "NUMBER", needed: true}, can: canTurnTo, do: doTurnTyped},
	{name: "view", help: "show a view of the chosen trajectory", arg: argument{name: "VIEW", needed: true, closed: true, offer: offerViews}, do: doViewTyped},
	{name: "filter", help: "filter the list", arg: argument{name: "WORDS", words: true, offer: offerFilter}, do: doFilterTyped},
	{name: "sort", help: "sort the list by a column; behind it: up, down", arg: argument{name: "COLUMN", words: true, offer: offerColumns}, bare: true, do: doSortTyped},
	{name: "find", help: "look for a text in the view", arg: argument{name: "TEXT"}, can: canFindTyped, do: doFindTyped},
	{name: "find-all", arg: argument{name: "TEXT"}, bare: true, do: doFindAllTyped},
	{name: "search", arg: argument{name: "QUESTION"}, bare: true, do: doSearchTyped},
	{name: "inject", arg: argument{name: "TEXT"}, bare: true, do: doInjectTyped},
	{name: "reject", arg: argument{name: "REASON"}, bare: true, do: doRejectTyped},
	{name: "resample", arg: argument{name: "HOW-MANY"}, bare: true, do: doResampleTyped},
	{name: "break", arg: argument{name: "CONDITIONS", words: true, offer: offerConditions}, bare: true, do: doBreakTyped},
	{name: "limits", arg: argument{name: "NAME=NUMBER … why=REASON", words: true, offer: offerLimits}, bare: true, do: doLimitsTyped},
	{name: "copy", arg: argument{name: "WHAT", closed: true, offer: offerCopies}, can: always, bare: true, do: doCopyTyped},
	{name: "help", arg: argument{name: "WORDS"}, bare: true, do: doHelpTyped},
	{name: "theme", help: "other colours", arg: argument{name: "THEME", needed: true, closed: true, offer: offerThemes}, can: canTheme, do: doThemeTyped},
	{name: "mouse", help: "take the mouse from the terminal, or give it back", arg: argument{name: "on or off", closed: true, offer: offerMouse}, do: doMouseTyped},
	{name: "set", help: "change a setting of the screen or of the dispatcher", arg: argument{name: "KEY VALUE", needed: true, words: true, offer: offerSettings}, do: doSetTyped},
}

func always(*Workbench) string { return "" }

func offerTrajectories(w *Workbench, _ string) []offer {
	out := make([]offer, 0, len(w.list.trajs))
	for _, t := range w.list.trajs {
		look := looks(t)
		help := look.glyph + " " + look.word
		if t.Turn > 0 {
			help += fmt.Sprintf(", turn %d", t.Turn)
		}
		out = append(out, offer{t.Key.String(), help})
	}
	return out
}

func doGotoTyped(w *Workbench, arg string) (tea.Cmd, error) {
	for _, t := range w.list.trajs {
		if t.Key.String() == arg {
			w.closeSheet()
			w.list.show(t.Key)
			return nil, nil
		}
	}
	return nil, fmt.Errorf("there is no trajectory %q: write INSTANCE#ID", arg)
}

func canTurnTo(w *Workbench) string {
	if _, one := w.list.chosen(); !one {
		return "choose one trajectory first (a group is chosen)"
	}
	if w.turns.last == 0 {
		return "it has no turn yet"
	}
	return ""
}

func doTurnTyped(w *Workbench, arg string) (tea.Cmd, error) {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 || n > w.turns.last {
		return nil, fmt.Errorf("turn %q: there are turns 1 to %d", arg, w.turns.last)
	}
	w.closeSheet()
	w.focus = viewFocus
	if !w.tab.ofTurn() {
		w.toTab(textTab)
	}
	w.goTurn(n, false)
	return nil, nil
}

func offerViews(*Workbench, string) []offer {
	out := []offer{{"list", "the trajectories"}}
	for _, n := range tabNames {
		out = append(out, offer{n, ""})
	}
	return out
}

func doViewTyped(w *Workbench, arg string) (tea.Cmd, error) {
	w.closeSheet()
	if arg == "list" {
		w.focus = listFocus
		return nil, nil
	}
	w.focus = viewFocus
	w.toTab(tab(slices.Index(tabNames[:], arg)))
	return nil, nil
}

func offerFilter(w *Workbench, _ string) []offer {
	out := []offer{{"held", ""}, {"running", ""}, {"solved", "a reward of 1 or more"}, {"wrong", "a reward below 1"}, {"masked", ""}, {"intervened", ""}, {"failed", ""}, {"!done", "! before a word: without"}, {"turns>", "then a number; also turns<"}, {"tokens>", "then a number, as 8k"}, {"reward>=", "then a number"}}
	for _, g := range w.list.groups {
		out = append(out, offer{g.instance, "instance"})
	}
	return out
}

func doFilterTyped(w *Workbench, arg string) (tea.Cmd, error) {
	w.closeSheet()
	if arg == "" {
		return doFilter(w), nil
	}
	w.focus = listFocus
	w.list.filter = arg
	w.list.rebuild()
	return nil, nil
}

// columnNames are those of sortColumns as one word each.
func columnName(i int) string { return strings.ReplaceAll(sortColumns[i].name, " ", "-") }

func offerColumns(_ *Workbench, typed string) []offer {
	if strings.Contains(typed, " ") {
		return []offer{{"up", "the smallest first"}, {"down", "the largest first"}}
	}
	var out []offer
	for i := range sortColumns {
		out = append(out, offer{columnName(i), ""})
	}
	return out
}

func doSortTyped(w *Workbench, arg string) (tea.Cmd, error) {
	name, way, _ := strings.Cut(arg, " ")
	by := -1
	var names []string
	for i := range sortColumns {
		names = append(names, columnName(i))
		if score, _ := fits(name, columnName(i)); score == fitsWhole || score > fitsParts && by < 0 {
			by = i
		}
	}
	if by < 0 {
		return nil, fmt.Errorf("there is no column %q: use %s", name, strings.Join(names, ", "))
	}
	s := sorting{by, sortColumns[by].down}
	switch strings.TrimSpace(way) {
	case "":
	case "up", "down":
		s.down = strings.TrimSpace(way) == "down"
	default:
		return nil, fmt.Errorf("%q: sort %s up, or down", way, name)
	}
	w.list.sort = s
	w.list.rebuild()
	return nil, nil
}

func canFindTyped(w *Workbench) string {
	if _, one := w.list.chosen(); !one {
		return "choose one trajectory first (a group is chosen)"
	}
	return ""
}

func doFindTyped(w *Workbench, arg string) (tea.Cmd, error) {
	w.closeSheet()
	w.focus = viewFocus
	if arg == "" {
		return doSlash(w), nil
	}
	w.find.quit()
	return w.beginFind(arg, 1), nil
}

func doFindAllTyped(w *Workbench, arg string) (tea.Cmd, error) {
	doAcross(w)
	w.across.typing = false
	return w.beginAcross(arg), nil
}

func doSearchTyped(w *Workbench, arg string) (tea.Cmd, error) {
	doSearch(w)
	return w.sheet.search.send(w, arg), nil
}

func doInjectTyped(w *Workbench, arg string) (tea.Cmd, error) {
	t, _ := w.list.chosen()
	return w.verb("feedback goes to "+t.Key.String()+" before its next model call", func(c Commands) error { return c.Inject(t.Key, arg) }), nil
}

func doRejectTyped(w *Workbench, arg string) (tea.Cmd, error) {
	t, _ := w.list.chosen()
	return w.verb("the call of "+t.Key.String()+" is rejected", func(c Commands) error { return c.Reject(t.Key, arg) }), nil
}

func doResampleTyped(w *Workbench, arg string) (tea.Cmd, error) {
	t, _ := w.list.chosen()
	return w.sendResample(t, arg)
}
