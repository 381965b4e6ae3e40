package ui

import (
	"encoding/json"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"rollbench/engine"
	"rollbench/sessions"
)

func init() {
	keyTypes["ctrl+n"], keyTypes["ctrl+o"], keyTypes["ctrl+x"] = tea.KeyCtrlN, tea.KeyCtrlO, tea.KeyCtrlX
}

// fakeTools have the kinds of parameters that there are.
var fakeTools = []engine.Tool{
	{Name: "execute_bash", Parameters: json.RawMessage(`{"type": "object", "required": ["command"], "properties": {
		"command": {"type": "string", "description": "The shell command to run."}, "is_input": {"type": "string", "enum": ["true", "false"]}}}`)},
	{Name: "str_replace_editor", Parameters: json.RawMessage(`{"type": "object", "required": ["command", "path"], "properties": {
		"command": {"type": "string", "enum": ["view", "create", "str_replace"]}, "path": {"type": "string", "description": "Absolute path."},
		"view_range": {"type": "array", "items": {"type": "integer"}}, "insert_line": {"type": ["integer", "null"]}}}`)},
	{Name: "finish", Parameters: json.RawMessage(`{"type": "object", "properties": {"message": {"type": "string"}}}`)},
}

func withTools(o *Options) { o.Tools = fakeTools }

// early is held before its model call.
const early = "/sympy-20590#2<enter>"

func TestWriteForm(t *testing.T) {
	for _, c := range []struct{ name, keys, call, says string }{
		{"a call, completed", early + "aexe<right><tab>ls -l<ctrl+s>", `write sympy-20590#2 "" execute_bash {"command": "ls -l"}`,
			"the turn of sympy-20590#2 is written: it runs, and is held before the next one"},
		{"a text alone", early + "a<up>It is 42.<ctrl+s>", `write sympy-20590#2 "It is 42."`, "the turn of sympy-20590#2 is written: it runs, and is held before the next one"},
		{"finish", early + "afin<right><ctrl+s>", `write sympy-20590#2 "" finish {}`, "the turn of sympy-20590#2 is written: it runs, and is held before the next one"},
		{"two calls", early + "afinish<ctrl+o>exe<right><tab>ls<ctrl+s>", `write sympy-20590#2 "" finish {} execute_bash {"command": "ls"}`,
			"the turn of sympy-20590#2 is written: it runs, and is held before the next one"},
		{"one taken out again", early + "afinish<ctrl+o>exe<ctrl+x><ctrl+s>", `write sympy-20590#2 "" finish {}`, "the turn of sympy-20590#2 is written: it runs, and is held before the next one"},
		{"numbers, lists and choices", early + "astr<right><tab>vi<right><tab>/a<tab>[1, 20]<tab>7<ctrl+s>",
			`write sympy-20590#2 "" str_replace_editor {"command": "view", "path": "/a", "view_range": [1, 20], "insert_line": 7}`,
			"the turn of sympy-20590#2 is written: it runs, and is held before the next one"},
		{"the next choice", early + "a<ctrl+n><ctrl+n><ctrl+n><ctrl+s>", `write sympy-20590#2 "" finish {}`, "the turn of sympy-20590#2 is written: it runs, and is held before the next one"},
		{"nothing", early + "a<ctrl+s>", "", "the turn is empty: write a text, or name a tool"},
		{"no such tool", early + "abash<ctrl+s>", "", `there is no tool "bash": execute_bash, str_replace_editor, finish`},
		{"what is missing", early + "aexecute_bash<ctrl+s>", "", "command is required"},
		{"no such choice", early + "astr_replace_editor<tab>delete<tab>/a<ctrl+s>", "", `command is "delete": use one of view, create, str_replace`},
		{"no number", early + "astr_replace_editor<tab>view<tab>/a<tab><tab>7.5<ctrl+s>", "", "insert_line is no integer or null: 7.5"},
		{"no list", early + "astr_replace_editor<tab>view<tab>/a<tab>1, 20<ctrl+s>", "", "view_range is no array: 1, 20"},
		{"JSON that the schema refuses", early + "afinish<ctrl+t><ctrl+u>{\"why\": 1}<ctrl+s>", "", `finish has no parameter "why"`},
		{"sent anyway", early + "afinish<ctrl+t><ctrl+u>{\"why\": 1}<tab><ctrl+u>anyway<ctrl+s>", `write sympy-20590#2 "" finish {"why": 1}`,
			"the turn of sympy-20590#2 is written: it runs, and is held before the next one"},
		{"another word", early + "afinish<ctrl+t><tab><ctrl+u>please<ctrl+s>", "", `check is "please": write schema or anyway`},
		{"JSON and back", early + "aexe<right><tab>ls<ctrl+t><ctrl+t><ctrl+s>", `write sympy-20590#2 "" execute_bash {"command": "ls"}`,
			"the turn of sympy-20590#2 is written: it runs, and is held before the next one"},
		{"in the place of a reply", "jjafinish<ctrl+s>", `write flask-4045#2 "" finish {}`, "the reply of flask-4045#2 is replaced: c goes on"},
		{"after the tools", "/sympy-20590#0<enter>a", "", "a: no turn waits to be written: it is held at after-tool (n goes to the next one)"},
		{"a running one", "jjja", "", "a: flask-4045#3 is not held: p pauses it at its next gate"},
		{"edit: an unknown tool", "jje<shift+tab><ctrl+u>bash<ctrl+s>", "", `there is no tool "bash": execute_bash, str_replace_editor, finish`},
		{"edit: another tool", "jje<shift+tab><ctrl+u>fini<right><tab><ctrl+u><tab>done<ctrl+s>", "", `finish has no parameter "command"`},
		{"feedback as a tool's", "jji2 warnings<tab><ctrl+u>tool<ctrl+s>", `inject flask-4045#2 as tool "2 warnings"`, "feedback goes to flask-4045#2 before its next model call, as a tool's"},
		{"feedback as a model's", "jjihm<tab><ctrl+u>model<ctrl+s>", "", `as is "model": write user or tool`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, fakeWhole(), 120, 40, withTools)
			b.asks(c.keys, c.call, c.says)
		})
	}
}

