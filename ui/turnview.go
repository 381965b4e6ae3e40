package ui

import (
	"fmt"
	"strings"
	"time"

	"rollbench/sessions"
)

// Rows shown of long blocks until they are unfolded.
const (
	foldPrompt  = 3
	foldThought = 4
	foldCall    = 24
	foldOutput  = 8
)

// viewTurn lays one turn out as a section: its heading, what was added to the
// prompt, the reply, and what the tools returned. versions are all replies to
// the same prompt in order; the last one counts, those before are superseded.
func viewTurn(versions []sessions.Turn) *section {
	s := &section{}
	for i, t := range versions {
		id := fmt.Sprintf("%d.%d", t.Index, t.Version)
		s.add(block{id: id, kind: heading, title: turnTitle(t), right: turnCost(t), raw: fmt.Sprintf("turn %d", t.Index)})
		if i == 0 {
			s.prompt(id, t.New)
		}
		s.reply(id, t)
	}
	return s
}

func (s *section) add(b block) {
	s.blocks = append(s.blocks, b)
	s.bytes += len(b.text)
}

// turnTitle marks what the training record treats differently.
func turnTitle(t sessions.Turn) line {
	l := line{{strong, fmt.Sprintf("turn %d", t.Index)}}
	if t.Origin != nil {
		l.add(dim, fmt.Sprintf(" · of #%d", t.Origin.ID))
	}
	if t.Superseded {
		l.add(dim, fmt.Sprintf(" · reply %d superseded", t.Version))
	}
	if t.Source == sessions.FromOperator {
		l.add(person, " · ✎ by a person")
	}
	if t.NewSample && t.Source != sessions.FromOperator { // an edited reply starts a sample by design
		l.add(warn, fmt.Sprintf(" · ≠ prefix broke at %d", t.BreakAt))
	}
	if t.Finish == "length" {
		l.add(warn, " · cut off at its token limit")
	}
	return l
}

// turnCost is what the turn cost: sampled tokens, model time, tool time.
func turnCost(t sessions.Turn) line {
	parts := []string{}
	if t.OutputTokens > 0 {
		parts = append(parts, short(float64(t.OutputTokens))+" tok")
	}
	if t.ModelWall > 0 {
		parts = append(parts, took(t.ModelWall)+" model")
	}
	var tool time.Duration
	for _, o := range t.Observations {
		tool += o.Wall
	}
	if tool > 0 {
		parts = append(parts, took(tool)+" tool")
	}
	return line{{dim, strings.Join(parts, " · ")}}
}

// prompt shows the messages added before the reply. Tool messages are left
// out: the observations of the turn before already show them.
func (s *section) prompt(id string, added []sessions.Message) {
	for i, m := range added {
		if m.Role == "tool" || m.Role == "assistant" && m.Source != sessions.FromTask || m.Source == sessions.FromTool {
			continue
		}
		b := block{id: fmt.Sprintf("%s.m%d", id, i), label: cleanLine(m.Role), labelRole: dim, body: dim, text: clean(m.Content), fold: foldPrompt}
		switch m.Source {
		case sessions.FromOperator:
			b.label, b.labelRole, b.body, b.fold = "✎ person", person, person, foldCall
		case sessions.FromHarness:
			b.label, b.labelRole = "harness", warn
		}
		if m.Role == "user" && m.Source == sessions.FromTask {
			b.label, b.body = "task", plain
		}
		s.add(b)
	}
}

