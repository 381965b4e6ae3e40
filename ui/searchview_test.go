package ui

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"rollbench/search"
	"rollbench/sessions"
)

// fakeSearch answers as search does, from a small hand-made repository.
func fakeSearch(_ context.Context, key sessions.Key, q search.Query) (search.Answer, []search.Hit, error) {
	init := search.Hit{Path: "src/flask/blueprints.py", Kind: "method", Name: "__init__", Qualified: "Blueprint.__init__", Start: 172, End: 210}
	class := search.Hit{Path: "src/flask/blueprints.py", Kind: "class", Name: "Blueprint", Qualified: "Blueprint", Start: 100, End: 602}
	text := search.Hit{Path: "docs/blueprints.rst", Kind: "text", Name: "A dot in the name of a blueprint", Start: 12, End: 12}
	test := search.Hit{Path: "tests/test_blueprints.py", Kind: "function", Name: "test_dotted_name_not_allowed", Qualified: "test_dotted_name_not_allowed", Start: 250, End: 253}
	hint := func(q search.Query, text string) search.Hint { return search.Hint{Query: q, Text: "next: " + text} }
	switch term := strings.Join(q.Terms, " "); {
	case term == "dot in the name of a blueprint":
		return search.Answer{Found: 3, Text: `dot in the name of a blueprint: 3 found (lines with this text, then ranked by its words)
docs/blueprints.rst:12: A dot in the name of a blueprint
src/flask/blueprints.py:Blueprint.__init__ (method, lines 172-210) def __init__(self, name, import_name, static_folder=None, static_url_path=None)
   172	    def __init__(
   173	        self,
   174	        name: str,
   175	        import_name: str,
src/flask/blueprints.py:Blueprint (class, lines 100-602)`,
			Hints: []search.Hint{
				hint(search.Query{Terms: []string{"src/flask/blueprints.py:Blueprint.__init__"}}, `search_terms ["src/flask/blueprints.py:Blueprint.__init__"] shows its code`),
				hint(search.Query{Terms: []string{term}, Path: "src/flask"}, `the same with file_path_or_pattern "src/flask" keeps 2 of 3`),
			}}, []search.Hit{text, init, class}, nil
	case strings.HasPrefix(term, "tests:"):
		return search.Answer{Found: 1, Text: "tests of src/flask/blueprints.py:Blueprint.__init__: 1 found\n" +
			"tests/test_blueprints.py:test_dotted_name_not_allowed (function, lines 250-253)\n   250\tdef test_dotted_name_not_allowed(app, client):"}, []search.Hit{test}, nil
	case term == "broken":
		return search.Answer{}, nil, errors.New("list the repository: sandbox lost")
	case len(q.Lines) > 0:
		return search.Answer{Found: 1, Text: fmt.Sprintf("%s lines %v: 1 found", q.Path, q.Lines)}, nil, nil
	}
	return search.Answer{Text: fmt.Sprintf("%s: 0 found in %s of %s", q.Terms, key, q.Path)}, nil, nil
}

func searched(o *Options) { o.Search = fakeSearch }

func TestSearchScreens(t *testing.T) {
	const ask = "jjRdot in the name of a blueprint<enter>"
	for _, v := range []struct {
		name, keys string
		mono       bool
	}{
		{"search", "jjR", false},
		{"search-answer", ask, false},
		{"search-typing", ask + "/" + strings.Repeat(" and the blueprint it is registered on", 4), false},
		{"search-failed", "jjRbroken<enter>", false},
		{"search-mono", ask + "j", true},
	} {
		for _, wh := range sizes() {
			name := fmt.Sprintf("%s-%dx%d", v.name, wh[0], wh[1])
			t.Run(name, func(t *testing.T) {
				b := open(t, fakeWhole(), wh[0], wh[1], func(o *Options) { o.NoColor, o.Search = v.mono, fakeSearch })
				b.keys(v.keys)
				b.check(name)
			})
		}
	}
}

