package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// arg is one argument of a call as it is edited: a string as its text,
// anything else as JSON.
type arg struct {
	name string
	text string
	json bool
}

// splitArgs takes a JSON object apart in the order it was written. ok is false
// when it is not an object: it is then edited as a whole.
func splitArgs(raw string) (args []arg, ok bool) {
	dec := json.NewDecoder(strings.NewReader(raw))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, false
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, false
		}
		a := arg{name: fmt.Sprint(name), text: string(value), json: true}
		var s string
		if value[0] == '"' && json.Unmarshal(value, &s) == nil {
			a.text, a.json = s, false
		}
		args = append(args, a)
	}
	if _, err := dec.Token(); err != nil {
		return nil, false
	}
	return args, !dec.More()
}

// joinArgs writes the object again. A value that has to be JSON and is not is
// an error that names the argument.
func joinArgs(args []arg) (string, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, a := range args {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(a.name) + ": ")
		if !a.json {
			b.WriteString(quote(a.text))
			continue
		}
		if !json.Valid([]byte(a.text)) {
			return "", fmt.Errorf("argument %s: not valid JSON: %s", a.name, cleanLine(a.text))
		}
		b.WriteString(strings.TrimSpace(a.text))
	}
	b.WriteByte('}')
	return b.String(), nil
}

// quote a string as JSON without escaping <, > and &: a person reads this.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a string always encodes
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
