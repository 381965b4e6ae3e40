package cli

import (
	"testing"
	"time"

	"rollbench/ui/replay"
)

func TestParseSpeed(t *testing.T) {
	for s, want := range map[string]float64{"1": 1, "0.1": 0.1, "x10": 10, "×2.5": 2.5, "1000x": 1000, "max": replay.Max} {
		if got, err := parseSpeed(s); err != nil || got != want {
			t.Errorf("%s is %g, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "0", "0.09", "1001", "-1", "NaN", "Inf", "fast", "1e9"} {
		if got, err := parseSpeed(s); err == nil {
			t.Errorf("%q is taken for %g", s, got)
		}
	}
}

func TestParseFrom(t *testing.T) {
	const length = 20 * time.Minute
	for s, want := range map[string]time.Duration{"0s": 0, "12m30s": 750 * time.Second, "00:12:30": 750 * time.Second, "12:30": 750 * time.Second, "1:00:00": time.Hour,
		"50%": 10 * time.Minute, "0%": 0, "100%": length, "1.5s": 1500 * time.Millisecond} {
		if got, err := parseFrom(s, length); err != nil || got != want {
			t.Errorf("%s is %s, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "5", "-1s", "101%", "-1%", "NaN%", "%", "1:2:3:4", "a:b", ":", "-1:00", "99999999999:00"} {
		if got, err := parseFrom(s, length); err == nil {
			t.Errorf("%q is taken for %s", s, got)
		}
	}
}

func FuzzParseFrom(f *testing.F) {
	f.Add("12:30")
	f.Add("50%")
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := parseFrom(s, time.Hour); err == nil && d < 0 {
			t.Errorf("%q is %s", s, d)
		}
	})
}