// Enter asks for what is under the cursor, backspace goes back to where one was, esc
// leaves; the engine is asked nothing but what is looked for.
func TestSearchNext(t *testing.T) {
	const ask = "jjRdot in the name of a blueprint<enter>"
	for _, c := range []struct{ name, keys, question, says string }{
		{"typed", ask, "dot in the name of a blueprint", ""},
		{"a line of text", ask + "<enter>", "docs/blueprints.rst:12", ""},
		{"an entity", ask + "j<enter>", "src/flask/blueprints.py:Blueprint.__init__", ""},
		{"its code", ask + "jjj<enter>", "src/flask/blueprints.py:Blueprint.__init__", ""},
		{"a hint", ask + "G<enter>", "dot in the name of a blueprint in:src/flask", ""},
		{"the heading", ask + "g<enter>", "dot in the name of a blueprint", "enter: put the cursor on something found, or on a line that begins with next:"},
		{"back", ask + "j<enter><backspace>", "dot in the name of a blueprint", ""},
		{"back to where it was", ask + "jj<enter><backspace><enter>", "src/flask/blueprints.py:Blueprint.__init__", ""},
		{"nothing before", ask + "<backspace>", "dot in the name of a blueprint", "backspace: there was no question before"},
		{"anew", ask + "/<ctrl+u>x.py:3<enter>", "x.py:3", ""},
		{"anew, left", ask + "/more<esc>", "dot in the name of a blueprint", ""},
		{"nothing", "jjR  <enter>", "", "there is nothing to look for yet"},
		{"closed while typing", "jjRword<esc>", "closed", ""},
		{"closed", ask + "<esc>", "closed", ""},
		{"closed by its key", ask + "R", "closed", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, fakeWhole(), 120, 40, searched)
			b.keys(c.keys)
			question := "closed"
			if b.w.sheet != nil {
				question = b.w.sheet.search.question()
			}
			if question != c.question {
				t.Errorf("shows %q, want %q", question, c.question)
			}
			if said, _ := b.w.toasts.shown(b.w.now); said.text != c.says {
				t.Errorf("says %q, want %q", said.text, c.says)
			}
			if len(b.f.calls) > 0 {
				t.Errorf("the engine was asked %q", b.f.calls)
			}
		})
	}
}

// A question that takes long blocks nothing; esc gives it up and has it typed again,
// and its late answer is dropped, as is that of a question before.
func TestSearchGivenUp(t *testing.T) {
	var contexts []context.Context
	b := open(t, fakeWhole(), 120, 40, func(o *Options) {
		o.Search = func(ctx context.Context, key sessions.Key, q search.Query) (search.Answer, []search.Hit, error) {
			contexts = append(contexts, ctx)
			return fakeSearch(ctx, key, q)
		}
	})
	has := func(want string) bool { return strings.Contains(ansi.Strip(b.w.View()), want) }
	b.keys("jjRslow")
	late := b.w.route(keyMsg(t, "enter"))
	if !has("looking… /slow") || !has("esc gives up") {
		t.Errorf("not looking:\n%s", b.w.View())
	}
	answer := late()
	b.keys("<esc>")
	if contexts[0].Err() == nil || b.w.sheet == nil || !b.w.sheet.search.typing || b.w.sheet.search.input.Value() != "slow" {
		t.Error("esc did not give up")
	}
	b.send(answer)
	if has("0 found") {
		t.Error("the answer that was given up is shown")
	}
	first := b.w.route(keyMsg(t, "enter"))
	b.keys("/er")
	second := b.w.route(keyMsg(t, "enter"))
	b.send(second())
	b.send(first())
	if !has("[slower]: 0 found") || has("[slow]: 0 found") {
		t.Errorf("not the newest answer:\n%s", b.w.View())
	}
	last := b.w.route(keyMsg(t, "/"))
	if last != nil {
		t.Error("/ asked something")
	}
	b.keys("st")
	last = b.w.route(keyMsg(t, "enter"))
	last()
	b.w.closeSheet()
	if contexts[len(contexts)-1].Err() == nil {
		t.Error("closing does not end the search")
	}
}

func TestSearchWhyNot(t *testing.T) {
	for _, c := range []struct {
		name, keys, want string
		change           func(*Options)
	}{
		{"no tool", "jjR", "R: nothing is indexed: tools.enable_search is false in this run", nil},
		{"read only", "jjR", "R: read only: this run is not driven from here", func(o *Options) { o.Commands = nil; searched(o) }},
		{"a group", "kR", "R: choose one trajectory first (a group is chosen)", searched},
		{"ended", "R", "R: flask-4045#0 has ended", searched},
		{"evaluating", "/xarray-3305#3<enter>R", "R: its run stage is over and its sandbox closed", searched},
		{"queued", "/777#3<enter>R", "R: its sandbox is not open yet", searched},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, fakeWhole(), 120, 40, c.change)
			b.keys(c.keys)
			if said, _ := b.w.toasts.shown(b.w.now); said.text != c.want || b.w.sheet != nil {
				t.Errorf("says %q, want %q", said.text, c.want)
			}
		})
	}
}

