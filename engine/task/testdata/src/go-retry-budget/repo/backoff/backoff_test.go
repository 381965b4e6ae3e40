package backoff

import (
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	if err := (Policy{Base: 1, Max: 2}).Check(); err != nil {
		t.Error(err)
	}
	for _, p := range []Policy{{}, {Base: 2, Max: 1}, {Base: -1, Max: 1}} {
		if p.Check() == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
}

func TestDelayIsBounded(t *testing.T) {
	p := Policy{Base: 10 * time.Millisecond, Max: 50 * time.Millisecond}
	if d := p.Delay(10); d != p.Max {
		t.Errorf("delay 10 is %v, want %v", d, p.Max)
	}
}
