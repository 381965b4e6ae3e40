package ui

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// Every row of the key table is a verb of the palette. Rows that act at the same time
// need names of their own.
func TestEveryRowIsAVerb(t *testing.T) {
	slug := regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	together := [][]scope{{debugger, anywhere, inList}, {debugger, anywhere, inView, inTokens, inFind}, {debugger, anywhere, inView, inTime}}
	for _, s := range []scope{inAcross, inOutput, inSearch, inBreaks, inWhatIf, inCompare, inMatrix, inVersus, inNarrow} {
		together = append(together, []scope{s})
	}
	for _, b := range keyTable() {
		if !slug.MatchString(b.slug()) {
			t.Errorf("the row %q (%s) is called %q in the palette: give it verb: \"a-short-name\" of small letters, digits and dashes", b.Help().Desc, b.Help().Key, b.slug())
		}
	}
	for _, scopes := range together {
		seen := map[string]string{}
		for _, b := range keyTable() {
			if !slices.Contains(scopes, b.scope) {
				continue
			}
			if other := seen[b.slug()]; other != "" {
				t.Errorf("the verb %q is both %q and %q: give one of the rows another verb:", b.slug(), other, b.Help().Desc)
			}
			seen[b.slug()] = b.Help().Desc
		}
	}
	rows := map[string]bool{}
	for _, b := range keyTable() {
		rows[b.slug()] = true
	}
	for _, v := range typedVerbs {
		if !slug.MatchString(v.name) || v.arg.name == "" || v.help == "" && !rows[v.name] || v.bare && !rows[v.name] {
			t.Errorf("the verb %q lacks a help, a name for its argument, or the row that does it bare", v.name)
		}
	}
}

func TestFits(t *testing.T) {
	for _, c := range []struct {
		typed, name string
		at          string // the characters that fit, "" for none, "*" for no fit
	}{
		{"", "pause", ""}, {"pause", "pause", "pause"}, {"PA", "pause-all", "pa"}, {"pal", "pause-all", "pal"}, {"pa-", "pause-all", "pa-"}, {"ua", "fold-all", "*"},
		{"qs", "QuerySet", "QS"}, {"querys", "QuerySet", "QueryS"}, {"fa", "fold-all", "fa"}, {"old", "fold-all", "old"}, {"fdl", "fold-all", "fdl"},
		{"f4#2", "flask-4045#2", "f4#2"}, {"f42", "flask-4045#2", "f42"}, {"xyz", "flask", "*"}, {"longer", "long", "*"}, {"漢", "数学-漢字-7", "漢"},
	} {
		score, at := fits(c.typed, c.name)
		got := ""
		for _, i := range at {
			got += string([]rune(c.name)[i])
		}
		if score == 0 {
			got = "*"
		}
		if got != c.at {
			t.Errorf("%q in %q: %q, want %q", c.typed, c.name, got, c.at)
		}
	}
	// The kinds of a fit, from the best on.
	order := []string{"sort", "sort-turn", "some-ort", "resort", "xsxoxrxt"}
	last := 2000
	for _, name := range order {
		if score, _ := fits("sort", name); score <= 0 || score >= last {
			t.Errorf("%q scores %d after %d", name, score, last)
		} else {
			last = score
		}
	}
	if !mentions("other colours", "other colours") || mentions("zz", "zzz") || mentions("other zebra", "other colours") {
		t.Error("words of a help")
	}
}

func FuzzFits(f *testing.F) {
	f.Add("ab", "a-b")
	f.Add("İx", "ixİ")
	f.Fuzz(func(t *testing.T, typed, name string) {
		score, at := fits(typed, name)
		q, n := foldRunes(typed), foldRunes(name)
		if score == 0 {
			return
		}
		if len(at) != len(q) {
			t.Fatalf("%q in %q: %d characters fit, not %d", typed, name, len(at), len(q))
		}
		for i, x := range at {
			if n[x] != q[i] || i > 0 && at[i-1] >= x {
				t.Fatalf("%q in %q: %v", typed, name, at)
			}
		}
	})
}

