package ui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"rollbench/engine"
)

// tuningField is a setting of the dispatcher that is no limit.
type tuningField struct {
	name    string
	options []string // what it may be; nil: anything that set takes
	show    func(engine.Tuning) string
	set     func(*engine.Tuning, string) error
}

// tuningFields in the order of the form.
var tuningFields = []tuningField{
	{"type", engine.Types(), func(t engine.Tuning) string { return t.Type }, func(t *engine.Tuning, v string) error { t.Type = v; return nil }},
	{"order", engine.Orders(), func(t engine.Tuning) string { return t.Order }, func(t *engine.Tuning, v string) error { t.Order = v; return nil }},
	{"adaptive", []string{"kv", "off"}, func(t engine.Tuning) string { return or(t.Adaptive, "off") }, func(t *engine.Tuning, v string) error {
		t.Adaptive = strings.TrimSuffix(v, "off")
		return nil
	}},
	{"adaptive_min", nil, func(t engine.Tuning) string { return strconv.Itoa(t.AdaptiveMin) }, func(t *engine.Tuning, v string) error { return wholeNumber(&t.AdaptiveMin, v) }},
	{"adaptive_max", nil, func(t engine.Tuning) string { return strconv.Itoa(t.AdaptiveMax) }, func(t *engine.Tuning, v string) error { return wholeNumber(&t.AdaptiveMax, v) }},
	{"stall_after", nil, func(t engine.Tuning) string { return brief(t.StallAfter) }, func(t *engine.Tuning, v string) error { return t.StallAfter.UnmarshalText([]byte(v)) }},
}

// tunable are the fields where what is in force is known.
func tunable(now engine.Tuning) []tuningField {
	if now.Order == "" {
		return nil
	}
	return tuningFields
}

func wholeNumber(to *int, text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return fmt.Errorf("%q: use a whole number", text)
	}
	*to = n
	return nil
}

// brief is a duration without parts that are 0: 1m, not 1m0s.
func brief(d engine.Duration) string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// tuningChanged is what differs: order group → fifo, … Nothing where one is not known.
func tuningChanged(from, to engine.Tuning) []string {
	var parts []string
	for _, f := range tunable(from) {
		if a, b := f.show(from), f.show(to); a != b {
			parts = append(parts, fmt.Sprintf("%s %s → %s", f.name, cleanLine(a), cleanLine(b)))
		}
	}
	return parts
}

// offerTuning lists what a setting may be.
func offerTuning(name string) []offer {
	var out []offer
	for _, f := range tuningFields {
		if f.name == name {
			for _, o := range f.options {
				out = append(out, offer{o, ""})
			}
		}
	}
	return out
}

// tuningLine is all of it, " · type async_pipeline · order group · …"; nothing where
// it is not known.
func tuningLine(t engine.Tuning) string {
	var b strings.Builder
	for _, f := range tunable(t) {
		b.WriteString(" · " + f.name + " " + cleanLine(f.show(t)))
	}
	return b.String()
}
