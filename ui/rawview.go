package ui

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rollbench/sessions"
)

// raws reads turns as the endpoint had them: what each adds to the prompt, and
// the reply with every marker.
func (r turnReader) raws(ctx context.Context, from, to int) (m turnsMsg) {
	turns, err := r.reader.Turns(ctx, r.key, r.attempt, max(from-1, 1), to, true)
	if err != nil {
		return turnsMsg{err: err}
	}
	added, ids := newPrompts(turns), []int32{}
	for i, t := range turns {
		if t.Index >= from {
			ids = append(append(ids, added[i].ids...), t.OutputIDs...)
		}
	}
	texts, missing, err := r.spell.texts(ctx, ids)
	m = turnsMsg{turns: turns, views: map[int]*section{}, missing: missing, err: err}
	at := 0
	for at < len(turns) && turns[at].Index < from {
		at++
	}
	for at < len(turns) {
		n := 1
		for at+n < len(turns) && turns[at+n].Index == turns[at].Index {
			n++
		}
		m.views[turns[at].Index] = viewRaw(turns[at:at+n], added[at], texts)
		at += n
	}
	return m
}

// addition is what a turn adds to the prompt before it.
type addition struct {
	ids   []int32 // nil when the endpoint reported no prompt
	after int     // tokens of the prompt before them
	whole bool    // it does not go on from the turn before
}

// newPrompts tells for each turn what its prompt has that the prompt and the
// output before it had not. The first of several versions tells for all.
func newPrompts(turns []sessions.Turn) []addition {
	list := make([]addition, len(turns))
	for i, t := range turns {
		if t.PromptIDs == nil {
			continue
		}
		keep := 0
		if before := counts(turns[:i], t.Index); before != nil && before.PromptIDs != nil {
			n, out := len(before.PromptIDs), before.OutputIDs
			if n+len(out) <= len(t.PromptIDs) && !t.NewSample {
				keep = n + len(out)
			}
		}
		list[i] = addition{t.PromptIDs[keep:], keep, keep == 0 && t.Index > 1}
	}
	return list
}

// counts is the reply that the prompt of turn index goes on from.
func counts(before []sessions.Turn, index int) *sessions.Turn {
	for i := len(before) - 1; i >= 0; i-- {
		if t := &before[i]; t.Index < index && !t.Superseded {
			return t
		}
	}
	return nil
}

// spelling tells the texts of ids: as the session holds them, else as the run's
// endpoint says.
type spelling struct {
	reader sessions.Reader
	more   func(context.Context, []int32) (map[int32]string, error)
}

func (w *Workbench) spelling() spelling { return spelling{w.opt.Reader, w.opt.Spell} }

// texts of ids. Where the endpoint does not answer those that the session knows
// are given with what went wrong: err alone is fatal.
func (s spelling) texts(ctx context.Context, ids []int32) (texts map[int32]string, missing, err error) {
	ids = distinct(ids)
	texts, err = s.reader.Spell(ctx, ids)
	if err != nil || s.more == nil {
		return texts, nil, err
	}
	unknown := slices.DeleteFunc(ids, func(id int32) bool { _, known := texts[id]; return known })
	if len(unknown) == 0 {
		return texts, nil, nil
	}
	more, missing := s.more(ctx, unknown)
	if missing != nil {
		missing = fmt.Errorf("texts of %s are not known: %w", counted(len(unknown)-len(more), "token"), missing)
	}
	if texts == nil {
		texts = map[int32]string{}
	}
	maps.Copy(texts, more)
	return texts, missing, nil
}

func distinct(ids []int32) []int32 {
	seen, list := map[int32]bool{}, []int32{}
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			list = append(list, id)
		}
	}
	return list
}

// viewRaw is a turn as the endpoint had it.
func viewRaw(versions []sessions.Turn, added addition, texts map[int32]string) *section {
	s := &section{}
	for i, t := range versions {
		id := fmt.Sprintf("%d.%d", t.Index, t.Version)
		s.add(block{id: id, kind: heading, title: turnTitle(t), right: rawSize(t), raw: fmt.Sprintf("turn %d", t.Index)})
		if i == 0 {
			s.rawPrompt(id, t, added, texts)
		}
		s.rawReply(id, t, texts)
	}
	return s
}

func rawSize(t sessions.Turn) line {
	return line{{dim, fmt.Sprintf("prompt %s tok · reply %s tok", short(float64(max(t.PromptTokens, len(t.PromptIDs)))), short(float64(max(t.OutputTokens, len(t.OutputIDs)))))}}
}

