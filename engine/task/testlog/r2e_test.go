package testlog

import (
	"maps"
	"strings"
	"testing"
)

func TestR2E(t *testing.T) {
	found := R2E(logFile(t, "pytest-8.3.txt"))
	expected := want(t, `
. test_plain
. test_param[a b]
. test_param[x[0]]
. test_param[gr\xfcn]
. test_param[/tmp/shop/list.txt]
. test_param[//share/x]
. test_param[]
. TestCart.test_add
. TestCart.test_total[1]
F test_fails
F test_param[a
F TestCart.test_total[2]
E test_error
`)
	expected[""] = Errored // ERROR test_broken.py
	if !maps.Equal(found, expected) {
		t.Errorf("%v", found)
	}
	// Colours of every kind and carriage returns go; names are not coloured.
	delete(expected, "")
	if found = R2E(strings.ReplaceAll(logFile(t, "pytest-8.3-colour.txt"), "\n", "\r\n")); !maps.Equal(found, expected) {
		t.Errorf("coloured: %v", found)
	}
	for log, n := range map[string]int{
		"PASSED a::b\n": 0, // no summary
		"short test summary info\nPASSED a::b\nFAILED a::c::d - x::y\nXFAIL a::z\nSKIPPED [1] a.py:3: no\n": 2,
		"short test summary info\nPASSED a::b\nshort test summary info\nPASSED a::c\n":                      1, // up to the next
	} {
		if found := R2E(log); len(found) != n {
			t.Errorf("%q: %v", log, found)
		}
	}
}

func TestR2EMatch(t *testing.T) {
	parse := func(text string) Expected {
		e, err := ParseExpected(text)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	row := parse(`{"a.b": "PASSED", "\u001b[1mc\u001b[0m - AssertionError": "FAILED"}`)
	for name, c := range map[string]struct {
		row      Expected
		found    Results
		ok       bool
		exactly  bool
		note     string
		exactNot string
	}{
		"same":        {row, Results{"a.b": Passed, "c": Failed}, true, true, "all 2 results as expected", ""},
		"status":      {row, Results{"a.b": Failed, "c": Failed}, false, false, `1 of 2 results not as expected, "a.b" among them`, ""},
		"one more":    {row, Results{"a.b": Passed, "c": Failed, "d": Passed}, false, false, "3 results, 2 expected", ""},
		"one fewer":   {row, Results{"a.b": Passed}, false, false, "1 results, 2 expected", ""},
		"other name":  {row, Results{"a.b": Passed, "d": Failed}, false, false, `1 of 2 results not as expected, "d" among them`, ""},
		"empty name":  {parse(`{"": "ERROR", "a": "PASSED"}`), Results{"": Passed, "a": Passed}, true, false, "all 2 results as expected", `1 of 2 results not as expected, "" among them`},
		"empty other": {row, Results{"a.b": Passed, "": Errored}, true, false, "all 2 results as expected", `1 of 2 results not as expected, "" among them`},
	} {
		if ok, note := c.row.MatchSkyRL(c.found); ok != c.ok || note != c.note {
			t.Errorf("%s, SkyRL: %v %q", name, ok, note)
		}
		if c.exactNot == "" {
			c.exactNot = c.note
		}
		if ok, note := c.row.Match(c.found); ok != c.exactly || note != c.exactNot {
			t.Errorf("%s: %v %q", name, ok, note)
		}
	}
	for _, broken := range []string{"", "[]", `{"a": 1}`, "{}", "null"} {
		if _, err := ParseExpected(broken); err == nil {
			t.Errorf("%q is taken", broken)
		}
	}
}
