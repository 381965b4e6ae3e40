package ui

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// doInject asks for feedback and puts it before the next model call.
func doInject(w *Workbench) tea.Cmd {
	t, _ := w.list.chosen()
	w.dialog = &form{
		name: "Inject feedback into " + cleanLine(t.Key.String()),
		help: "A message before its next model call: a user's, or a tool's, as one more result of the last call. The trajectory counts as intervened; the message is never trained on.",
		fields: []field{
			{name: "feedback", editor: newEditor("", false), ext: ".txt"},
			{name: "as", editor: newEditor("user", true), ext: ".txt", options: []string{"user", "tool"}, hint: "user or tool"},
		},
		edit: w.external,
		send: func(v []string) (tea.Cmd, error) {
			if strings.TrimSpace(v[0]) == "" {
				return nil, errors.New("there is no text yet")
			}
			as := strings.TrimSpace(v[1])
			said := "feedback goes to " + t.Key.String() + " before its next model call"
			switch as {
			case "user":
				return w.verb(said, func(c Commands) error { return c.Inject(t.Key, v[0]) }), nil
			case "tool":
				return w.verb(said+", as a tool's", func(c Commands) error { return c.InjectAs(t.Key, as, v[0]) }), nil
			}
			return nil, fmt.Errorf("as is %q: write user or tool", as)
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
	d, ok := newDraft(c.Name, c.Arguments)
	cf := &callForm{tools: w.opt.Tools, calls: []*draft{d}, json: !ok, check: "schema"}
	f := cf.form(&form{
		name: "Edit call " + strconv.Itoa(index+1) + " of " + strconv.Itoa(len(w.turns.waits)) + " · " + cleanLine(t.Key.String()),
		help: "The reply is kept as superseded; the call as edited is marked as made by a person and is not trained on. It still waits to run afterwards.",
		edit: w.external,
	})
	f.at = firstField(c.Name, len(d.order)+1)
	unchanged := c.Arguments // broken ones are there to be mended
	if !cf.json {
		if text, err := cf.arguments(d); err == nil {
			unchanged = text
		}
	}
	f.send = func(v []string) (tea.Cmd, error) {
		cf.take(v)
		made, err := cf.made()
		if err != nil {
			return nil, err
		}
		name, text := made[0].Name, made[0].Arguments
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

func checkArgs(text string) error {
	if _, ok := splitArgs(text); !ok {
		return errors.New("the arguments are not a JSON object")
	}
	return nil
}
