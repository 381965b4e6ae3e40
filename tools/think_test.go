package tools

import "testing"

func TestThink(t *testing.T) {
	r, err := New(Env{Sandbox: newFake()}, Enabled{Think: true})
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]Result{
		`{"thought": "rm -rf /"}`: {Text: "Your thought has been logged.", Status: OK},
		`{"thought": ""}`:         {Text: "Your thought has been logged.", Status: OK},
		`{}`:                      {Text: `ERROR: think needs the argument "thought", which is missing. The arguments of think are: thought (a string, required).`, Status: Invalid},
	} {
		if got := call(t, r, "think", arguments); got.Text != want.Text || got.Status != want.Status || got.Finish {
			t.Errorf("%s: %+v", arguments, got)
		}
	}
}
