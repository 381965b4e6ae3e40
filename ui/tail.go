package ui

import (
	"fmt"
	"strings"
	"time"

	"rollbench/engine"
	"rollbench/sessions"
)

// viewTail is the last section of a transcript: what the trajectory is doing
// now, or how it ended. feedback is what a person injected and no model call
// has carried yet; ahead, what a held one waits for, or why nothing more is seen;
// task, what no turn shows yet.
func viewTail(t sessions.Trajectory, stream *engine.Stream, feedback []string, ahead, task string, now time.Time) *section {
	s := &section{}
	if task != "" {
		s.add(block{id: "task", label: "task", labelRole: dim, body: plain, text: trim(task), fold: foldOutput})
	}
	switch {
	case t.State.Ended():
		s.ended(t)
	case t.State == sessions.Held:
		title := line{{warn, "◆ held"}}
		if t.HeldAt != "" {
			title.add(plain, " at "+string(t.HeldAt))
		}
		s.title(title, "for "+age(now.Sub(t.Since)))
		s.add(block{id: "why", label: "why", labelRole: dim, body: warn, text: heldWhy(t)})
		if stream != nil { // a person's command
			s.add(block{id: "hand", label: "▶ by hand", labelRole: live, body: plain, text: strings.TrimSpace("running for " + age(now.Sub(stream.Since)) + ": C cancels it\n" + trim(stream.Text))})
		}
		s.note(ahead)
	case stream != nil:
		s.stream(*stream, now)
	default:
		look := looks(t)
		s.title(line{{look.role, look.glyph + " " + look.word}}, "for "+age(now.Sub(t.Since)))
		s.note(strings.TrimSpace(stateHelp(t) + "\n" + ahead))
	}
	if !t.State.Ended() {
		for i, text := range feedback {
			s.add(block{id: fmt.Sprintf("feedback%d", i), label: "✎ waits", labelRole: person, body: person, text: trim(text), fold: foldCall})
		}
		s.causes(t.Causes)
	}
	s.marks(t)
	return s
}

// taskAhead is the task until the first turn shows it: who writes that turn must know it.
func (w *Workbench) taskAhead(t sessions.Trajectory) string {
	if t.Turn > 0 || t.State.Ended() || w.opt.Task == nil {
		return ""
	}
	return w.opt.Task(t.Key)
}

// marks of a person.
func (s *section) marks(t sessions.Trajectory) {
	words := ""
	switch {
	case t.Dropped:
		words = "dropped: in no export and no baseline  "
	case t.Masked:
		words = "masked by a person  "
	}
	if words += strings.Join(t.Tags, " "); words != "" {
		s.add(block{id: "marks", label: "✎ marks", labelRole: person, body: person, text: cleanLine(words)})
	}
	if t.Note != "" {
		s.add(block{id: "notes", label: "✎ note", labelRole: person, body: person, text: trim(t.Note)})
	}
}

func (s *section) title(l line, right string) {
	s.add(block{id: "tail", kind: heading, title: l, right: line{{dim, right}}})
}

func (s *section) note(text string) {
	if text != "" {
		s.add(block{id: "note", label: "", body: dim, text: text})
	}
}

// stream is the part of a turn that is not recorded yet.
func (s *section) stream(st engine.Stream, now time.Time) {
	what := "▶ turn " + fmt.Sprint(st.Turn) + ": the policy is replying"
	label := "reply"
	if st.What != "model" {
		label = toolLabel(st.What)
		what = "▶ turn " + fmt.Sprint(st.Turn) + ": " + label + " is running"
	}
	switch st.What {
	case engine.VerifierName:
		what, label = "◕ the verifier runs in a fresh sandbox", "verifier"
	case engine.ImageName:
		what, label = "◔ its image is being pulled or built", "image"
	}
	s.title(line{{live, cleanLine(what)}}, age(now.Sub(st.Since)))
	if text := trim(st.Text); text != "" {
		s.add(block{id: "stream", label: label, labelRole: live, body: plain, text: text})
	}
}