// top is the first row that is offered.
func (b *bench) top() offered {
	b.t.Helper()
	p, ok := b.w.dialog.(*palette)
	if !ok || len(p.rows) == 0 {
		b.t.Fatalf("no palette with rows is open: %T", b.w.dialog)
	}
	return p.rows[0]
}

func (b *bench) failed() string {
	if p, ok := b.w.dialog.(*palette); ok {
		return p.failed
	}
	return "closed"
}

// What is typed, and what the engine is then asked for.
func TestPaletteVerbs(t *testing.T) {
	const held, running = "jj", "jjj" // flask-4045 #2 and #3
	for _, c := range []struct{ name, keys, want string }{
		{"a row of the table", held + ":continue<enter>", "continue flask-4045#2"},
		{"by its beginning", held + ":cont<enter>", "continue flask-4045#2"},
		{"by its words' beginnings", ":pa-all<esc>:pall<enter>", "pause #0"},
		{"ctrl+p", running + "<ctrl+p>pause<enter>", "pause flask-4045#3"},
		{"chosen by arrows", held + ":step<down><up><enter>", "step flask-4045#2 over"},
		{"with an argument", running + ":inject Look at ctx.py<enter>", `inject flask-4045#3 "Look at ctx.py"`},
		{"reject", held + ":reject No tests.<enter>", `reject flask-4045#2 "No tests."`},
		{"resample", held + ":resample 3<enter>", "resample flask-4045#2 3"},
		{"break", ":break tool=execute_bash args~/rm/<enter>", "break 0 tool=execute_bash args~/rm/"},
		{"break, completed", ":break to<tab>ex<tab><enter>", "break 0 tool=execute_bash"},
		{"limits", ":limits run=7 eval=none why=the disk is full<enter>", `limits 8 7 0 16 16 "the disk is full"`},
		{"set", ":set dispatcher.max_parallel_agents 9<enter>", `limits 8 9 2 16 16 ""`},
		{"set with =", ":set dispatcher.max_parallel_agents=9<enter>", `limits 8 9 2 16 16 ""`},
		{"goto, then a verb", ":goto f4#3<enter>:pause<enter>", "pause flask-4045#3"},
		{"a disabled one does nothing", ":continue<enter><enter><esc>", ""},
		{"esc does nothing", held + ":continue<esc>", ""},
		{"backspace on nothing closes", held + ":<backspace>c", "continue flask-4045#2"},
		{"a verb opens its dialog", held + ":cancel<enter>y", "cancel flask-4045#2"},
		{"the last one again", running + ":pause<enter>:<up><enter>", "pause flask-4045#3; pause flask-4045#3"},
		{"the one before the last", running + ":pause<enter>:inject x<enter>:<up><up><enter>", `pause flask-4045#3; inject flask-4045#3 "x"; pause flask-4045#3`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fakeWhole()
			f.status.Limits.Init, f.status.Limits.Run, f.status.Limits.Eval, f.status.Limits.Live, f.status.Limits.Ready = 8, 4, 2, 16, 16
			b := open(t, f, 120, 40, nil)
			b.keys(c.keys)
			if got := strings.Join(b.f.calls, "; "); got != c.want {
				t.Errorf("engine was asked %q, want %q (%s)", got, c.want, b.failed())
			}
		})
	}
}