func TestHumanKeys(t *testing.T) {
	yours := func(f *fakeRun) { f.status.Human = map[string]bool{"sympy-20590#2": true} }
	for _, c := range []struct {
		name, keys, call, says string
		change                 func(*fakeRun)
	}{
		{"mine", early + "A", "human sympy-20590#2 true", "the turns of sympy-20590#2 are yours from the next one on: a writes one", nil},
		{"the model's again", early + "A", "human sympy-20590#2 false", "the model has its turns of sympy-20590#2 back: c asks it", yours},
		{"no step asks the model", early + "c", "", "c: this turn is yours: a writes it, A gives the model its turns back", yours},
		{"stop a reply", "/xarray-3305#1<enter>S", "stop xarray-3305#1", "the model call of xarray-3305#1 is given up: it is held before it", nil},
		{"stop while a tool runs", "jjjS", "stop flask-4045#3", "editor of flask-4045#3 goes on, and it is held after it: C cancels the call", nil},
		{"stop a held one", "jjS", "", "S: flask-4045#2 is held already: c continues it", nil},
		{"stop all asks", "kS", "", "", nil},
		{"stop all", "kSy", "stop #0", "all are stopped: P continues them", nil},
		{"stop all not", "kS<enter>", "", "", nil},
		{"nothing to repeat", "jj.", "", ".: nothing was stepped yet: s, n, f or c", nil},
		{"repeat", "jjn" + early + ".", "step flask-4045#2 over; step sympy-20590#2 over", "sympy-20590#2 steps to the end of this turn", nil},
		{"repeat continue", "jjc.", "continue flask-4045#2; continue flask-4045#2", "flask-4045#2 goes on", nil},
		{"look around", "jj$<enter>", "shell flask-4045#2 true 120x40", "there is no sandbox here", nil},
		{"change things", "jj$c", "shell flask-4045#2 false 120x40", "there is no sandbox here", nil},
		{"look into a running one", "jjj$l", "shell flask-4045#3 true 120x40", "there is no sandbox here", nil},
		{"change a running one", "jjj$c", "", "", nil},
		{"no shell", "$", "", "$: flask-4045#0 has ended", nil},
		{"leave with y", "qy", "", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fakeWhole()
			if c.change != nil {
				c.change(f)
			}
			b := open(t, f, 120, 40, withTools)
			b.asks(c.keys, c.call, c.says)
			if left := strings.HasPrefix(c.name, "leave"); b.w.left != left {
				t.Errorf("left %v", b.w.left)
			}
		})
	}
}

