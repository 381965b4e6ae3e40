package ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/engine"
	"rollbench/sessions"
)

// changeKeys are the rows of the key table for what a person changes at a gate
// beside the call, and for marks.
func changeKeys() []binding {
	return []binding{
		{Binding: on("resample the reply that waits; compare the replies and pick one", "r"), name: "resample", scope: debugger, can: canResample, do: doResample},
		{Binding: on("run a shell command: to look, to change the sandbox, or instead of the call", "!"), verb: "command", scope: debugger, can: canByHand, do: doByHand},
		{Binding: on("raise the turns or the tokens of this trajectory", "l"), verb: "raise", scope: debugger, can: canInject, do: doRaise},
		{Binding: on("mask or drop it, tag it, note something", "t"), verb: "mark", scope: debugger, can: canMark, do: doMark},
	}
}

// canResample needs a reply that nothing has answered.
func canResample(w *Workbench) string {
	if why := canReject(w); why != "" {
		return why
	}
	if w.turns.turns[w.turns.last] == nil || w.turns.stale[w.turns.last] {
		return "its last turn is still being read"
	}
	return ""
}

// doResample compares the replies there are, and asks for some where there is one.
func doResample(w *Workbench) tea.Cmd {
	t, _ := w.list.chosen()
	if w.turns.replies > 1 {
		return w.loadReplies(t)
	}
	w.askReplies(t)
	return nil
}

// askReplies asks how many replies to sample.
func (w *Workbench) askReplies(t sessions.Trajectory) {
	w.dialog = &form{
		name:   "Resample turn " + strconv.Itoa(w.turns.last) + " of " + cleanLine(t.Key.String()),
		help:   "Fresh replies to the same prompt, in a run slot. All are kept; r then compares them. The trajectory counts as intervened, and the turn is not trained on, whichever reply is picked.",
		fields: []field{{name: "how many", editor: newEditor("1", true), ext: ".txt"}},
		edit:   w.external,
		send:   func(v []string) (tea.Cmd, error) { return w.sendResample(t, v[0]) },
	}
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}

// canEditObservation needs an answer that the policy has not read.
func canEditObservation(w *Workbench) string {
	switch {
	case w.turns.turns[w.turns.last] == nil || w.turns.stale[w.turns.last]:
		return "its last turn is still being read"
	case len(w.turns.answers) == 0:
		return "the turn has no observation to edit"
	}
	return ""
}

// doEditObservation opens what a tool returned: the observation under the cursor,
// else the first.
func doEditObservation(w *Workbench) tea.Cmd {
	t, _ := w.list.chosen()
	index := w.numberUnderCursor(".o", len(w.turns.answers))
	o := w.turns.answers[index]
	w.dialog = &form{
		name:   fmt.Sprintf("Edit observation %d of %d · %s", index+1, len(w.turns.answers), cleanLine(t.Key.String())),
		help:   "The policy reads this instead. What the tool returned is kept beside it; no observation is trained on. The trajectory counts as intervened.",
		fields: []field{{name: toolLabel(o.Tool), editor: newEditor(o.Text, false), ext: ".txt"}},
		edit:   w.external,
		send: func(v []string) (tea.Cmd, error) {
			switch {
			case strings.TrimSpace(v[0]) == "":
				return nil, errors.New("there is no text yet: the policy reads it")
			case v[0] == o.Text:
				return nil, errors.New("nothing is changed yet: esc leaves it as it is")
			}
			return w.verb("the policy of "+t.Key.String()+" will read the edited observation", func(c Commands) error { return c.EditObservation(t.Key, index, v[0]) }), nil
		},
	}
	return nil
}

