//go:build linux

package sandbox

import (
	"testing"
)

// Another shell goes on with directory and exported environment, and with nothing
// else; it keeps marks of its own, by which its processes are killed.
func TestShellAdoptsAState(t *testing.T) {
	first := openShell(t)
	if _, err := first.Run(t.Context(), Command{Script: `mkdir d; cd d; export K='a  b' E=; hidden=1; f() { :; }`}); err != nil {
		t.Fatal(err)
	}
	state := first.(Carrier).State()
	if state.Dir != first.Dir() || state.Env == "" {
		t.Fatalf("state %+v in %s", state, first.Dir())
	}
	next, err := NewShell(t.Context(), &plain{}, ShellOptions{Dir: t.TempDir(), Group: "s2:"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := next.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := next.(Carrier).Adopt(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	r, err := next.Run(t.Context(), Command{Script: `echo "$K|${E-unset}|$hidden|$` + MarkVar + `"; type f >/dev/null 2>&1 || echo no f; [ "$PWD" = '` + first.Dir() + `' ] && echo here`})
	if want := "a  b|||s2.1:\nno f\nhere\n"; err != nil || string(r.Output) != want {
		t.Errorf("got %q, want %q (%v)", r.Output, want, err)
	}
	// The first one is as it was.
	if r, err = first.Run(t.Context(), Command{Script: `echo "$hidden"`}); err != nil || string(r.Output) != "1\n" {
		t.Errorf("the first shell: %q, %v", r.Output, err)
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	if err := next.(Carrier).Adopt(t.Context(), state); err == nil {
		t.Error("a closed shell took a state over")
	}
}
