package cli

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"rollbench/engine"
	"rollbench/sessions"
)

// A run of before a tool existed does not get it by going on.
func TestAResumedRunGetsNoNewTool(t *testing.T) {
	for text, want := range map[string]bool{
		`{"tools": {"enable_bash_tool": true}}`:                         false,
		`{"tools": {"enable_bash_tool": true, "enable_search": true}}`:  true,
		`{"tools": {"enable_bash_tool": true, "enable_search": false}}`: false,
	} {
		c := &config{}
		c.Tools.Search = true // the default
		if err := recorded(sessions.Run{ID: "r-1", Config: json.RawMessage(text)}, c); err != nil || c.Tools.Search != want || !c.Tools.Bash {
			t.Errorf("%s: search %t, %v", text, c.Tools.Search, err)
		}
	}
}

// That a run goes on with other texts of its tools is said, once.
func TestAResumedRunWithOtherTexts(t *testing.T) {
	c := &config{}
	c.Tools.Bash = true
	_, specs, err := engine.Scaffold(c.Config, nil)
	if err != nil {
		t.Fatal(err)
	}
	same, err := digest(specs)
	if err != nil {
		t.Fatal(err)
	}
	for texts, want := range map[string]bool{same: false, "": false, "0123456789ab": true} {
		changed, err := sameTools(sessions.Run{Print: json.RawMessage(`{"tool_texts": "` + texts + `"}`)}, c, nil)
		if err != nil || strings.Contains(changed, "described otherwise") != want {
			t.Errorf("%q: %q, %v", texts, changed, err)
		}
	}
}

// fill every field of a value, so that none is left out of its JSON; what it is filled
// with differs by n.
func fill(v reflect.Value, n int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), n)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(v.Index(i), n)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString(strings.Repeat("x", n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Interface:
		v.Set(reflect.ValueOf(strings.Repeat("x", n)))
	default:
		panic("a field of kind " + v.Kind().String())
	}
}

// A run goes on as it was started, with all of it and with what it left empty, whatever
// a person has configured since. Only where GPUs are seen may be of today.
func TestAResumedRunKeepsItsConfiguration(t *testing.T) {
	for _, n := range []int{0, 2} {
		then, today := &config{Config: engine.Config{Endpoints: make(engine.Endpoints, 1)}}, &config{}
		if n > 0 {
			fill(reflect.ValueOf(then).Elem(), n)
		}
		fill(reflect.ValueOf(today).Elem(), 3)
		want, err := json.Marshal(then)
		if err != nil {
			t.Fatal(err)
		}
		if err := recorded(sessions.Run{ID: "r-1", Config: want}, today); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			today.GPU = engine.GPUs{}
		}
		if got, err := json.Marshal(today); err != nil || string(got) != string(want) {
			t.Errorf("filled with %d it goes on with\n%s, %v; want\n%s", n, got, err, want)
		}
	}
}