// reply puts each observation below its call, and those without one at the end.
func (s *section) reply(id string, t sessions.Turn) {
	body := func(r role) role {
		if t.Superseded {
			return dim
		}
		return r
	}
	if strings.TrimSpace(t.Reasoning) != "" {
		s.add(block{id: id + ".think", label: "think", labelRole: dim, body: thought, text: trim(t.Reasoning), fold: foldThought})
	}
	if strings.TrimSpace(t.Content) != "" {
		s.add(block{id: id + ".text", label: "text", labelRole: dim, body: body(plain), text: trim(t.Content), fold: foldCall})
	}
	if t.Reasoning == "" && t.Content == "" && len(t.Calls) == 0 {
		s.add(block{id: id + ".none", label: "text", labelRole: dim, body: warn, text: "an empty reply"})
	}
	for i, c := range t.Calls {
		answered := false
		for _, o := range t.Observations {
			answered = answered || o.CallID == c.ID
		}
		s.call(fmt.Sprintf("%s.c%d", id, i), c, body, answered)
		for n, o := range t.Observations {
			if o.CallID == c.ID {
				s.observation(fmt.Sprintf("%s.o%d", id, i), o, outputOf(t, n))
			}
		}
	}
	for i, o := range t.Observations {
		if !hasCall(t.Calls, o.CallID) {
			s.observation(fmt.Sprintf("%s.x%d", id, i), o, outputOf(t, i))
		}
	}
}

func trim(s string) string { return strings.Trim(clean(s), "\n") }

func hasCall(calls []sessions.Call, id string) bool {
	for _, c := range calls {
		if c.ID == id {
			return true
		}
	}
	return false
}

// call shows a call; why it could not be used is left to its answer when there
// is one.
func (s *section) call(id string, c sessions.Call, body func(role) role, answered bool) {
	v := viewCall(c)
	r := plain
	if v.kind != diff && v.lang == noLang {
		r = strong
	}
	s.add(block{id: id, label: v.label, labelRole: body(call), body: body(r), kind: v.kind, lang: v.lang, text: trim(v.text), fold: foldCall, raw: v.text, call: &c})
	if c.Problem != "" && !answered {
		s.add(block{id: id + ".p", label: "✘ invalid", labelRole: body(fail), body: body(warn), text: trim(c.Problem)})
	}
}

// outputOf is what call n of the turn printed, nil when its observation is all.
func outputOf(t sessions.Turn, n int) *outputRef {
	o := t.Observations[n]
	if o.Output == nil {
		return nil
	}
	return &outputRef{at: sessions.CallPlace{Key: t.Key, Attempt: t.Attempt, Turn: t.Index, Call: n}, kept: *o.Output, tool: o.Tool}
}

// observation shows what the model saw, and says what it did not see.
func (s *section) observation(id string, o sessions.Observation, out *outputRef) {
	label, r := observationLabel(o)
	text := trim(o.Text)
	body := plain
	if o.Source == sessions.FromOperator {
		body = person
	}
	if text == "" {
		text, body = "(no output)", dim
	}
	if o.Before != "" {
		s.add(block{id: id + ".before", label: "before", labelRole: dim, body: dim, text: trim(o.Before), fold: foldPrompt})
	}
	kind := prose
	if isPatch(text) {
		kind = diff
	}
	s.add(block{id: id, label: label, labelRole: r, body: body, kind: kind, text: text, fold: foldOutput, out: out, tool: o.Tool})
	if o.Dropped > 0 {
		text := thousands(o.Dropped) + " bytes of output are not in what the model saw"
		if out != nil {
			text += ": " + outputKey + " opens all of it"
		}
		s.add(block{id: id + ".cut", label: "", body: warn, text: text, out: out})
	}
}

// observationLabel is glyph and word for how a call ended.
func observationLabel(o sessions.Observation) (string, role) {
	if o.Was != "" {
		return "✎ edited", person
	}
	switch o.Status {
	case "ok":
		if o.Exit != nil {
			return fmt.Sprintf("✔ exit %d", *o.Exit), good
		}
		return "✔ ok", good
	case "error":
		if o.Exit != nil {
			return fmt.Sprintf("✘ exit %d", *o.Exit), warn
		}
		return "✘ error", warn
	case "rejected":
		return "✎ rejected", person
	case "cancelled":
		return "✎ cancel", person
	}
	return "✘ " + cleanLine(o.Status), warn
}

// isPatch reports whether a text is one, as git and diff -u write it.
func isPatch(text string) bool {
	return strings.HasPrefix(text, "diff --git ") || strings.HasPrefix(text, "--- ") && strings.Contains(text[:min(len(text), 1000)], "\n+++ ")
}