// One clear line for what cannot be.
func TestPaletteErrors(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{":zzzz<enter>", "type the name of a verb, or choose one with ↓; esc closes"},
		{":<enter>", "type the name of a verb, or choose one with ↓; esc closes"},
		{":zzzz x<enter>", `there is no verb "zzzz"`},
		{":zoom x<enter>", "zoom takes no argument"},
		{":continue<enter>", "continue: flask-4045#0 has ended"},
		{":theme neon<enter>", `theme: there is no THEME "neon"`},
		{":theme <enter>", "theme needs THEME"},
		{":goto nowhere<enter>", `goto: there is no INSTANCE#ID "nowhere"`},
		{":turn 99<enter>", `turn "99": there are turns 1 to 18`},
		{":sort beauty<enter>", `there is no column "beauty": use queue-order, #, instance, state, turn, tokens, time, last/finish, reward, budget, tool, finish-reason, drift, intervened, tag`},
		{":sort turn sideways<enter>", `"sideways": sort turn up, or down`},
		{":limits runs=4<enter>", `"runs=4": write init, run, eval, sandboxes, ready=NUMBER, 0 for none`},
		{":limits run=x<enter>", `max_parallel_agents is "x": use a whole number, 0 for none`},
		{":limits <enter>", "closed"}, // opens the form
		{":set ui.mouse maybe<enter>", `ui.mouse is "maybe": use true or false`},
		{":set ui.theme<enter>", "set ui.theme: write its value behind it"},
		{":set sandbox.kind docker<enter>", `"sandbox.kind" cannot be set here: ui.theme, ui.mouse and what the dispatcher has can`},
		{":set dispatcher.other fifo<enter>", `"dispatcher.other" cannot be set here: ui.theme, ui.mouse and what the dispatcher has can`},
		{":break tool<enter>", ""},
		{":unfold-all<enter>", "closed"},
		{":next-low<enter>", "next-low: acts in the tokens"},
	} {
		b := open(t, fakeWhole(), 120, 40, nil)
		b.keys(c.keys)
		got := b.failed()
		if c.want == "" {
			if got == "" || strings.Contains(got, "\n") {
				t.Errorf("%s: says %q", c.keys, got)
			}
			continue
		}
		if got != c.want {
			t.Errorf("%s: says %q, want %q", c.keys, got, c.want)
		}
	}
}

// What the screen does by itself.
func TestPaletteScreen(t *testing.T) {
	t.Setenv("TERM", "xterm-256color")
	b := open(t, fakeWhole(), 120, 40, nil)
	b.keys(":view pat<enter>")
	if b.w.tab != patchTab || b.w.focus != viewFocus {
		t.Errorf("view pat: tab %v, focus %v", b.w.tab, b.w.focus)
	}
	b.keys(":view list<enter>")
	if b.w.focus != listFocus {
		t.Error("view list keeps the view")
	}
	b.keys(":7<enter>")
	if turn, follows := b.w.turnHere(); turn != 7 || follows || b.w.tab != textTab {
		t.Errorf("a number goes to turn %d, follow %v, tab %v", turn, follows, b.w.tab)
	}
	b.keys(":goto requests-2317#1<enter>")
	if got := b.w.chosenKey(); got != (sessions.Key{Instance: "requests-2317", ID: 1}) {
		t.Errorf("goto chose %v", got)
	}
	b.keys(":sort tok up<enter>")
	if s := b.w.list.sort; sortColumns[s.by].name != "tokens" || s.down {
		t.Errorf("sorted by %+v", s)
	}
	b.keys(":filter held<enter>")
	if b.w.list.filter != "held" {
		t.Errorf("the filter is %q", b.w.list.filter)
	}
	b.keys(":fold-all<enter>") // acts in the list from anywhere
	if len(b.w.list.folded) == 0 {
		t.Error("nothing is folded")
	}
	b.keys(":theme tritanopia<enter>")
	if b.w.th != testTheme("tritanopia") {
		t.Error("the theme is another one")
	}
	b.keys(":set ui.theme dark<enter>")
	if b.w.th != testTheme("dark") {
		t.Error("set ui.theme does nothing")
	}
	b.keys("?:messages<enter>") // over a sheet, into another
	if b.w.sheet == nil || b.w.sheet.title != "messages" {
		t.Error("messages are not open")
	}
	b.keys(":zoom<enter>")
	if b.w.sheet != nil || !b.w.zoom {
		t.Error("a verb of the panes leaves the sheet open")
	}
}

// Without colour there is no theme to change, and the prompt says so.
func TestPaletteNoColor(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, func(o *Options) { o.NoColor = true })
	b.keys(":theme light<enter>")
	if got := b.failed(); got != "theme: NO_COLOR is set: there is no colour to change" {
		t.Errorf("says %q", got)
	}
}

// In a sheet its own verbs come before those of the same name.
func TestPaletteInSheet(t *testing.T) {
	b := open(t, fakeMeasured(), 120, 40, measured)
	b.keys("w:use<enter>")
	if _, open := b.w.dialog.(*form); !open {
		t.Errorf("use does nothing in the what-if view: %T %s", b.w.dialog, b.failed())
	}
	b.keys("<esc><esc>:use<enter>")
	if got := b.failed(); got != "use: acts in the what-if view" {
		t.Errorf("outside it says %q", got)
	}
}

