package ui

import (
	"fmt"
	"strconv"
	"strings"

	"rollbench/sessions/compare"
)

// drawnVersus is the page, as long as nothing it is made of changes.
type drawnVersus struct {
	width   int
	report  *compare.Report
	page    *page
	differs [][]bool
}

// Where the flips stand: their section, and the rows above them in it.
const (
	flipsAt   = 3
	flipsHead = 2
)

// versusRows collects the rows of a section, and which of them differ.
type versusRows struct {
	section
	differs []bool
}

func (s *versusRows) row(differs bool, l line) {
	s.differs = append(s.differs, differs)
	s.add(block{id: strconv.Itoa(len(s.blocks)), kind: cells, title: l})
}

func (s *versusRows) heading(title string, right line) {
	s.differs = append(s.differs, false)
	s.add(block{id: title, kind: heading, title: line{{strong, title}}, right: right})
}

func (v *versusView) page(cols int) document {
	r := v.report
	switch {
	case r == nil && v.failed != "":
		return textPage("✘ "+v.failed, prose, fail)
	case r == nil:
		return textPage("…", prose, dim)
	}
	if d := &v.drawn; d.width != cols || d.report != r {
		*d = drawnVersus{width: cols, report: r, page: &page{}}
		for _, build := range []func(*versusRows, *compare.Report, int){versusHeads, versusNumbers, versusFinish, versusFlips, versusSettings} {
			s := &versusRows{section: section{labels: 1}}
			build(s, r, cols-2)
			d.page.sections = append(d.page.sections, &s.section)
			d.differs = append(d.differs, s.differs)
		}
	}
	return v.drawn.page
}

func (v *versusView) difference(from place, step int) (place, bool) {
	if v.report == nil {
		return place{}, false
	}
	return jumpSections(v.drawn.differs, from, step)
}

// versusHeads say what is compared, and what is left out.
func versusHeads(s *versusRows, r *compare.Report, cols int) {
	for i, c := range []compare.Counted{r.A, r.B} {
		l := line{{strong, string(rune('A' + i))}, {plain, fmt.Sprintf("  %d trajectories, %d count, %d with a reward  ", c.Members, c.Ended, c.Rated)}}
		if c.Simulated {
			l.add(warn, "SIMULATED ")
		}
		l.add(plain, cleanLine(c.Title)+" ")
		l.add(dim, cleanLine(c.Model))
		s.row(false, l)
		if out := c.LeftOut(); out != "" {
			s.row(false, line{{dim, "   left out of rewards: " + out}})
		}
	}
	l := line{{strong, counted(len(r.Shared), "instance") + " in both"}}
	for i, only := range [][]string{r.OnlyA, r.OnlyB} {
		if len(only) > 0 {
			l.add(warn, fmt.Sprintf(" · only in %c: %d", 'A'+i, len(only)))
			l.add(dim, " "+cleanLine(strings.Join(only[:min(3, len(only))], ", ")))
			if len(only) > 3 {
				l.add(dim, ", …")
			}
		}
	}
	s.row(false, l)
	l = append(line{{dim, "fingerprint "}}, settingsDiffer(r))
	for i, set := range r.Settings {
		l.add(dim, []string{": ", ", "}[min(i, 1)]+cleanLine(set.Key))
	}
	s.row(false, l)
}

// settingsDiffer stands before any number: a difference may be theirs.
func settingsDiffer(r *compare.Report) seg {
	switch {
	case len(r.Unknown) > 0:
		return seg{warn, "▲ not recorded of " + cleanLine(strings.Join(r.Unknown, ", "))}
	case len(r.Settings) == 0:
		return seg{good, "✔ the same"}
	case len(r.Settings) == 1:
		return seg{warn, "▲ 1 setting differs"}
	}
	return seg{warn, "▲ " + counted(len(r.Settings), "setting") + " differ"}
}