// doRaise asks for more turns and tokens.
func doRaise(w *Workbench) tea.Cmd {
	t, _ := w.list.chosen()
	f := &form{
		name: "Limits of " + cleanLine(t.Key.String()),
		help: "They can be raised only, and act at its next gate. The trajectory counts as intervened: others of its group had less.",
		edit: w.external,
	}
	for _, l := range []struct {
		name string
		n    int
	}{{"turns", t.MaxTurns}, {"tokens", t.Budget}} {
		f.fields = append(f.fields, field{name: l.name, editor: newEditor(strconv.Itoa(l.n), true), ext: ".txt", was: strconv.Itoa(l.n)})
	}
	f.send = func(v []string) (tea.Cmd, error) {
		turns, err1 := strconv.Atoi(strings.TrimSpace(v[0]))
		tokens, err2 := strconv.Atoi(strings.TrimSpace(v[1]))
		switch {
		case err1 != nil || err2 != nil:
			return nil, errors.New("use whole numbers")
		case turns < t.MaxTurns || tokens < t.Budget:
			return nil, fmt.Errorf("limits are raised only: it has %d turns and %d tokens", t.MaxTurns, t.Budget)
		case turns == t.MaxTurns && tokens == t.Budget:
			return nil, errors.New("nothing is raised yet: esc leaves them as they are")
		}
		return w.verb(fmt.Sprintf("%s may use %d turns and %d tokens from its next gate on", t.Key, turns, tokens), func(c Commands) error { return c.RaiseLimit(t.Key, turns, tokens) }), nil
	}
	w.dialog = f
	return nil
}

// canMark is for any trajectory of a run that is driven from here, ended or not.
func canMark(w *Workbench) string {
	if w.opt.Commands == nil {
		return "read only: this run is not driven from here"
	}
	if _, ok := w.list.chosen(); !ok {
		return "choose one trajectory first (a group is chosen)"
	}
	return ""
}

// doMark asks for a person's judgement of a trajectory.
func doMark(w *Workbench) tea.Cmd {
	t, _ := w.list.chosen()
	training := "yes"
	switch {
	case t.Dropped:
		training = "drop"
	case t.Masked:
		training = "mask"
	}
	w.dialog = &form{
		name: "Mark " + cleanLine(t.Key.String()),
		help: "training: yes as its end has it; mask keeps it in its group's baseline and out of the gradient; drop keeps it out of exports and baselines. Nothing here makes it intervened. / finds tags in the list.",
		fields: []field{
			{name: "training", editor: newEditor(training, true), ext: ".txt", options: []string{"yes", "mask", "drop"}},
			{name: "tags", editor: newEditor(strings.Join(t.Tags, " "), true), ext: ".txt"},
			{name: "note", editor: newEditor(t.Note, false), ext: ".txt"},
		},
		at:   1,
		edit: w.external,
		send: func(v []string) (tea.Cmd, error) {
			m := sessions.Marks{Tags: strings.Fields(v[1]), Note: strings.TrimSpace(v[2])}
			switch strings.TrimSpace(v[0]) {
			case "yes":
			case "mask":
				m.Mask = true
			case "drop":
				m.Drop = true
			default:
				return nil, fmt.Errorf("training is %q: write yes, mask or drop", v[0])
			}
			return w.verb(t.Key.String()+" is marked", func(c Commands) error { return c.Mark(t.Key, m) }), nil
		},
	}
	return nil
}

// canByHand needs a trajectory that is held in its run stage.
func canByHand(w *Workbench) string {
	if why := canHeld(w); why != "" {
		return why
	}
	switch t, _ := w.list.chosen(); {
	case t.Held == sessions.HeldError:
		return "it waits for the endpoint: p holds it first"
	case t.HeldAt == sessions.BeforeEval:
		return "its run stage is over: the patch is what counts now"
	}
	return ""
}