// rawPrompt shows what the turn adds to the prompt: its ids as text as far as
// that is known, else the messages.
func (s *section) rawPrompt(id string, t sessions.Turn, added addition, texts map[int32]string) {
	label := "prompt"
	if added.after > 0 {
		label = "prompt +"
	}
	if added.ids == nil {
		s.add(block{id: id + ".pn", label: label, labelRole: dim, body: warn,
			text: "The endpoint reported no prompt ids. These are the messages it was sent; what its template puts around them is not known."})
		for i, m := range t.New {
			s.add(block{id: fmt.Sprintf("%s.m%d", id, i), label: cleanLine(m.Role), labelRole: dim, body: dim, text: trim(visible(m.Content))})
			for n, c := range m.Calls {
				s.add(block{id: fmt.Sprintf("%s.m%d.c%d", id, i, n), label: cleanLine(toolLabel(c.Name)), labelRole: dim, body: dim, text: trim(visible(c.Arguments))})
			}
		}
		return
	}
	text, unknown := spellAll(added.ids, texts)
	note, r := "", dim
	switch {
	case added.whole:
		note, r = fmt.Sprintf("All %s tokens: it does not go on from the turn before.", thousands(int64(len(added.ids)))), warn
	case added.after > 0:
		note = fmt.Sprintf("%s more tokens after the first %s, which stand above.", thousands(int64(len(added.ids))), thousands(int64(added.after)))
	default:
		note = fmt.Sprintf("%s tokens.", thousands(int64(len(added.ids))))
	}
	if unknown > 0 {
		note, r = note+fmt.Sprintf(" The text of %s of them is not known: ⟨id⟩ stands for such a one.", thousands(int64(unknown))), warn
	}
	s.add(block{id: id + ".pn", label: label, labelRole: dim, body: r, text: note})
	s.add(block{id: id + ".p", body: dim, text: strings.TrimRight(text, "\n")})
}

// rawReply shows the reply's text with every marker. Where the endpoint hides
// it, it is made of the ids, else of the parts that it gave.
func (s *section) rawReply(id string, t sessions.Turn, texts map[int32]string) {
	body := plain
	if t.Superseded {
		body = dim
	}
	put := func(text string) {
		s.add(block{id: id + ".r", label: "reply", labelRole: call, body: body, text: strings.TrimRight(text, "\n")})
	}
	switch {
	case t.Raw != "":
		put(visible(t.Raw))
		return
	case len(t.OutputIDs) > 0:
		text, unknown := spellAll(t.OutputIDs, texts)
		if unknown == 0 {
			put(text)
			return
		}
		if unknown < len(t.OutputIDs) {
			s.add(block{id: id + ".rn", label: "reply", labelRole: call, body: warn,
				text: fmt.Sprintf("The endpoint gave no text. That of %s of %s ids is not known: ⟨id⟩ stands for such a one.", thousands(int64(unknown)), thousands(int64(len(t.OutputIDs))))})
			s.add(block{id: id + ".r", body: body, text: strings.TrimRight(text, "\n")})
			return
		}
	}
	why := "The endpoint hides the text as it was sampled. These are the parts it gave."
	if t.Source == sessions.FromOperator {
		why = "A person made this reply. These are its parts; the text its template makes of them is not known."
	}
	s.add(block{id: id + ".rn", label: "reply", labelRole: call, body: warn, text: why})
	for _, p := range []struct{ label, text string }{{"reasoning", t.Reasoning}, {"content", t.Content}} {
		if p.text != "" {
			s.add(block{id: id + "." + p.label, label: p.label, labelRole: dim, body: body, text: strings.TrimRight(visible(p.text), "\n")})
		}
	}
	for i, c := range t.Calls {
		s.add(block{id: fmt.Sprintf("%s.c%d", id, i), label: toolLabel(c.Name), labelRole: call, body: body, text: strings.TrimRight(visible(c.Arguments), "\n")})
	}
}

// spellAll joins the texts of ids before it makes them visible: a character may
// be parted between two. It counts those whose text is not known.
func spellAll(ids []int32, texts map[int32]string) (text string, unknown int) {
	var known, all strings.Builder
	for _, id := range ids {
		if t, ok := texts[id]; ok {
			known.WriteString(t)
			continue
		}
		unknown++
		all.WriteString(visible(known.String()))
		known.Reset()
		fmt.Fprintf(&all, "⟨%d⟩", id)
	}
	all.WriteString(visible(known.String()))
	return all.String(), unknown
}