// versusSettings are those in which the fingerprints differ. They may be many, and
// stand below what came of them.
func versusSettings(s *versusRows, r *compare.Report, cols int) {
	s.heading("fingerprint", line{settingsDiffer(r)})
	if len(r.Unknown) > 0 {
		return
	}
	key := min(max(cols/2, 20), 44)
	value := (cols - key - 2) / 2
	for _, set := range r.Settings {
		s.row(true, line{{plain, pad(cleanLine(set.Key), key)}, {plain, " "}, settingValue(set.A, value), {plain, " "}, settingValue(set.B, value)})
	}
}

func settingValue(json string, w int) seg {
	if json == "" {
		return seg{dim, pad("–", w)}
	}
	return seg{call, pad(cleanLine(json), w)}
}

// Widths of the numbers' columns: n, a mean with its error, a difference, an interval.
const (
	numberN    = 4
	numberMean = 16
	numberDiff = 9
	numberSpan = 20
)

func versusNumbers(s *versusRows, r *compare.Report, cols int) {
	s.heading("means over instances", line{{dim, "± standard error · 95 % interval of B − A, * without 0"}})
	name := max(min(cols-numberN-2*numberMean-numberDiff-numberSpan, 24), 12)
	s.row(false, line{{dim, pad("", name) + padLeft("n", numberN) + padLeft("A", numberMean) + padLeft("B", numberMean) + padLeft("B − A", numberDiff) + padLeft("interval", numberSpan)}})
	for _, m := range r.Numbers() {
		diff, rr := "–", dim
		if m.Diff.Mean != nil {
			diff, rr = compare.Signed(*m.Diff.Mean), plain
		}
		if m.Diff.Apart() {
			rr = strong
		}
		s.row(m.Diff.Apart(), line{{plain, pad(m.Name, name)}, {dim, padLeft(strconv.Itoa(m.Diff.N), numberN)}, {plain, padLeft(m.A.Text(), numberMean) + padLeft(m.B.Text(), numberMean)},
			{rr, padLeft(diff, numberDiff) + padLeft(m.Diff.Interval(), numberSpan)}})
	}
}

func versusFinish(s *versusRows, r *compare.Report, cols int) {
	s.heading("finish reasons", line{{dim, "of trajectories that count"}})
	for _, f := range r.Finish {
		reason := cleanLine(f.Reason)
		if reason == "" {
			reason = "not recorded"
		}
		l := line{{plain, pad(reason, 26)}}
		for _, side := range [][2]int{{f.A, r.A.Ended}, {f.B, r.B.Ended}} {
			share := float64(side[0]) / float64(max(side[1], 1))
			l.add(plain, padLeft(strconv.Itoa(side[0]), 6)+padLeft(percent(&share), 5)+" ")
			l = append(l, meter(share, max(min((cols-26-2*12)/2-2, 20), 1), live)...)
			l.add(plain, "  ")
		}
		s.row(false, l)
	}
}

// versusFlips are the instances that are solved more or less often.
func versusFlips(s *versusRows, r *compare.Report, cols int) {
	more := 0
	for _, f := range r.Flips {
		more += boolInt(f.Change() > 0)
	}
	right := line{{dim, fmt.Sprintf("%d of %s · %d more often, %d less", len(r.Flips), counted(r.Rated, "instance"), more, len(r.Flips)-more)}}
	s.heading("flips", right)
	name := max(min(cols-2*10-26, 48), 12)
	s.row(false, line{{dim, pad("solved", name) + padLeft("A", 10) + padLeft("B", 10)}})
	for _, f := range r.Flips {
		arrow, role := "▲", good
		if f.Change() < 0 {
			arrow, role = "▼", warn
		}
		s.row(true, line{{plain, pad(cleanLine(f.Instance), name)}, {plain, padLeft(scoreText(f.A), 10) + padLeft(scoreText(f.B), 10)}, {role, "  " + arrow + " "}, {plain, f.A.Word() + " → " + f.B.Word()}})
	}
	if len(r.Flips) == 0 {
		s.row(false, line{{dim, "none goes between never, sometimes and always solved"}})
	}
}

func scoreText(s compare.Score) string { return fmt.Sprintf("%d of %d", s.Solved, s.Of) }
