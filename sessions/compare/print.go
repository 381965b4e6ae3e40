package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"rollbench/sessions"
)

// Setting is one in which the fingerprints of two runs differ. A value is JSON, ""
// where the run's fingerprint has none.
type Setting struct {
	Key string `json:"key"` // dotted
	A   string `json:"a"`
	B   string `json:"b"`
}

// ofTask begins the keys of tasks, which end with the id of an instance.
const ofTask = "tasks."

// IsTask says that the difference is one of an instance: its texts, image, limits.
func (s Setting) IsTask() bool { return strings.HasPrefix(s.Key, ofTask) }

// Prints lists the settings in which two fingerprints differ, by key. Which
// instances a run has is not among them: what both have is told by the report.
func Prints(a, b sessions.Run) ([]Setting, error) {
	x, err := flatten(a)
	if err != nil {
		return nil, err
	}
	y, err := flatten(b)
	if err != nil {
		return nil, err
	}
	list := []Setting{}
	add := func(s Setting) {
		if s.A != s.B && !(s.IsTask() && (s.A == "" || s.B == "")) {
			list = append(list, s)
		}
	}
	for key, v := range x {
		add(Setting{key, v, y[key]})
	}
	for key, w := range y {
		if _, both := x[key]; !both {
			add(Setting{key, "", w})
		}
	}
	slices.SortFunc(list, func(s, t Setting) int { return strings.Compare(s.Key, t.Key) })
	return list, nil
}

// eachTask stands where a run of an older version has one digest of all its tasks.
const eachTask = "one digest each"

// flatten a run's fingerprint into its leaves; a list is one.
func flatten(run sessions.Run) (map[string]string, error) {
	out := map[string]string{}
	if len(run.Print) == 0 {
		return out, nil
	}
	var print map[string]json.RawMessage
	if err := json.Unmarshal(run.Print, &print); err != nil {
		return nil, fmt.Errorf("read the fingerprint of run %s: %w", run.ID, err)
	}
	delete(print, "instances")
	if tasks := print["tasks"]; len(tasks) > 0 && tasks[0] != '"' {
		out["tasks"] = eachTask
	}
	leaves("", print, out)
	return out, nil
}

func leaves(under string, fields map[string]json.RawMessage, out map[string]string) {
	for key, value := range fields {
		key = strings.TrimPrefix(under+"."+key, ".")
		var inner map[string]json.RawMessage
		if err := json.Unmarshal(value, &inner); err == nil && len(inner) > 0 {
			leaves(key, inner, out)
			continue
		}
		var b bytes.Buffer
		if err := json.Compact(&b, value); err != nil { // it was decoded a moment ago
			b.Write(value)
		}
		out[key] = b.String()
	}
}
