package ui

import (
	"encoding/json"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/engine"
	"rollbench/sessions"
)

// applyData takes what a pull brought and arms the next one. A verb pulls beside
// the watch, so two pulls may bring the same events, or the older one come last.
func (w *Workbench) applyData(m dataMsg) tea.Cmd {
	if m.err != nil {
		w.complain(m.err)
	} else {
		w.complained = ""
	}
	if m.seq < 0 { // gauges only, and they could not be read
		w.ticking = false
		return w.tick()
	}
	if m.trajs != nil && w.rewound {
		w.restart()
	}
	if m.trajs != nil && m.at >= w.at {
		w.at = m.at
		w.list.now = w.now
		if w.gauges.gone = m.gone; m.gone {
			stop(m.trajs)
		}
		w.list.apply(m.trajs)
		w.gauges.tally, w.gauges.verdicts = count(m.trajs), judge(m.trajs, w.gauges.run.N)
		w.primed = w.primed || m.err == nil
	}
	w.applyStatus(m.status)
	for _, e := range m.events {
		if e.Seq > w.seq {
			w.applyEvent(e)
		}
	}
	w.seq = max(w.seq, m.seq)
	w.settleEnd()
	w.sayReplay()
	if w.announce && m.err == nil && !m.more {
		w.announce = false
		w.sayEnd()
	}
	if m.more {
		return tea.Batch(w.pull(), w.tick())
	}
	return tea.Batch(w.watch(), w.tick())
}

// sayEnd tells how the run ended and what can be done with it now.
func (w *Workbench) sayEnd() {
	if n := w.gauges.tally.still; n > 0 {
		w.toasts.add(w.now, caution, fmt.Sprintf("the engine has stopped: %d have not ended, rollbench resume %s goes on", n, w.gauges.run.ID))
		return
	}
	w.toasts.add(w.now, ok, "the run has finished: E exports its transitions, enter reads the chosen one, 4 its verifier, v compares siblings, Q shows where the time went, q leaves")
	w.toasts.stays = true
}

// settleEnd notices that nothing more will happen.
func (w *Workbench) settleEnd() {
	c := w.gauges.tally
	ended := c.all > 0 && c.still == 0 || w.engineDone
	w.gauges.ended = ended
	if !ended {
		return
	}
	switch {
	case w.file != "":
		w.gauges.next = "exported to " + w.file
	case w.opt.Export != nil:
		w.gauges.next = exportNext
	default:
		w.gauges.next = "rollbench export " + cleanLine(w.gauges.run.ID)
	}
	for _, t := range w.list.trajs {
		if t.Ended.After(w.gauges.since) {
			w.gauges.since = t.Ended
		}
	}
}

// A reader without gauges (yet) leaves the last ones standing; pace says how
// old they are.
func (w *Workbench) applyStatus(s *engine.Status) {
	if s == nil {
		return
	}
	if w.gauges.hits == nil {
		w.gauges.hits = prefixHits{}
	}
	w.gauges.status = w.gauges.hits.fill(s)
	if w.limits == nil && s.Limits != (engine.Limits{}) {
		l := s.Limits
		w.limits, w.tuning = &l, s.Tuning
	}
}

// applyEvent marks what it makes stale, and tells what a person should know.
func (w *Workbench) applyEvent(e sessions.Event) {
	if e.Kind == sessions.KindWarning {
		var p sessions.Warning
		if err := json.Unmarshal(e.Data, &p); err == nil {
			w.toasts.add(w.now, caution, withKey(e.Key, p.Text))
		}
	}
	if e.Kind == sessions.KindState {
		var p sessions.StateChange
		if err := json.Unmarshal(e.Data, &p); err == nil && p.State == sessions.Held && p.Held != sessions.HeldPaused && p.Held != sessions.HeldStep {
			w.toasts.add(w.now, caution, withKey(e.Key, "held: "+string(p.Held)+" "+p.Why))
		}
	}
	if e.Kind == sessions.KindLimits {
		w.applyLimits(e)
	}
	switch e.Kind {
	case sessions.KindBreakpointHit:
		w.applyHit(e)
	case sessions.KindHandRun:
		w.applyHandRun(e)
	case sessions.KindRequestStopped:
		w.applyStopped(e)
	case sessions.KindRebuilt:
		w.applyRebuilt(e)
	case sessions.KindResampled:
		w.toasts.add(w.now, note, withKey(e.Key, "a fresh reply is there: r compares"))
	}
	w.applyFeedback(e)
	w.staleComparison(e)
	if e.Key == w.pageKey.key && changesPage(e.Kind) {
		w.pageStale = true
	}
	if e.Key != w.turns.key {
		return
	}
	switch e.Kind {
	case sessions.KindReply, sessions.KindToolFinished, sessions.KindTurnDone, sessions.KindIntervention, sessions.KindBreak, sessions.KindResampled, sessions.KindPicked:
	default:
		return
	}
	var at struct {
		Turn int `json:"turn"`
	}
	if err := json.Unmarshal(e.Data, &at); err != nil || at.Turn < 1 {
		return
	}
	for _, c := range []*turnCache{&w.turns, &w.raws, &w.messages} {
		c.outdated(e.Key, at.Turn)
	}
	w.tokens.outdated(e.Key, at.Turn)
}

