package ui

import (
	"context"
	"fmt"
	"math"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// tokensMsg brings the tokens of a turn.
type tokensMsg struct {
	key     sessions.Key
	attempt int
	turn    int
	spans   []tokenSpan
	texts   map[int32]string
	missing error // why some are not known
	err     error
}

// loadTokens reads the turn that is looked at token by token.
func (w *Workbench) loadTokens() tea.Cmd {
	v := &w.tokens
	if !w.atTokens() || v.loading || v.turn == 0 || v.shows() && !v.stale {
		return nil
	}
	v.loading, v.stale = true, false
	r, s, m := w.opt.Reader, w.spelling(), tokensMsg{key: v.key, attempt: v.attempt, turn: v.turn}
	return w.job(func(ctx context.Context) tea.Msg {
		m.err = m.read(ctx, r, s)
		return m
	})
}

func (m *tokensMsg) read(ctx context.Context, r sessions.Reader, s spelling) error {
	turns, err := r.Turns(ctx, m.key, m.attempt, max(m.turn-1, 1), m.turn, true)
	if err != nil {
		return err
	}
	added, first := newPrompts(turns), 0
	for first < len(turns) && turns[first].Index < m.turn {
		first++
	}
	if first == len(turns) {
		return fmt.Errorf("turn %d is not recorded", m.turn)
	}
	ids := append([]int32{}, added[first].ids...)
	for _, t := range turns[first:] {
		ids = append(ids, t.OutputIDs...)
	}
	if m.texts, m.missing, err = s.texts(ctx, ids); err != nil {
		return err
	}
	m.spans = append(m.spans, promptSpan(turns[first], added[first]))
	for _, n := range turns[first].New {
		if n.Source == sessions.FromOperator {
			m.spans = append(m.spans, remarkSpan(person, "✎ person ", "["+cut(cleanLine(n.Content), 200)+"] is among them"))
		}
	}
	for _, t := range turns[first:] {
		m.spans = append(m.spans, replySpan(t))
		if t.OutputIDs == nil {
			text := "The endpoint reported no token ids with this reply."
			if t.Source == sessions.FromOperator {
				text = "[" + cut(cleanLine(t.Content), 200) + "] has no token ids: the endpoint does not say how its template writes it."
			}
			m.spans = append(m.spans, remarkSpan(warn, "", text))
		}
	}
	return nil
}

// applyTokens drops what came for a turn that is no longer looked at.
func (w *Workbench) applyTokens(m tokensMsg) {
	v := &w.tokens
	v.loading = false
	if m.missing != nil {
		w.complain(m.missing)
	}
	if m.key != v.key || m.attempt != v.attempt || m.turn != v.turn {
		return
	}
	if m.err != nil {
		w.complain(m.err)
		v.put(m.turn, nil, nil, cleanLine(m.err.Error()))
		return
	}
	v.put(m.turn, m.spans, m.texts, "")
}

func remarkSpan(r role, label, text string) tokenSpan {
	return tokenSpan{kind: remark, title: line{{r, label}, {dim, text}}}
}

// promptSpan is what the turn adds to the prompt.
func promptSpan(t sessions.Turn, added addition) tokenSpan {
	s := tokenSpan{kind: observed, ids: added.ids}
	n := counted(len(added.ids), "token")
	s.title = line{{strong, fmt.Sprintf("turn %d", t.Index)}}
	switch {
	case added.ids == nil:
		s.title.add(warn, " · the endpoint reported no prompt ids")
	case added.whole:
		s.title.add(warn, " · the whole prompt: it does not go on from the turn before")
		s.title.add(dim, " · "+n)
	case added.after == 0:
		s.kind = firstPrompt
		s.title.add(dim, " · first prompt · "+n)
	default:
		s.title.add(dim, fmt.Sprintf(" · observation · %s after %s", n, thousands(int64(added.after))))
	}
	return s
}

// replySpan is the tokens of a reply, with their mean and lowest logprob.
func replySpan(t sessions.Turn) tokenSpan {
	s := tokenSpan{kind: sampled, ids: t.OutputIDs, logprobs: t.Logprobs, promptless: t.PromptIDs == nil}
	title := "sampled"
	switch {
	case t.Superseded:
		s.kind, title = superseded, fmt.Sprintf("reply %d, superseded", t.Version)
	case t.Source == sessions.FromOperator:
		s.kind, title = written, "✎ by a person"
	case t.Origin != nil:
		s.kind, title = parents, fmt.Sprintf("sampled by #%d, before the fork", t.Origin.ID)
	case t.Version > 1:
		s.kind, title = picked, "sampled, chosen by a person"
	}
	s.title = line{{strong, fmt.Sprintf("turn %d", t.Index)}, {dim, " · " + title + " · " + counted(len(s.ids), "token")}}
	if s.kind == written {
		return s
	}
	sum, low := 0.0, -1
	for i := range s.ids {
		p, ok := s.logprob(i)
		if !ok {
			low = -1
			break
		}
		if sum += p; low < 0 || p < s.logprobs[low] {
			low = i
		}
	}
	switch {
	case low >= 0 && !math.IsInf(sum, 0):
		s.right = line{{dim, "mean " + number(sum/float64(len(s.ids))) + " · low " + number(s.logprobs[low])}}
	case len(s.ids) > 0:
		s.right = line{{warn, "logprobs absent"}}
	}
	return s
}
