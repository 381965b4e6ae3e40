package ui

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
	"rollbench/ui/replay"
)

// agedMsg is what a job brought of a replay, and how often the replay had gone back
// when the job began: what was read before may be of a time that is not yet.
type agedMsg struct {
	epoch int
	msg   tea.Msg
}

// aged tells jobs of a replay apart; of other runs nothing is ever taken back.
func (w *Workbench) aged(epoch int, m tea.Msg) tea.Msg {
	if w.opt.Replay == nil || m == nil {
		return m
	}
	return agedMsg{epoch, m}
}

// routeAged drops what was read before the replay went back.
func (w *Workbench) routeAged(m agedMsg) tea.Cmd {
	if m.epoch == w.epoch {
		return w.route(m.msg)
	}
	switch old := m.msg.(type) {
	case dataMsg:
		if old.seq >= 0 { // a pull of now is under way
			return nil
		}
		w.ticking = false
		return w.tick()
	case tickMsg:
		w.ticking = false
		return w.tick()
	case turnsMsg, tokensMsg, pageMsg, pieceMsg, huntMsg, foundMsg, searchedMsg, historyMsg, whatIfMsg, repliesMsg, timelineMsg, comparisonMsg, forkMsg:
		return nil
	}
	return w.route(m.msg)
}

// rewind takes back what was read, as soon as the replay says how things were. Until
// then the screen stays as it is, and nothing more is read for it.
func (w *Workbench) rewind() {
	w.epoch++
	w.rewound = true
}

// restart the workbench on the same screen, as if it had just opened the run.
func (w *Workbench) restart() {
	w.find.quit()
	w.across.hunt.end()
	w.whatIf.end()
	old := *w
	*w = Workbench{
		opt: old.opt, th: old.th, jobs: old.jobs, wake: old.wake, stop: old.stop, table: old.table,
		w: old.w, h: old.h, now: old.now, focus: old.focus, zoom: old.zoom, tab: old.tab, seen: old.seen,
		list: old.list, filtering: old.filtering, filter: old.filter, scrolls: old.scrolls, toasts: old.toasts, expires: old.expires,
		dialog: old.dialog, mouse: old.mouse, ran: old.ran, file: old.file, been: old.been, watching: old.watching, ticking: old.ticking, epoch: old.epoch + 1, forks: newForks(), feedback: map[sessions.Key][]string{},
	}
	w.find.hunt.n, w.across.hunt.n, w.whatIf.n = old.find.hunt.n, old.across.hunt.n, old.whatIf.n
	w.gauges.run, w.gauges.driven, w.gauges.replay = old.gauges.run, old.gauges.driven, old.gauges.replay
	if old.sheet != nil && slices.Contains([]string{"?", "m", queuesKey}, old.sheet.opener) { // they show no time that is not yet
		w.sheet = old.sheet
	}
}

// settleReplay takes the position that the next frame shows.
func (w *Workbench) settleReplay() {
	if w.opt.Replay == nil {
		return
	}
	p := w.opt.Replay.Position()
	w.gauges.replay = &p
}

// sayReplay tells once that the recording is over, and where it goes on with another
// process; been is how far the replay was when that was told last.
func (w *Workbench) sayReplay() {
	w.settleReplay()
	p := w.gauges.replay
	if p == nil {
		return
	}
	for i, part := range p.Parts {
		if i > 0 && part.At > w.been && part.At <= p.At {
			w.toasts.add(w.now, note, fmt.Sprintf("the run was left here and resumed %s later, which the replay leaves out", took(part.Away)))
		}
	}
	if p.Over && w.been < p.Length {
		w.toasts.add(w.now, ok, "the end of the recording: , goes back, q leaves")
	}
	w.been = p.At
}

// replayKeys act while a recording is replayed.
func replayKeys() []binding {
	return []binding{
		{Binding: on("stand still, or go on", "|"), name: "pause", scope: inReplay, over: true, can: canPlay, do: doReplayPause},
		{Binding: on("back by 30 s of the run, a tenth of a short one; at high speeds by 5 s of yours", ","), name: "back", scope: inReplay, over: true, can: canReplay, do: doSkip(-1)},
		{Binding: on("forward by as much", ";"), name: "forward", scope: inReplay, over: true, can: canPlay, do: doSkip(1)},
		{Binding: on("slower: … ×0.5 ×1 ×2 ×5 ×10 …", "("), name: "slower", scope: inReplay, over: true, can: canReplay, do: doSpeed(-1)},
		{Binding: on("faster, and at last as fast as it can be shown", ")"), name: "faster", scope: inReplay, over: true, can: canReplay, do: doSpeed(1)},
	}
}

