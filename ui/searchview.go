package ui

import (
	"context"
	"strconv"
	"strings"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"rollbench/search"
	"rollbench/sessions"
)

const searchKey = "R"

// Searcher asks the repository of a trajectory as it is now.
type Searcher func(ctx context.Context, key sessions.Key, q search.Query) (search.Answer, []search.Hit, error)

// searchView asks the repository of one trajectory, and shows the answer under the
// question.
type searchView struct {
	key    sessions.Key
	help   *page // until the first answer
	typing bool
	input  textinput.Model
	at     *asked  // the question whose answer is shown, nil before the first
	past   []asked // the ones before it, oldest first
	busy   string  // the question that is being asked
	stop   context.CancelFunc
	n      int // of the question: an older one's answer is dropped
}

// asked is a question with its answer.
type asked struct {
	question string
	page     *page
	next     map[string]string // the question that a block leads to, by its id
	scroll   scroller          // where it was left
}

// keptQuestions bounds what can be gone back to.
const keptQuestions = 50

// longestQuestion bounds what is typed or pasted, in characters.
const longestQuestion = 10_000

// searchedMsg is what question n found.
type searchedMsg struct {
	view   *searchView
	n      int
	answer search.Answer
	hits   []search.Hit
	err    error
}

// canSearch needs an open run sandbox here, and its index.
func canSearch(w *Workbench) string {
	if why := needTrajectory(w); why != "" {
		return why
	}
	if w.opt.Search == nil {
		return "nothing is indexed: tools.enable_search is false in this run"
	}
	switch t, _ := w.list.chosen(); t.State {
	case sessions.Queued, sessions.Init:
		return "its sandbox is not open yet"
	case sessions.Ran, sessions.Evaluating:
		return "its run stage is over and its sandbox closed"
	}
	return ""
}

func doSearch(w *Workbench) tea.Cmd {
	t, _ := w.list.chosen()
	v := &searchView{key: t.Key, help: searchHelp()}
	v.ask("")
	w.openSheet(&sheet{opener: searchKey, scope: inSearch, own: v.keys, search: v,
		head: func() line { return v.head(w.sheetBox().w) },
		page: func(int, int) document { return v.page() }})
	return nil
}

func doAskAnew(w *Workbench) tea.Cmd {
	v := w.sheet.search
	v.ask(v.question())
	return nil
}

// question is the one asked last.
func (v *searchView) question() string {
	if v.busy == "" && v.at != nil {
		return v.at.question
	}
	return v.busy
}

// takesEsc: it goes back in the search instead of closing the sheet.
func (v *searchView) takesEsc() bool { return v.typing && v.at != nil || !v.typing && v.busy != "" }

// ask has a question typed.
func (v *searchView) ask(text string) {
	v.typing, v.input = true, newFilter(text)
	v.input.CharLimit = longestQuestion
}

// keys takes what is typed, and esc while something is being asked.
func (v *searchView) keys(w *Workbench, m tea.KeyMsg) (cmd tea.Cmd, took bool) {
	k := m.String()
	back := k == "esc" || k == "ctrl+c"
	switch {
	case !v.typing && back && v.busy != "":
		v.ask(v.busy)
		v.quit()
	case !v.typing:
		return nil, false
	case k == "enter":
		return v.send(w, v.input.Value()), true
	case back && v.at == nil: // nothing to go back to
		w.closeSheet()
	case back, v.at != nil && (k == "tab" || k == "down"):
		v.typing = false
	default:
		v.input, cmd = v.input.Update(m)
	}
	return cmd, true
}

// send the question. What was found before stays until its answer is there.
func (v *searchView) send(w *Workbench, text string) tea.Cmd {
	text = strings.TrimSpace(text)
	if text == "" {
		w.toasts.add(w.now, caution, "there is nothing to look for yet")
		return nil
	}
	v.quit()
	ctx, stop := context.WithCancel(w.jobs.ctx)
	v.typing, v.busy, v.stop = false, text, stop
	m, ask, key, q := searchedMsg{view: v, n: v.n}, w.opt.Search, v.key, readQuestion(text)
	return w.job(func(context.Context) tea.Msg {
		m.answer, m.hits, m.err = ask(ctx, key, q)
		return m
	})
}

// quit ends the question under way; its answer is not waited for any more.
func (v *searchView) quit() {
	if v.stop != nil {
		v.stop()
	}
	v.stop, v.busy = nil, ""
	v.n++
}

func (w *Workbench) applySearched(m searchedMsg) {
	v := m.view
	if m.n != v.n || w.sheet == nil || w.sheet.search != v {
		return
	}
	question := v.busy
	v.quit()
	if v.at != nil {
		v.at.scroll = w.sheet.scroll
		v.past = append(v.past, *v.at)
		v.past = v.past[max(len(v.past)-keptQuestions, 0):]
	}
	var best int
	v.at, best = viewAnswer(m)
	v.at.question = question
	sec := v.at.page.section(0)
	sec.layout(w.sheetBox().w, &v.at.scroll.folds)
	v.at.scroll.cursor.row = sec.starts[best]
	w.sheet.scroll = v.at.scroll
}