// What is offered is complete: every verb, and the best one first.
func TestPaletteOffers(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	b.keys("jj:")
	p := b.w.dialog.(*palette)
	names := map[string]bool{}
	for _, o := range p.rows {
		names[o.name] = true
	}
	for _, row := range keyTable() {
		if !names[row.slug()] {
			t.Errorf("%q is not offered", row.slug())
		}
	}
	disabled := slices.IndexFunc(p.rows, func(o offered) bool { return o.why != "" })
	if disabled < 10 || slices.ContainsFunc(p.rows[disabled:], func(o offered) bool { return o.why == "" }) {
		t.Errorf("what does not apply stands before what does, from %d on", disabled)
	}
	for typed, want := range map[string]string{"con": "continue", "th": "theme", "colours": "theme", "so": "sort", "bp": "breakpoints", "paus": "pause-all"} {
		b.keys("<ctrl+u>" + typed)
		if typed == "bp" { // its letters, in their order
			continue
		}
		if got := b.top().name; got != want {
			t.Errorf("%q offers %q first, not %q", typed, got, want)
		}
	}
	for typed, want := range map[string][]string{
		"theme ":      themeNames,
		"goto sympy":  {"sympy-20590#0", "sympy-20590#1", "sympy-20590#2", "sympy-20590#3"},
		"view to":     {"tokens"},
		"sort rew":    {"reward"},
		"sort turn ":  {"up", "down"},
		"set ui.m":    {"ui.mouse"},
		"set ui.th ":  nil,
		"mouse ":      {"on", "off"},
		"limits ev":   {"eval="},
		"break in=xa": {"in=xarray-3305"},
	} {
		b.keys("<ctrl+u>" + typed)
		var got []string
		for _, o := range p.rows {
			if typed[len(typed)-1] == ' ' || o.score > fitsSome {
				got = append(got, o.name)
			}
		}
		if strings.HasPrefix(typed, "view") || strings.HasPrefix(typed, "sort rew") || strings.HasPrefix(typed, "goto") {
			got = got[:min(len(got), len(want))]
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q offers %v, want %v", typed, got, want)
		}
	}
}

// The palette keeps to the screen and shows nothing hostile; a small terminal has none.
func TestPaletteHostile(t *testing.T) {
	f := fakeWhole()
	for i := range f.trajs {
		f.trajs[i].Instance += hostile
	}
	b := open(t, f, 80, 24, nil)
	for _, keys := range []string{":goto ", "漢" + "x", "<esc>:break in="} {
		b.keys(keys)
		for _, r := range strings.Split(b.w.View(), "\n") {
			checkEscapes(t, r)
		}
	}
	b.keys("<esc>:")
	b.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("goto " + hostile), Paste: true})
	for _, r := range strings.Split(b.w.View(), "\n") {
		checkEscapes(t, r)
	}
	b = open(t, fakeWhole(), 39, 9, nil)
	b.keys(":")
	if b.w.dialog != nil {
		t.Error("a palette that nobody sees takes keys")
	}
}

func TestPaletteScreens(t *testing.T) {
	views := []struct{ name, keys string }{
		{"palette", "jj:"}, {"palette-typed", "jj:pa"}, {"palette-goto", ":goto sy"}, {"palette-theme", ":theme "}, {"palette-error", ":continue<enter>"}, {"help-narrow", "?/view to"},
	}
	for _, v := range views {
		for size, wh := range sizes() {
			b := open(t, fakeWhole(), wh[0], wh[1], nil)
			b.keys(v.keys)
			b.check(v.name + "-" + size)
		}
		b := open(t, fakeWhole(), 120, 40, func(o *Options) { o.NoColor = true })
		b.keys(v.keys)
		b.check(v.name + "-mono-120x40")
	}
	for _, wh := range [][2]int{{60, 20}, {40, 10}} {
		b := open(t, fakeWhole(), wh[0], wh[1], nil)
		b.keys("jj:pa")
		b.check(fmt.Sprintf("palette-typed-%dx%d", wh[0], wh[1]))
	}
}
