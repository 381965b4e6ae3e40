package ui

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"rollbench/engine"
	"rollbench/sessions"
)

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

	w, h  int
	now   time.Time
	focus pane
	zoom  bool
	tab   tab

	gauges    gaugePane
	list      listPane
	filtering bool
	filter    textinput.Model
	turns     turnCache // of the transcript
	raws      turnCache
	messages  turnCache
	tokens    tokenView
	timelines timelines
	seen      tab // the view of turns looked at last
	scrolls   map[scrollKey]*scroller
	toasts    toasts
	expires   time.Time // toast a timer already runs for
	dialog    dialog
	sheet     *sheet
	find      find
	across    across
	history   history
	limits    *engine.Limits // as last told of; nil: not known
	tuning    engine.Tuning  // with them
	ran       []string       // in the palette, the newest last
	mouse     bool           // taken from the terminal
	whatIf    whatIf
	compare   *compareView // the last one, to come back to; nil: none

	seq        int64 // of the last event applied
	at         int64 // of the trajectories' newest state
	primed     bool
	engineDone bool
	announce   bool   // say how it ended, once the last events are read
	left       bool   // leave with work running
	file       string // of the last export
	complained string
	lastStep   string // into, over, out or continue; "" before the first

	epoch   int           // of a replay: how often it went back
	rewound bool          // it has gone back, and how things were is not read yet
	been    time.Duration // how far it was when that was told last

	watching  bool                      // a watch is under way
	ticking   bool                      // a tick is under way
	feedback  map[sessions.Key][]string // injected, not yet carried by a model call
	handAsked sessions.Key              // a command by hand was asked for here, and has not answered
	forks     forks

	loading     bool // turns are being read
	pageKey     pageKey
	page        *page
	pageStale   bool
	pageLoading bool
	look        lookAt
	verifier    livePage
	events      []sessions.Event
	eventsSeq   int64
}

// New makes a workbench. Close ends what waits on its behalf.
func New(ctx context.Context, opt Options) (*Workbench, error) {
	if opt.Output == nil {
		opt.Output = os.Stdout
	}
	th, err := pickTheme(opt.Theme, opt.NoColor, os.Getenv("COLORFGBG"), newRenderer(opt.Output, os.Getenv("TERM"), os.Getenv("COLORTERM")))
	if err != nil {
		return nil, err
	}
	if opt.Replay != nil {
		opt.Reader, opt.Clock = opt.Replay, opt.Replay.Now
	}
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	w := &Workbench{opt: opt, th: th, jobs: newJobs(ctx), table: keyTable(), scrolls: map[scrollKey]*scroller{}, feedback: map[sessions.Key][]string{}, now: opt.Clock()}
	w.mouse = opt.Mouse
	w.forks = newForks()
	w.gauges.run, w.gauges.driven = opt.Reader.Run(), opt.Commands != nil
	w.wake, w.stop = opt.Reader.Wake()
	w.toasts.open(w.now, opt.Notices)
	if opt.Welcome {
		w.toasts.add(w.now, note, welcome)
		w.toasts.stays = true
	}
	if opt.Replay != nil { // messages are read by a person's clock, not by the run's
		w.toasts.clock = time.Now
		w.settleReplay()
		w.been = w.gauges.replay.At
	}
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
	w.settleReplay()
	cmd := w.route(msg)
	return w, tea.Batch(cmd, w.prepare())
}

// route hands a message to what it concerns. No message waits for anything.
func (w *Workbench) route(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case tea.WindowSizeMsg:
		w.w, w.h = m.Width, m.Height
	case tea.KeyMsg:
		return w.typed(m)
	case tea.MouseMsg:
		return w.pointed(m)
	case tea.ResumeMsg:
		return w.takeMouse()
	case dataMsg:
		return w.applyData(m)
	case agedMsg:
		return w.routeAged(m)
	case wakeMsg:
		w.watching = false
		return w.pull()
	case tickMsg:
		w.ticking = false
		w.applyStatus(m.status)
		if m.gone != w.gauges.gone { // the rows say so, too
			return tea.Batch(w.tick(), w.pull())
		}
		if w.complained != "" { // the session could not be read: try again
			return tea.Batch(w.tick(), w.pull())
		}
		return w.tick()
	case turnsMsg:
		w.applyTurns(m)
	case tokensMsg:
		w.applyTokens(m)
	case timelineMsg:
		w.applyTimelines(m)
	case pageMsg:
		w.applyPage(m)
	case pieceMsg:
		w.applyPiece(m)
	case huntMsg:
		return w.applyHunt(m)
	case foundMsg:
		w.applyFound(m)
	case forkMsg:
		w.applyFork(m)
	case searchedMsg:
		w.applySearched(m)
	case comparisonMsg:
		return m.applyTo(w)
	case historyMsg:
		w.applyHistory(m)
	case whatIfMsg:
		w.applyWhatIf(m)
	case verbMsg:
		w.applyVerb(m)
		return w.pull()
	case exportMsg:
		w.exported(m)
	case copiedMsg:
		if m.ok {
			w.toasts.add(w.now, ok, m.said)
		} else {
			w.toasts.add(w.now, trouble, m.said)
		}
	case repliesMsg:
		w.applyReplies(m)
	case shellMsg:
		return w.enterShell(m)
	case shellLeftMsg:
		w.applyShellLeft(m)
	case editedMsg:
		if f, isForm := w.dialog.(*form); isForm {
			f.edited(m)
		}
		return w.takeMouse()
	case crashMsg:
		panic(m.what)
	case engineDoneMsg:
		w.engineDone, w.announce = true, true
		return w.pull()
	}
	return nil
}

// exported says where the file is until a key, and then in the head: it is
// what the run was for.
func (w *Workbench) exported(m exportMsg) {
	w.report(ok, "exported to "+m.path+": "+m.summary, m.err)
	if m.err == nil {
		w.toasts.stays = true
		w.file = cleanLine(m.path)
		w.settleEnd()
	}
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

// arrange is cheap enough to ask for wherever a size is needed: no copy of it
// can be out of date.
func (w *Workbench) arrange() arrangement {
	return arrange(w.w, w.h, w.gauges.rows(), w.zoom, w.focus)
}

// viewWidth is 0 while the view is not on the screen.
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