func canAskBefore(w *Workbench) string {
	if w.sheet == nil || w.sheet.search == nil || len(w.sheet.search.past) == 0 {
		return "there was no question before"
	}
	return ""
}

func doAskBefore(w *Workbench) tea.Cmd {
	v := w.sheet.search
	v.quit()
	last := len(v.past) - 1
	v.at, v.past = &v.past[last], v.past[:last:last]
	w.sheet.scroll = v.at.scroll
	return nil
}

// nextQuestion is what the block under the cursor leads to, "" for nothing.
func (w *Workbench) nextQuestion() string {
	if w.sheet == nil || w.sheet.search == nil || w.sheet.search.at == nil {
		return ""
	}
	in := w.sheetBox()
	w.sheet.scroll.settle(w.sheet.search.page(), in.w, in.h)
	if b := w.sheet.scroll.block(w.sheet.search.page(), in.w); b != nil {
		return w.sheet.search.at.next[b.id]
	}
	return ""
}

func canAskNext(w *Workbench) string {
	if w.nextQuestion() == "" {
		return "put the cursor on something found, or on a line that begins with next:"
	}
	return ""
}

func doAskNext(w *Workbench) tea.Cmd { return w.sheet.search.send(w, w.nextQuestion()) }

// head is whose repository is asked, and the question.
func (v *searchView) head(w int) line {
	l := line{{strong, "search"}, {plain, " " + cleanLine(v.key.String()) + " "}}
	switch {
	case v.typing:
		return append(l, inputLine(windowed(v.input, w-l.width()-8))...)
	case v.busy != "": // before the question, which may be long
		l.add(warn, "looking… ")
	}
	l.add(strong, "/")
	l.add(plain, cleanLine(v.question()))
	return l
}

// windowed is the input cut at its start, so that its cursor is within w columns.
func windowed(in textinput.Model, w int) textinput.Model {
	text, at := []rune(in.Value()), in.Position()
	from := at
	for used := 0; from > 0; from-- {
		if used += width(cellText(text[from-1], 0)); used > max(w, 1) {
			break
		}
	}
	if from > 0 {
		in.SetValue("…" + string(text[min(from+1, at):]))
		in.SetCursor(at - min(from+1, at) + 1)
	}
	return in
}

// page is the answer, or how to ask.
func (v *searchView) page() *page {
	if v.at != nil {
		return v.at.page
	}
	return v.help
}

// viewAnswer lays an answer out line by line. Each line of a hit leads to that hit;
// best is the block of the first.
func viewAnswer(m searchedMsg) (a *asked, best int) {
	s := &section{labels: 1}
	a = &asked{next: map[string]string{}}
	a.page = onePage(s)
	if m.err != nil {
		s.add(block{id: "error", body: fail, text: "✘ " + cleanLine(m.err.Error())})
		return a, 0
	}
	add := func(r role, text, next string) {
		id := strconv.Itoa(len(s.blocks))
		if next != "" {
			a.next[id] = next
			if len(a.next) == 1 {
				best = len(s.blocks)
			}
		}
		s.add(block{id: id, body: r, text: clean(text)})
	}
	next := ""
	for text := range strings.SplitSeq(m.answer.Text, "\n") {
		r := plain
		if !strings.HasPrefix(text, " ") { // else code, or what is in a directory
			next, r = "", dim
			for _, h := range m.hits {
				if isHitLine(text, h) {
					next, r = hitQuestion(h), strong
					break
				}
			}
		}
		add(r, text, next)
	}
	for _, h := range m.answer.Hints {
		add(call, h.Text, writeQuestion(h.Query))
	}
	return a, best
}

// searchHelp stands where the first answer will.
func searchHelp() *page {
	s := &section{labels: 34}
	for _, row := range [][2]string{
		{"in_bulk", "a name; misspelt, the nearest ones"},
		{"query.py:QuerySet.in_bulk", "a name in a class, in a file"},
		{"get_*_display", "names by a glob"},
		{"django/db/models/query.py", "a file, or a folder"},
		{"query.py:120", "what stands around a line"},
		{"callers:QuerySet.in_bulk", "also calls, tests, subclasses, bases, overrides, overridden, importers, imports, members"},
		{"pattern:except $E: pass", "code of a shape: $X is one expression, $$$ anything"},
		{"crash when a file has no name", "anything else: what fits its words best"},
		{"… in:django/db kind:method", "only there, only of that kind: " + strings.Join(search.Kinds, ", ")},
	} {
		s.add(block{id: row[0], label: row[0], labelRole: strong, body: dim, text: row[1]})
	}
	return onePage(s)
}
