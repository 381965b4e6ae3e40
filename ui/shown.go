package ui

import (
	"rollbench/engine"
	"rollbench/sessions"
)

// stream of the chosen trajectory, nil when nothing is under way.
func (w *Workbench) stream() *engine.Stream {
	t, chosen := w.list.chosen()
	if !chosen || w.gauges.status == nil || t.State.Ended() {
		return nil
	}
	if s, live := w.gauges.status.Streams[t.Key.String()]; live {
		return &s
	}
	return nil
}

// document shown in the view.
func (w *Workbench) document() document {
	t, one := w.list.chosen()
	if !one {
		if g, some := w.list.chosenGroup(); some {
			return onePage(viewGroup(g.instance, g.members))
		}
		return &page{}
	}
	if c := w.cache(w.tab); c != nil {
		return c
	}
	if w.tab == timelineTab {
		if d := w.timelineOf(); d != nil {
			return d
		}
		return w.timelineNote()
	}
	if w.verifier.page != nil && w.verifier.key == t.Key {
		return w.verifier.page
	}
	if w.page != nil && w.pageKey == (pageKey{t.Key, t.Attempt, w.tab}) {
		return w.page
	}
	return textPage("…", prose, dim)
}

// scroller of what is shown, remembered for each trajectory and view. The tokens
// have none.
func (w *Workbench) scroller() *scroller {
	t, one := w.list.chosen()
	if one && w.tab == tokensTab {
		return nil
	}
	if !one {
		g, some := w.list.chosenGroup()
		if !some {
			return nil
		}
		t.Key = sessions.Key{Instance: g.instance, ID: -1}
	}
	k := scrollKey{t.Key, w.tab}
	if !one {
		k.tab = textTab
	}
	s := w.scrolls[k]
	if s == nil {
		s = &scroller{follow: one && (w.tab.ofTurn() || w.tab == eventsTab || w.tab == verifierTab && t.State == sessions.Evaluating)}
		w.scrolls[k] = s
	}
	return s
}

// atTimeline: the view shows where the time of each turn went.
func (w *Workbench) atTimeline() bool {
	_, one := w.list.chosen()
	return one && w.tab == timelineTab
}

// atTokens: the view shows the tokens of a turn.
func (w *Workbench) atTokens() bool {
	_, one := w.list.chosen()
	return one && w.tab == tokensTab
}
