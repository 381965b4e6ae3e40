package ui

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"rollbench/sessions"
)

// viewEvents lists the events of a trajectory, one block each.
func viewEvents(events []sessions.Event) *page {
	s := &section{}
	for _, e := range events {
		r := plain
		switch e.Kind {
		case sessions.KindWarning, sessions.KindBreak:
			r = warn
		case sessions.KindCause:
			r = fail
		case sessions.KindCommand, sessions.KindIntervention:
			r = person
		}
		text := cleanLine(string(e.Kind))
		if detail := eventDetail(e.Data); detail != "" {
			text = pad(text, 14) + " " + detail
		}
		s.add(block{id: fmt.Sprint(e.Seq), label: e.Time.Format("15:04:05"), labelRole: dim, body: r, text: text, fold: foldPrompt})
	}
	if len(events) == 0 {
		s.note("No events yet.")
	}
	return onePage(s)
}

// eventDetail writes a payload as key=value, in the order of the keys, without
// what says nothing (empty, null, zero times).
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
		v := ""
		switch x := fields[k].(type) {
		case nil:
			continue
		case string:
			v = x
		default:
			b, err := json.Marshal(x)
			if err != nil { // decoded from JSON a moment ago
				b = []byte(fmt.Sprint(x))
			}
			v = string(b)
		}
		if v != "" && v != "{}" && v != "[]" {
			parts = append(parts, k+"="+cleanLine(v))
		}
	}
	return strings.Join(parts, " ")
}
