package tools

import (
	"strings"
	"testing"
)

func TestFinish(t *testing.T) {
	r := newTools(t, newFake(), Limits{})
	for arguments, want := range map[string]string{
		`{"message": " done\n"}`:     " done\n",
		`{}`:                         "",
		``:                           "",
		`{"message": "\u001b[31mx"}`: "x",
	} {
		got := call(t, r, "finish", arguments)
		if !got.Finish || got.Status != OK || got.Text != want {
			t.Errorf("%s: %+v", arguments, got)
		}
	}
	if got := call(t, r, "finish", `{"message": "`+strings.Repeat("x", 40000)+`"}`); len(got.Text) != 30000 || len(got.Full) != 40000 {
		t.Errorf("%d, full %d", len(got.Text), len(got.Full))
	}
	if got := call(t, r, "finish", `{"note": "x"}`); got.Finish || got.Status != Invalid {
		t.Errorf("%+v", got)
	}
}