// applyFeedback remembers what was injected until the policy has answered it:
// only then is it part of a turn.
func (w *Workbench) applyFeedback(e sessions.Event) {
	switch e.Kind {
	case sessions.KindAttempt, sessions.KindFinish:
		delete(w.feedback, e.Key)
	case sessions.KindReply:
		var p sessions.ReplyMade // one that a person put in the place of another has carried nothing
		if err := json.Unmarshal(e.Data, &p); err == nil && (p.Source != sessions.FromOperator || p.Version == 1) {
			delete(w.feedback, e.Key)
		}
	case sessions.KindIntervention:
		var p sessions.Intervention
		if err := json.Unmarshal(e.Data, &p); err == nil && p.Verb == "inject" {
			w.feedback[e.Key] = append(w.feedback[e.Key], p.After)
		}
	}
}

func withKey(k sessions.Key, text string) string {
	if k.IsZero() {
		return text
	}
	return k.String() + ": " + text
}

// prepare makes the panes ready to be drawn and asks for what they lack.
func (w *Workbench) prepare() tea.Cmd {
	if w.rewound { // what is on the screen is not any more
		return w.expire()
	}
	w.settle()
	return tea.Batch(w.loadTurns(), w.loadTokens(), w.loadTimelines(), w.loadPage(), w.loadHistory(), w.loadOutput(), w.loadComparison(), w.loadFork(), w.expire())
}

// settle the panes where they will be drawn; what is missing is noted.
func (w *Workbench) settle() {
	for _, c := range []*turnCache{&w.turns, &w.raws, &w.messages} {
		clear(c.shown)
	}
	if t, one := w.list.chosen(); one {
		w.turns.point(t.Key, t.Attempt)
		w.turns.last = max(w.turns.last, t.Turn)
		w.turns.tail = viewTail(t, w.stream(), w.feedback[t.Key], w.gateHelp(t), w.taskAhead(t), w.now)
		w.turns.leads(t, w.forks.rebuilt[t.Key])
		if w.turns.last > 0 { // even unseen: the call that waits is in it
			w.turns.section(w.turns.last - 1)
		}
		for _, other := range []tab{rawTab, messagesTab} { // what is not looked at takes no memory
			if c := w.cache(other); other != w.tab {
				*c = turnCache{}
			} else {
				c.point(t.Key, t.Attempt)
				c.last = w.turns.last
			}
		}
		w.tokens.point(t, w.turns.last)
	}
	w.settleVerifier()
	w.settleFind()
	if in := w.viewBox(); in.h > 0 && w.w > 0 {
		if w.atTokens() {
			w.tokens.settle(in.w-2, in.h-infoRows(in.h))
		} else if s := w.scroller(); s != nil {
			s.render(&w.th, w.document(), in.w, in.h, false)
		}
	}
}

// expire runs one timer for the toast on the screen.
func (w *Workbench) expire() tea.Cmd {
	until, now := w.toasts.until, w.toasts.moment(w.now)
	if w.toasts.stays || !until.After(now) || until.Equal(w.expires) {
		return nil
	}
	w.expires = until
	return tea.Tick(until.Sub(now), func(_ time.Time) tea.Msg { return expireMsg{} })
}
