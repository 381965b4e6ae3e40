package ui

import (
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/engine"
	"rollbench/sessions"
)

// tab is a view of the chosen trajectory.
type tab uint8

const (
	textTab tab = iota
	patchTab
	verifierTab
	eventsTab
	tabs
)

var tabNames = [tabs]string{"text", "patch", "verifier", "events"}

type scrollKey struct {
	key sessions.Key
	tab tab
}

// Workbench is the one tea.Model. Only Update changes it; commands work on
// what they were given.
type Workbench struct {
	opt  Options
	th   theme
	jobs *jobs
	wake <-chan struct{}
	stop func() // ends the subscription to wake

	table []binding
	keys  keymap

	w, h  int
	now   time.Time
	focus pane
	zoom  bool
	tab   tab

	gauges    gaugePane
	list      listPane
	filtering bool
	filter    editor
	turns     turnCache
	scrolls   map[scrollKey]*scroller
	toasts    toasts
	expires   time.Time // toast a timer already runs for
	dialog    dialog
	sheet     *sheet

	seq        int64
	primed     bool
	engineDone bool
	left       bool // leave with work running
	complained string

	watching bool                      // a watch is under way
	ticking  bool                      // a tick is under way
	feedback map[sessions.Key][]string // injected, not yet carried by a model call

	loading     bool // turns are being read
	pageKey     pageKey
	page        *page
	pageStale   bool
	pageLoading bool
	events      []sessions.Event
	eventsSeq   int64
}

// New makes a workbench. Close ends what waits on its behalf.
func New(ctx context.Context, opt Options) (*Workbench, error) {
	th, err := pickTheme(opt.Theme, opt.NoColor)
	if err != nil {
		return nil, err
	}
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	w := &Workbench{opt: opt, th: th, jobs: newJobs(ctx), table: keyTable(), scrolls: map[scrollKey]*scroller{}, feedback: map[sessions.Key][]string{}, now: opt.Clock()}
	w.keys = newKeymap(w.table)
	w.gauges.run = opt.Reader.Run()
	w.wake, w.stop = opt.Reader.Wake()
	return w, nil
}

// Close waits for everything that was started.
func (w *Workbench) Close() {
	w.jobs.close()
	w.stop()
}

// Init starts the watch on the session, the gauges and the engine's end.
func (w *Workbench) Init() tea.Cmd {
	return tea.Batch(w.pull(), w.tick(), w.waitDone())
}

// Update routes a message, then asks for whatever the screen lacks.
func (w *Workbench) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	w.now = w.opt.Clock()
	cmd := w.route(msg)
	return w, tea.Batch(cmd, w.prepare())
}

func (w *Workbench) route(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case tea.WindowSizeMsg:
		w.w, w.h = m.Width, m.Height
	case tea.KeyMsg:
		return w.typed(m)
	case dataMsg:
		return w.applyData(m)
	case wakeMsg:
		w.watching = false
		return w.pull()
	case tickMsg:
		w.ticking = false
		w.applyStatus(m.status)
		return w.tick()
	case turnsMsg:
		w.applyTurns(m)
	case pageMsg:
		w.applyPage(m)
	case verbMsg:
		w.report(ok, m.said, m.err)
		return w.pull()
	case exportMsg:
		w.report(ok, m.summary+" → "+m.path, m.err)
	case copiedMsg:
		if m.ok {
			w.toasts.add(w.now, ok, m.said)
		} else {
			w.toasts.add(w.now, trouble, m.said)
		}
	case editedMsg:
		if f, isForm := w.dialog.(*form); isForm {
			f.edited(m)
		}
	case engineDoneMsg:
		w.engineDone = true
		w.toasts.add(w.now, ok, "the run has finished: E exports its transitions, q leaves")
		return w.pull()
	}
	return nil
}

func (w *Workbench) report(l level, said string, err error) {
	if err != nil {
		w.toasts.add(w.now, trouble, err.Error())
		return
	}
	w.toasts.add(w.now, l, said)
}

// complain about the session once, not at every pull.
func (w *Workbench) complain(err error) {
	if err.Error() == w.complained || w.jobs.ctx.Err() != nil {
		return
	}
	w.complained = err.Error()
	w.toasts.add(w.now, trouble, err.Error())
}

// typed splits what the terminal delivered as one piece: held keys and slow
// lines bring several at once. A paste stays whole.
func (w *Workbench) typed(m tea.KeyMsg) tea.Cmd {
	if m.Type != tea.KeyRunes || m.Paste || len(m.Runes) < 2 {
		return w.key(m)
	}
	var cmds []tea.Cmd
	for _, r := range m.Runes {
		cmds = append(cmds, w.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: m.Alt}))
	}
	return tea.Sequence(cmds...)
}

// key goes to the dialog, the filter, the sheet, or by the table.
func (w *Workbench) key(m tea.KeyMsg) tea.Cmd {
	w.toasts.dismiss()
	if w.dialog != nil {
		d := w.dialog
		cmd, done := d.key(m)
		if done && w.dialog == d {
			w.dialog = nil
		}
		return cmd
	}
	if w.filtering {
		w.filterKey(m)
		return nil
	}
	k := m.String()
	if w.sheet != nil {
		return w.sheetKey(k)
	}
	b := w.keys.find(k, w.focus)
	if b == nil {
		return nil
	}
	if why := b.why(w); why != "" {
		w.toasts.add(w.now, caution, showKey(k)+": "+why)
		return nil
	}
	if b.do != nil {
		return b.do(w)
	}
	a := w.arrange()
	if w.focus == listFocus {
		w.list.key(k, a.inner(a.list).h)
	} else if s := w.scroller(); s != nil {
		in := a.inner(a.view)
		s.key(w.document(), k, in.w, in.h)
	}
	return nil
}

// filterKey types into the filter, which acts at once.
func (w *Workbench) filterKey(m tea.KeyMsg) {
	switch m.String() {
	case "enter", "tab", "up", "down":
		w.filtering = false
		return
	case "esc", "ctrl+c":
		w.filtering = false
		w.filter.set("")
	default:
		w.filter.key(m)
	}
	w.list.filter = w.filter.text()
	w.list.rebuild()
}

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
	if w.tab == textTab {
		return &w.turns
	}
	if w.page != nil && w.pageKey == (pageKey{t.Key, t.Attempt, w.tab}) {
		return w.page
	}
	return textPage("…", prose, dim)
}

// scroller of what is shown, remembered for each trajectory and view.
func (w *Workbench) scroller() *scroller {
	t, one := w.list.chosen()
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
		s = &scroller{follow: one && (w.tab == textTab || w.tab == eventsTab)}
		w.scrolls[k] = s
	}
	return s
}

func (w *Workbench) arrange() arrangement {
	return arrange(w.w, w.h, w.gauges.rows(), w.zoom, w.focus)
}

func (w *Workbench) viewWidth() int {
	a := w.arrange()
	return a.inner(a.view).w
}

// View draws the whole screen.
func (w *Workbench) View() string {
	if w.w <= 0 || w.h <= 0 {
		return ""
	}
	return strings.Join(w.screen(), "\n")
}