// doByHand asks for a shell command and what it is for.
func doByHand(w *Workbench) tea.Cmd {
	t, _ := w.list.chosen()
	w.dialog = &form{
		name: "Shell command for " + cleanLine(t.Key.String()),
		help: "look runs it in a copy of the sandbox that is thrown away. change runs it in the sandbox: the policy is not told, a resume repeats it, the trajectory counts as intervened. replace runs it as the policy's call, in the place of the one that waits.",
		fields: []field{
			{name: "command", editor: newEditor("", false), ext: ".sh"},
			{name: "to", editor: newEditor("look", true), ext: ".txt", options: []string{"look", "change", "replace"}, hint: "look, change or replace"},
		},
		edit: w.external,
		send: func(v []string) (tea.Cmd, error) { return w.sendByHand(t, v[0], strings.TrimSpace(v[1])) },
	}
	return nil
}

func (w *Workbench) sendByHand(t sessions.Trajectory, script, to string) (tea.Cmd, error) {
	if strings.TrimSpace(script) == "" {
		return nil, errors.New("there is no command yet")
	}
	switch to {
	case "look", "change":
		w.handAsked = t.Key
		where := "the sandbox"
		if to == "look" {
			where = "a copy of the sandbox"
		}
		return w.verb("the command runs in "+where+" of "+t.Key.String(), func(c Commands) error { return c.RunByHand(t.Key, script, to == "look") }), nil
	case "replace":
		if why := canEdit(w); why != "" {
			return nil, errors.New(why)
		}
		if t.HeldAt != sessions.AfterReply {
			return nil, errors.New("no call waits to be replaced: it is held at " + string(t.HeldAt))
		}
		args, err := json.Marshal(map[string]string{"command": script})
		if err != nil { // a text always can be encoded
			return nil, err
		}
		index := w.waitingCall()
		return w.verb("the call of "+t.Key.String()+" is replaced: c runs it", func(c Commands) error { return c.EditCall(t.Key, index, shellTool, string(args)) }), nil
	}
	return nil, fmt.Errorf("to is %q: write look, change or replace", to)
}

// shellTool is the tool that runs a shell command.
const shellTool = "execute_bash"

// byHand reports whether a person's command runs in the chosen trajectory.
func (w *Workbench) byHand() bool {
	s := w.stream()
	return s != nil && s.What == engine.HandName
}

// applyHandRun shows what a person's command said, where it was asked for here
// and nothing else is open.
func (w *Workbench) applyHandRun(e sessions.Event) {
	var p sessions.HandRun
	if err := json.Unmarshal(e.Data, &p); err != nil {
		return
	}
	first, _, _ := strings.Cut(strings.TrimSpace(p.Output), "\n")
	said := fmt.Sprintf("exit %d: %s", p.Exit, first)
	if p.Problem != "" {
		said = p.Problem
	}
	asked := w.handAsked == e.Key
	w.handAsked = sessions.Key{}
	if !asked || w.dialog != nil || w.sheet != nil || p.Problem != "" {
		w.toasts.add(w.now, note, withKey(e.Key, "command by hand: "+said))
		return
	}
	doc := handPage(p)
	w.openSheet(&sheet{title: "command by hand · " + cleanLine(e.Key.String()), opener: "!", page: func(int, int) document { return doc }})
}

func handPage(p sessions.HandRun) *page {
	s := &section{}
	where := "in the sandbox; a resume repeats it"
	if p.Look {
		where = "in a copy that is gone"
	}
	s.add(block{id: "script", label: "$", labelRole: call, lang: shellLang, text: trim(p.Script)})
	label, r := "✔ exit 0", good
	if p.Exit != 0 {
		label, r = fmt.Sprintf("✘ exit %d", p.Exit), warn
	}
	text := trim(p.Output)
	if text == "" {
		text = "(no output)"
	}
	s.add(block{id: "output", label: label, labelRole: r, text: text})
	if p.Dropped > 0 {
		s.add(block{id: "cut", body: warn, text: thousands(p.Dropped) + " bytes in the middle are left out"})
	}
	s.add(block{id: "where", body: dim, text: took(p.Wall) + ", " + where + "; the policy is not told"})
	return onePage(s)
}
