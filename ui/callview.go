package ui

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"rollbench/sessions"
)

// callView is a tool call as a person wants to read it.
type callView struct {
	label string
	text  string // not clean yet
	kind  kind
	lang  lang
}

// viewCall renders the arguments of a call: a command as shell text, an edit
// as a small diff, anything else key by key. Arguments that are not a JSON
// object are shown as the model wrote them.
func viewCall(c sessions.Call) callView {
	args, ok := callArgs(c.Arguments)
	if !ok {
		return callView{label: toolLabel(c.Name), text: c.Arguments}
	}
	command, isText := args["command"].(string)
	switch {
	case c.Name == "str_replace_editor" && isText:
		return viewEdit(command, args)
	case isText && onlyKeys(args, "command", "is_input", "timeout"):
		v := callView{label: toolLabel(c.Name), text: command, lang: shellLang}
		if input := fmt.Sprint(args["is_input"]); input == "true" {
			v.label, v.lang = "input", noLang
		}
		return v
	}
	v := callView{label: toolLabel(c.Name), text: keyByKey(args)}
	if _, isText := args["code"].(string); isText && len(args) == 1 {
		v.lang = pythonLang
	}
	return v
}

func callArgs(text string) (map[string]any, bool) {
	var args map[string]any
	if err := json.Unmarshal([]byte(text), &args); err != nil || args == nil {
		return nil, false
	}
	return args, true
}

// toolLabel fits a tool's name into the gutter.
func toolLabel(name string) string {
	switch name {
	case "execute_bash":
		return "bash"
	case "str_replace_editor":
		return "editor"
	}
	return cleanLine(name)
}

// viewEdit shows what an edit takes out and puts in; the file's own lines around
// it are in the observation.
func viewEdit(command string, args map[string]any) callView {
	v := callView{label: "editor", kind: diff}
	path := stringArg(args, "path")
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", command, path)
	switch command {
	case "view":
		if r, ok := args["view_range"].([]any); ok && len(r) == 2 {
			fmt.Fprintf(&b, " lines %v–%v", r[0], r[1])
		}
	case "insert":
		fmt.Fprintf(&b, " after line %v", args["insert_line"])
	}
	b.WriteByte('\n')
	for _, l := range diffLines(textLines(stringArg(args, "old_str")), textLines(stringArg(args, "new_str"))) {
		b.WriteString(l)
		b.WriteByte('\n')
	}
	for _, l := range diffLines(nil, textLines(stringArg(args, "file_text"))) {
		b.WriteString(l)
		b.WriteByte('\n')
	}
	v.text = b.String()
	return v
}

func stringArg(args map[string]any, key string) string {
	s, ok := args[key].(string)
	if !ok && args[key] != nil {
		return fmt.Sprint(args[key])
	}
	return s
}

// onlyKeys keeps a tool with further arguments from being shown as a bare command.
func onlyKeys(args map[string]any, keys ...string) bool {
	for k := range args {
		found := false
		for _, known := range keys {
			found = found || k == known
		}
		if !found {
			return false
		}
	}
	return true
}

// keyByKey writes each argument on its own line; strings as they are, a single
// string alone without its key.
func keyByKey(args map[string]any) string {
	keys := make([]string, 0, len(args))
	for k := range args {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var b strings.Builder
	for _, k := range keys {
		text, ok := args[k].(string)
		if !ok {
			data, err := json.Marshal(args[k])
			if err != nil { // decoded from JSON a moment ago
				data = []byte(fmt.Sprint(args[k]))
			}
			text = string(data)
		}
		if len(keys) == 1 {
			return text
		}
		fmt.Fprintf(&b, "%s: %s\n", k, strings.TrimRight(text, "\n"))
	}
	return strings.TrimRight(b.String(), "\n")
}