// The line is the query and the query is the line.
func TestQuestionLine(t *testing.T) {
	for line, want := range map[string]search.Query{
		"in_bulk": {Terms: []string{"in_bulk"}},
		"crash when a file has no name in:django/db kind:method": {Terms: []string{"crash when a file has no name"}, Path: "django/db", Kind: "method"},
		"callers:query.py:QuerySet.in_bulk":                      {Terms: []string{"callers:query.py:QuerySet.in_bulk"}},
		`x in:"a b/*.py"`:                                        {Terms: []string{"x"}, Path: "a b/*.py"},
		"pattern:except $E: pass in:src/**":                      {Pattern: "except $E: pass", Path: "src/**"},
		"query.py:120,7":                                         {Path: "query.py", Lines: []int{120, 7}},
		"in:src":                                                 {Path: "src"},
	} {
		if got := readQuestion(line); !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %+v, want %+v", line, got, want)
		}
		if got := writeQuestion(want); got != line {
			t.Errorf("%+v is %q, want %q", want, got, line)
		}
	}
	for line, want := range map[string]search.Query{
		"  kind:class   two  spaces ": {Terms: []string{"two  spaces"}, Kind: "class"},
		"query.py:3 in:src":           {Terms: []string{"query.py:3"}, Path: "src"},
		"a.py:99999999999999999999":   {Path: "a.py"},
		"":                            {},
	} {
		if got := readQuestion(line); !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %+v, want %+v", line, got, want)
		}
	}
}

// Lines of answers and the hits that they name, as search writes them.
func TestHitLines(t *testing.T) {
	entity := search.Hit{Path: "a.py", Kind: "method", Qualified: "A.f", Start: 12, End: 20}
	text := search.Hit{Path: "a.py", Kind: "text", Qualified: "A.f", Start: 12, End: 12}
	for _, c := range []struct {
		line string
		hit  search.Hit
		want bool
	}{
		{"a.py:A.f (method, lines 12-20) def f(self)", entity, true},
		{"a.py:A.ff (method, lines 12-20)", entity, false},
		{"a.py:12 (in A.f): x = 1", text, true},
		{"a.py:12-14: x = 1", text, true},
		{"a.py:120: x = 1", text, false},
		{"a.py (file, 30 lines)", search.Hit{Path: "a.py", Kind: "file", Start: 1, End: 30}, true},
		{"a.pyx (file, 30 lines)", search.Hit{Path: "a.py", Kind: "file", Start: 1, End: 30}, false},
		{"src/", search.Hit{Path: "src", Kind: "directory"}, true},
	} {
		if got := isHitLine(c.line, c.hit); got != c.want {
			t.Errorf("%q names %s: %v", c.line, c.hit.ID(), got)
		}
	}
}

// Whatever a repository holds, the screen keeps its shape.
func TestHostileSearch(t *testing.T) {
	hit := search.Hit{Path: hostile, Kind: "function", Qualified: hostile, Start: 1, End: 2}
	for _, wh := range [][2]int{{80, 24}, {60, 20}, {41, 11}} {
		b := open(t, fakeWhole(), wh[0], wh[1], func(o *Options) {
			o.Search = func(context.Context, sessions.Key, search.Query) (search.Answer, []search.Hit, error) {
				return search.Answer{Text: hit.ID() + " (function)\n     1\t" + hostile, Hints: []search.Hint{{Query: search.Query{Terms: []string{hostile}}, Text: "next: " + hostile}}}, []search.Hit{hit}, nil
			}
		})
		for _, keys := range []string{"jjR", "a file<enter>", "G", "<enter>", "/", "x<enter>", "<backspace>"} {
			b.keys(keys)
			for i, r := range strings.Split(b.w.View(), "\n") {
				checkEscapes(t, r)
				// What is typed is shown in full, without its controls.
				if n := ansi.StringWidth(r); n != wh[0] || keys[0] != '/' && keys[0] != 'x' && strings.Contains(r, "owned") {
					t.Errorf("%v %q: row %d is %d columns wide: %q", wh, keys, i, n, r)
				}
			}
		}
	}
}
