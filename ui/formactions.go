package ui

import (
	"errors"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// doInject asks for feedback and puts it before the next model call.
func doInject(w *Workbench) tea.Cmd {
	t, _ := w.list.chosen()
	w.dialog = &form{
		name:   "Inject feedback into " + cleanLine(t.Key.String()),
		help:   "A user message before its next model call. The trajectory counts as intervened; the message is never trained on.",
		fields: []field{{name: "feedback", editor: newEditor("", false), ext: ".txt"}},
		edit:   w.external,
		send: func(v []string) (tea.Cmd, error) {
			if strings.TrimSpace(v[0]) == "" {
				return nil, errors.New("there is no text yet")
			}
			return w.verb("feedback goes to "+t.Key.String()+" before its next model call", func(c Commands) error { return c.Inject(t.Key, v[0]) }), nil
		},
	}
	return nil
}

// doReject asks for a reason and answers the waiting calls with it.
func doReject(w *Workbench) tea.Cmd {
	t, _ := w.list.chosen()
	w.dialog = &form{
		name:   "Reject the call of " + cleanLine(t.Key.String()),
		help:   "The call does not run; the policy reads this reason as its observation. The trajectory counts as intervened.",
		fields: []field{{name: "reason", editor: newEditor("", false), ext: ".txt"}},
		edit:   w.external,
		send: func(v []string) (tea.Cmd, error) {
			if strings.TrimSpace(v[0]) == "" {
				return nil, errors.New("give a reason: the policy reads it")
			}
			return w.verb("the call of "+t.Key.String()+" is rejected", func(c Commands) error { return c.Reject(t.Key, v[0]) }), nil
		},
	}
	return nil
}

// doEdit opens the waiting call (the one under the cursor when a turn has
// several) as a form: its tool and one field for each argument.
func doEdit(w *Workbench) tea.Cmd {
	t, _ := w.list.chosen()
	if t.HeldAt == sessions.AfterTool {
		return doEditObservation(w)
	}
	index := w.waitingCall()
	c := w.turns.waits[index]
	args, asForm := splitArgs(c.Arguments)
	f := &form{
		name: "Edit call " + strconv.Itoa(index+1) + " of " + strconv.Itoa(len(w.turns.waits)) + " · " + cleanLine(t.Key.String()),
		help: "The reply is kept as superseded; the call as edited is marked as made by a person and is not trained on. It still waits to run afterwards.",
		edit: w.external,
	}
	tool := field{name: "tool", editor: newEditor(c.Name, true), ext: ".txt"}
	if asForm {
		f.fields = argFields(tool, args)
	} else {
		f.fields = []field{tool, {name: "arguments", editor: newEditor(c.Arguments, false), ext: ".json"}}
	}
	f.at = firstField(c.Name, len(f.fields))
	unchanged, err := formArgs(f.values(), args, asForm)
	if err != nil { // broken arguments are there to be mended
		unchanged = c.Arguments
	}
	f.swap = func(f *form) error { return swapArgs(f, &args, &asForm) }
	f.send = func(v []string) (tea.Cmd, error) {
		text, err := formArgs(v, args, asForm)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSpace(v[0])
		if name == "" {
			return nil, errors.New("the call needs a tool's name")
		}
		if name == c.Name && text == unchanged {
			return nil, errors.New("nothing is changed yet: esc leaves the call as it is")
		}
		return w.verb("the call of "+t.Key.String()+" is replaced: c runs it", func(cmd Commands) error { return cmd.EditCall(t.Key, index, name, text) }), nil
	}
	w.dialog = f
	return nil
}

// firstField is the one a person most likely came for: of an edit what it puts
// in, which is its last argument, else the first argument.
func firstField(tool string, n int) int {
	if tool == "str_replace_editor" {
		return n - 1
	}
	return min(1, n-1)
}

// waitingCall is the call under the cursor, else the first.
func (w *Workbench) waitingCall() int { return w.numberUnderCursor(".c", len(w.turns.waits)) }

// numberUnderCursor is that of the call (.c) or observation (.o) of the last turn
// under the cursor, of n; else 0.
func (w *Workbench) numberUnderCursor(mark string, n int) int {
	if s, d := w.scroller(), w.document(); s != nil && w.focus == viewFocus {
		if b := s.block(d, w.viewWidth()); b != nil {
			if _, text, ok := strings.Cut(b.id, mark); ok {
				if i, err := strconv.Atoi(text); err == nil && i < n && s.cursor.section == w.turns.last-1 {
					return i
				}
			}
		}
	}
	return 0
}

// argFields names the file endings by content, so that $EDITOR highlights them.
func argFields(tool field, args []arg) []field {
	fields := []field{tool}
	for _, a := range args {
		ext := ".txt"
		switch {
		case a.json:
			ext = ".json"
		case a.name == "command" && tool.text() != "str_replace_editor":
			ext = ".sh"
		}
		fields = append(fields, field{name: a.name, editor: newEditor(a.text, a.json), ext: ext})
	}
	return fields
}

// formArgs is the arguments' JSON text from the fields as they stand.
func formArgs(values []string, args []arg, asForm bool) (string, error) {
	if !asForm {
		return values[1], checkArgs(values[1])
	}
	out := make([]arg, len(args))
	for i, a := range args {
		out[i] = arg{a.name, values[i+1], a.json}
	}
	return joinArgs(out)
}

func checkArgs(text string) error {
	if _, ok := splitArgs(text); !ok {
		return errors.New("the arguments are not a JSON object")
	}
	return nil
}

// swapArgs shows the arguments as one JSON text, or as fields again.
func swapArgs(f *form, args *[]arg, asForm *bool) error {
	text, err := formArgs(f.values(), *args, *asForm)
	if err != nil {
		return err
	}
	tool := f.fields[0]
	if *asForm {
		f.fields = []field{tool, {name: "arguments", editor: newEditor(text, false), ext: ".json"}}
	} else {
		*args, _ = splitArgs(text) // checked by formArgs
		f.fields = argFields(tool, *args)
	}
	*asForm = !*asForm
	f.at = firstField(tool.text(), len(f.fields))
	return nil
}
