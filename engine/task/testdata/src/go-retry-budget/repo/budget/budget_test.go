package budget

import "testing"

func TestTake(t *testing.T) {
	b, err := New(2, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, true, false} {
		if got := b.Take(); got != want {
			t.Errorf("take %d is %v, want %v", i, got, want)
		}
	}
	if b.Left() != 0 {
		t.Errorf("%d left, want 0", b.Left())
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := New(0, 1); err == nil {
		t.Error("a budget without tokens is accepted")
	}
}
