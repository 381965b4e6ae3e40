package ui

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"time"

	"rollbench/engine"
	"rollbench/sessions"
)

// viewEvents lists the events of a trajectory, one block each.
func viewEvents(events []sessions.Event) *page {
	s := &section{}
	for _, e := range events {
		r := plain
		switch e.Kind {
		case sessions.KindWarning, sessions.KindBreak, sessions.KindTampering, sessions.KindDisagreement:
			r = warn
		case sessions.KindCause:
			r = fail
		case sessions.KindCommand, sessions.KindIntervention, sessions.KindForked:
			r = person
		}
		text := cleanLine(string(e.Kind))
		if detail := eventWords(e); detail != "" {
			text = pad(text, 14) + " " + detail
		}
		s.add(block{id: fmt.Sprint(e.Seq), label: wallClock(e.Time), labelRole: dim, body: r, text: text, fold: foldPrompt})
	}
	if len(events) == 0 {
		s.note("No events yet.")
	}
	return onePage(s)
}

// eventWords is what an event says: the limits in words, all else as its fields.
func eventWords(e sessions.Event) string {
	if text, is := forkWords(e); is {
		return text
	}
	var p sessions.Limits
	if e.Kind != sessions.KindLimits || json.Unmarshal(e.Data, &p) != nil {
		return eventDetail(e.Data)
	}
	text := cleanLine(p.Who) + ": " + limitsLine(limitsOf(p)) + tuningLine(engine.TuningOf(p))
	if p.Why != "" {
		text += " · " + cleanLine(p.Why)
	}
	return text
}

// eventDetail writes a payload as key=value, in the order of the keys, without
// what says nothing.
func eventDetail(data json.RawMessage) string {
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return cleanLine(string(data))
	}
	keys := make([]string, 0, len(fields))
	for k := range fields {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	parts := []string{}
	for _, k := range keys {
		if v := eventValue(k, fields[k]); v != "" {
			parts = append(parts, strings.TrimSuffix(k, "_ns")+"="+cleanLine(v))
		}
	}
	return strings.Join(parts, " ")
}

// eventValue of a field, "" when it says nothing: empty, absent, a count of 0.
// A reward, an exit code and a number of the verifier say something at 0.
func eventValue(key string, value any) string {
	switch x := value.(type) {
	case nil:
		return ""
	case string:
		return x
	case bool:
		if !x && key != "open" {
			return ""
		}
	case float64:
		if x == 0 && key != "reward" && key != "exit" {
			return ""
		}
		if strings.HasSuffix(key, "_ns") {
			return took(time.Duration(x))
		}
	}
	b, err := json.Marshal(value)
	if err != nil { // decoded from JSON a moment ago
		return fmt.Sprint(value)
	}
	if text := string(b); text != "{}" && text != "[]" {
		return text
	}
	return ""
}