func canReplay(w *Workbench) string {
	if w.opt.Replay == nil {
		return "this is no replay: rollbench replay " + cleanLine(w.gauges.run.ID)
	}
	return ""
}

func canPlay(w *Workbench) string {
	if why := canReplay(w); why != "" {
		return why
	}
	if w.opt.Replay.Position().Over {
		return "the recording is over: , goes back"
	}
	return ""
}

func doReplayPause(w *Workbench) tea.Cmd {
	w.opt.Replay.Pause()
	return w.replayed()
}

func doSpeed(by int) func(*Workbench) tea.Cmd {
	return func(w *Workbench) tea.Cmd {
		if by < 0 {
			w.opt.Replay.Slower()
		} else {
			w.opt.Replay.Faster()
		}
		return w.replayed()
	}
}

func doSkip(way int) func(*Workbench) tea.Cmd {
	return func(w *Workbench) tea.Cmd {
		p := w.opt.Replay.Position()
		w.opt.Replay.Skip(time.Duration(way) * skipBy(p))
		if way < 0 {
			w.rewind()
			w.been = w.opt.Replay.Position().At
		}
		return w.replayed()
	}
}

// skipBy is 30 s of the run: less of a short one, more where that would pass unnoticed.
func skipBy(p replay.Position) time.Duration {
	short := min(30*time.Second, max(p.Length/10, 2*time.Second))
	if p.Speed == replay.Max {
		return max(short, p.Length/20)
	}
	return max(short, time.Duration(min(5*p.Speed, 1e6)*float64(time.Second)))
}

// replayed shows at once what a key of the replay did.
func (w *Workbench) replayed() tea.Cmd {
	w.now = w.opt.Clock()
	w.settleReplay()
	return tea.Batch(w.pull(), w.tick())
}

// speedText is ×10, ×0.5 or max.
func speedText(speed float64) string {
	if math.IsInf(speed, 1) {
		return "max"
	}
	return "×" + strconv.FormatFloat(speed, 'g', -1, 64)
}

// replayCells is the width of the bar in the head of large screens.
const replayCells = 16

// replayText is where the replay is: ▶ replay ×10  00:03:12 / 00:12:41.
func replayText(p *replay.Position) line {
	l := line{}
	switch {
	case p.Over:
		return line{{strong, "■ end of the recording"}, {plain, "  " + clock(p.Length)}}
	case p.Paused:
		l.add(warn, "‖ replay paused "+speedText(p.Speed))
	default:
		l.add(live, "▶ replay "+speedText(p.Speed))
	}
	l.add(plain, "  "+clock(p.At))
	l.add(dim, " / "+clock(p.Length))
	return l
}

// replayBar draws the recording; ╎ is where another process went on.
func replayBar(p *replay.Position, n int) line {
	share := func(at time.Duration) int {
		if p.Length <= 0 {
			return n
		}
		return int(float64(n) * float64(at) / float64(p.Length))
	}
	cells := []rune(strings.Repeat("▯", n))
	at := min(share(p.At), n)
	for i := range at {
		cells[i] = '▮'
	}
	for i, part := range p.Parts {
		if i > 0 {
			cells[min(share(part.At), n-1)] = '╎'
		}
	}
	return line{{live, string(cells[:at])}, {dim, string(cells[at:])}}
}

// besideReplay puts where the replay is at the right end of a row of the head, which
// gives way.
func (p *gaugePane) besideReplay(l line, w int) line {
	if p.replay == nil {
		return l
	}
	right := replayText(p.replay)
	if w >= 150 {
		right = append(append(right, seg{plain, " "}), replayBar(p.replay, replayCells)...)
	}
	room := max(w-right.width()-3, 0)
	l = clip(l, room)
	l.add(plain, spaces(room-l.width()+2))
	return append(append(l, right...), seg{plain, " "})
}