// ended says all that decides about training in one line: reason, reward, mask,
// interventions.
func (s *section) ended(t sessions.Trajectory) {
	look := looks(t)
	l := line{{look.role, look.glyph + " " + look.word}}
	if t.Finish != "" {
		l.add(plain, " · "+cleanLine(t.Finish))
	}
	l.add(strong, " · reward "+reward(t.Reward))
	if m := t.Mask(); m != "" {
		l.add(warn, " · ⊘ masked")
	}
	if t.Intervened {
		l.add(person, " · ✎ by a person")
	}
	right := ""
	if !t.Started.IsZero() && !t.Ended.IsZero() {
		right = "took " + took(t.Ended.Sub(t.Started))
	}
	s.title(l, right)
	if t.EvalNote != "" {
		s.add(block{id: "eval", label: "verifier", labelRole: dim, body: plain, text: trim(t.EvalNote)})
	}
	s.tampering(t)
	s.causes(t.Causes)
}

// causes in the order they came: the first one is the cause.
func (s *section) causes(list []string) {
	for i, c := range list {
		label := "cause"
		if i > 0 {
			label = "then"
		}
		s.add(block{id: fmt.Sprintf("cause%d", i), label: label, labelRole: fail, body: plain, text: trim(c), fold: foldOutput})
	}
}

// heldHelp says what is ahead at a gate; where the run is driven from here, also
// the keys that matter there. answered: the calls of the reply have answers.
func heldHelp(g sessions.Gate, answered, driven bool) string {
	what, keys := "", ""
	switch {
	case g == sessions.AfterReply && answered:
		what, keys = "The call above does not run: the policy reads the reason instead.", "c continue  i inject  s into"
	case g == sessions.AfterReply:
		what, keys = "The call above has not run.", "c continue  e edit  x reject  r resample"
	case g == sessions.BeforeModel:
		what, keys = "The next model call has not been made.", "c continue  a write  i inject  o fork"
	case g == sessions.AfterTool:
		what, keys = "The tools have run; the policy has not seen it yet.", "c continue  e edit  i inject  o fork"
	case g == sessions.BeforeEval:
		what, keys = "The run stage is over; the verifier has not run.", "c continue"
	}
	if !driven || what == "" {
		return what
	}
	return what + "\n" + keys
}

func stateHelp(t sessions.Trajectory) string {
	switch t.State {
	case stopped:
		return "No process works on this run any more: rollbench resume goes on with it."
	case sessions.Queued:
		return "Waits for a place in init."
	case sessions.Init:
		return "Its sandbox is being opened and prepared."
	case sessions.Ready:
		return "Prepared; waits for a run slot."
	case sessions.Running:
		if !t.ToolSince.IsZero() {
			return toolLabel(t.Tool) + " is running."
		}
		return "The policy is replying."
	case sessions.Ran:
		return "Its patch is taken; waits for the verifier."
	case sessions.Evaluating:
		return "The verifier runs in a fresh sandbox."
	}
	return ""
}

// viewGroup is what is shown while a group is chosen: its members side by side.
func viewGroup(instance string, members []sessions.Trajectory) *section {
	s := &section{labels: 6}
	set := ofSet(members)
	c := count(set)
	s.add(block{id: "group", kind: heading, title: line{{strong, cleanLine(instance)}, {plain, fmt.Sprintf(" · group of %d", len(set))}},
		right: line{{dim, fmt.Sprintf("%d ended", c.ended)}}})
	s.add(block{id: "names", label: "   #", labelRole: dim, body: dim, text: pad("state", 12) + " reward turn tokens finish"})
	for _, t := range members {
		look := looks(t)
		text := pad(look.glyph+" "+look.word, 12) + padLeft(reward(t.Reward), 7) + padLeft(fmt.Sprint(t.Turn), 5) +
			padLeft(short(float64(t.Tokens)), 7) + " " + strings.TrimSpace(forkNote(t)+" "+cleanLine(t.Finish)) + " "
		for _, m := range marks(t) {
			text += m.text
		}
		label := fmt.Sprintf("%4d", t.ID)
		if t.Fork != nil {
			label = forkGlyph + fmt.Sprintf("%3d", t.ID)
		}
		s.add(block{id: fmt.Sprint(t.ID), label: label, labelRole: strong, body: look.role, text: strings.TrimRight(text, " ")})
	}
	if mean, n := meanReward(set); n > 0 {
		s.add(block{id: "mean", label: "mean", labelRole: dim, text: fmt.Sprintf("reward %s over the %d that count", reward(&mean), n)})
	}
	return s
}

// meanReward of the n that count.
func meanReward(ts []sessions.Trajectory) (mean float64, n int) {
	for _, t := range ts {
		if t.Counts() {
			mean += *t.Reward
			n++
		}
	}
	if n > 0 {
		mean /= float64(n)
	}
	return mean, n
}
