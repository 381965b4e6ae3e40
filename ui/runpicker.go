package ui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"rollbench/sessions"
)

// runPicker asks for a run: what is typed narrows the list, tab completes it.
type runPicker struct {
	name  string
	input textinput.Model
	all   []sessions.Summary // newest first
	ready bool               // they were read
	at    int                // of those that match
	take  func(id string) tea.Cmd
}

func (p *runPicker) title() string { return p.name }

// matching runs: every word that was typed stands in the id, the tasks or the model.
func (p *runPicker) matching() (list []sessions.Summary) {
	words := strings.Fields(strings.ToLower(p.input.Value()))
	for _, s := range p.all {
		text := strings.ToLower(s.ID + " " + s.Title + " " + s.Model)
		fits := true
		for _, word := range words {
			fits = fits && strings.Contains(text, word)
		}
		if fits {
			list = append(list, s)
		}
	}
	return list
}

func (p *runPicker) key(m tea.KeyMsg) (tea.Cmd, bool) {
	list := p.matching()
	switch k := m.String(); {
	case key.Matches(m, closeKey):
		return nil, true
	case k == "up":
		p.at = max(p.at-1, 0)
	case k == "down":
		p.at = min(p.at+1, max(len(list)-1, 0))
	case key.Matches(m, nextKey):
		p.complete(list)
	case key.Matches(m, takeKey):
		if p.at < len(list) && list[p.at].Problem == "" {
			return p.take(list[p.at].ID), true
		}
	default:
		before := p.input.Value()
		p.input, _ = p.input.Update(m)
		if p.input.Value() != before {
			p.at = 0
		}
	}
	return nil, false
}

// complete what was typed as far as the ids that begin with it agree; with nothing to
// add, by the chosen one.
func (p *runPicker) complete(list []sessions.Summary) {
	typed := p.input.Value()
	common := ""
	for _, s := range p.all {
		switch {
		case !strings.HasPrefix(s.ID, typed):
		case common == "":
			common = s.ID
		default:
			n := 0
			for n < len(common) && n < len(s.ID) && common[n] == s.ID[n] {
				n++
			}
			common = common[:n]
		}
	}
	if len(common) <= len(typed) && p.at < len(list) {
		common = list[p.at].ID
	}
	if common != "" {
		p.input.SetValue(common)
		p.input.CursorEnd()
		p.at = 0
	}
}

func (p *runPicker) render(t *theme, w, h int) []string {
	list := p.matching()
	p.at = max(min(p.at, len(list)-1), 0)
	rows := []string{t.fit(inputLine(windowed(p.input, w-2)), w)}
	room := max(h-4, 1)
	id := 16
	for _, s := range list {
		id = min(max(id, width(s.ID)+1), 28)
	}
	rows = append(rows, t.fit(line{{dim, pad("run", id) + pad("started", 17) + padLeft("done", 9) + padLeft("reward", 8) + "  " + pad("state", 12) + "tasks, model"}}, w))
	from := max(p.at-room+1, 0)
	for i := from; i < len(list) && i < from+room; i++ {
		base := plain
		if i == p.at {
			base = chosen
		}
		rows = append(rows, t.fitOn(runLine(list[i], id), w, base))
	}
	if len(list) == 0 {
		text := "no other run is recorded here"
		switch {
		case !p.ready:
			text = "reading which there are…"
		case len(p.all) > 0:
			text = fmt.Sprintf("none of %d runs has that", len(p.all))
		}
		rows = append(rows, t.fit(line{{dim, text}}, w))
	}
	return append(rows, spaces(w), t.fit(line{{strong, "enter"}, {dim, " takes it  "}, {strong, "↑ ↓"}, {dim, " choose  "}, {strong, "tab"}, {dim, " completes  "}, {strong, "esc"}, {dim, " closes"}}, w))
}

func runLine(s sessions.Summary, id int) line {
	l := line{{strong, pad(cleanLine(s.ID), id)}}
	if s.Problem != "" {
		l.add(warn, "cannot be read: "+cleanLine(s.Problem))
		return l
	}
	mean := "–"
	if s.MeanReward != nil {
		mean = reward2(*s.MeanReward)
	}
	l.add(dim, pad(s.Created.Local().Format("2006-01-02 15:04"), 17))
	l.add(plain, padLeft(fmt.Sprintf("%d/%d", s.Done+s.Failed+s.Cancelled, s.Members), 9)+padLeft(mean, 8)+"  ")
	r := dim
	if s.State == sessions.RunRunning {
		r = live
	}
	l.add(r, pad(string(s.State), 12))
	l.add(plain, cleanLine(s.Title)+" ")
	l.add(dim, cleanLine(s.Model))
	if s.Simulated {
		l.add(warn, " simulated")
	}
	return l
}