// The bar says which step would be repeated, and the pane whose turn it is.
func TestHumanIsShown(t *testing.T) {
	f := fakeWhole()
	b := open(t, f, 200, 60, withTools)
	b.keys("jjs")
	if view := b.w.View(); !strings.Contains(view, "into again") {
		t.Error("the bar does not say what is repeated")
	}
	f.status.Human = map[string]bool{"sympy-20590#2": true}
	b = open(t, f, 120, 40, withTools)
	b.keys(early)
	if view := b.w.View(); !strings.Contains(view, "This turn is yours.") || !strings.Contains(view, "a write  A give the model its turns") {
		t.Error("whose turn it is is not said")
	}
	b.f.write(fakeNow(), heldKey, sessions.KindRequestStopped, sessions.RequestStopped{Turn: 3, Tokens: ptr(1), Wall: 2e9})
	b.pull()
	if said, _ := b.w.toasts.shown(b.w.now); said.text != "flask-4045#2: the model call of turn 3 was stopped after 2.0 s: 1 token that had come is dropped" {
		t.Errorf("says %q", said.text)
	}
}

// In a run without an endpoint nobody else could have a person's turns.
func TestWithoutModel(t *testing.T) {
	f := fakeWhole()
	f.status.Human, f.status.Endpoints = map[string]bool{"sympy-20590#2": true}, nil
	b := open(t, f, 120, 40, withTools)
	b.keys(early)
	b.asks("A", "", "A: the run has no endpoint: every turn is yours to write")
	b.asks("S", "", "S: sympy-20590#2 is held already: a writes its turn")
	b.asks("c", "", "c: this turn is yours: a writes it")
	if strings.Contains(b.w.View(), "A give the model") {
		t.Error("its turns can be given to a model that there is not")
	}
	if view := ansi.Strip(b.w.View()); !strings.Contains(view, " endpoint none: a person writes the turns") || strings.Contains(view, "N/A tok/s") {
		t.Error("gauges of an endpoint that there is not")
	}
}

// Who writes the first turn reads the task above it; later the first turn shows it.
func TestTaskIsShown(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, func(o *Options) {
		o.Task = func(k sessions.Key) string { return "Mend \x1b[31m" + k.String() }
	})
	b.keys("/xarray-3305#2<enter>")
	if view := ansi.Strip(b.w.View()); !strings.Contains(view, "task       Mend xarray-3305#2") {
		t.Errorf("no task:\n%s", view)
	}
	b.keys("<esc>/sympy-20590#2<enter>")
	if view := ansi.Strip(b.w.View()); strings.Contains(view, "Mend") {
		t.Errorf("the task after its turn:\n%s", view)
	}
}

// The state has the columns that the keys leave.
func TestBottomRoom(t *testing.T) {
	b := open(t, fakeWhole(), 80, 24, nil)
	b.keys("jj")
	rows := strings.Split(ansi.Strip(b.w.View()), "\n")
	if last := rows[len(rows)-1]; strings.Contains(last, "    ") {
		t.Errorf("columns are left, and the state is cut: %q", last)
	}
	b.keys("X")
	rows = strings.Split(ansi.Strip(b.w.View()), "\n")
	if last := rows[len(rows)-1]; !strings.Contains(last, "tool=execute_bash args~/rm/") {
		t.Errorf("the state is cut: %q", last)
	}
}

// Every dialog at the sizes that people have.
func TestHumanScreens(t *testing.T) {
	for _, v := range []struct{ name, keys string }{
		{"write", early + "aLook"},
		{"write-tool", early + "astr_replace_editor<tab>vi"},
		{"write-json", early + "astr_replace_editor<ctrl+t>"},
		{"write-failed", early + "aexecute_bash<ctrl+s>"},
		{"edit-schema", "jje"},
		{"shell", "jj$"},
		{"shell-running", "jjj$"},
		{"stop-all", "kS"},
	} {
		for size, wh := range sizes() {
			b := open(t, fakeWhole(), wh[0], wh[1], withTools)
			b.keys(v.keys)
			b.check(v.name + "-" + size)
		}
		b := open(t, fakeWhole(), 80, 24, func(o *Options) { o.Tools, o.NoColor = fakeTools, true })
		b.keys(v.keys)
		b.check(v.name + "-mono-80x24")
	}
}

// Two escapes that come at once are two.
func TestTwoEscapes(t *testing.T) {
	b := open(t, fakeWhole(), 120, 40, nil)
	b.keys("jj/rm<enter>?")
	b.send(tea.KeyMsg{Type: tea.KeyEsc, Alt: true})
	if b.w.sheet != nil || strings.Contains(b.w.View(), `match "rm"`) {
		t.Errorf("something is still open:\n%s", ansi.Strip(b.w.View()))
	}
}
