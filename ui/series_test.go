package ui

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"rollbench/engine"
)

// seriesAt has a point at each second with so many busy run slots; a negative
// number is a point without a GPU's gauge.
func seriesAt(seconds []int, busy []int) *series {
	points := make([]engine.Point, len(seconds))
	for i, s := range seconds {
		points[i] = engine.Point{At: t0.Add(time.Duration(s) * time.Second), Busy: [3]int{0, max(busy[i], 0), 0}, Limit: [3]int{0, 8, 0}}
		if busy[i] >= 0 {
			points[i].GPU = ptr(float64(busy[i]) / 8)
		}
	}
	return newSeries(points)
}

func runBusy(p *engine.Point) (float64, bool) { return float64(p.Busy[1]), true }

func numbers(vs []float64) string {
	out := []string{}
	for _, v := range vs {
		if math.IsNaN(v) {
			out = append(out, "·")
		} else {
			out = append(out, fmt.Sprintf("%.4g", v))
		}
	}
	return strings.Join(out, " ")
}

// Means by hand: more points than columns, fewer, pieces of columns, and gaps.
func TestSeriesColumns(t *testing.T) {
	gpu := func(p *engine.Point) (float64, bool) {
		if p.GPU == nil {
			return 0, false
		}
		return *p.GPU * 8, true
	}
	for _, c := range []struct {
		name       string
		at, busy   []int
		get        quantity
		w          int
		want, span string
	}{
		{"two a column", []int{0, 1, 2, 3}, []int{0, 4, 6, 8}, runBusy, 2, "2 7", "4s"},
		{"two columns a point", []int{0, 1}, []int{3, 5}, runBusy, 4, "3 3 5 5", "2s"},
		{"half a point", []int{0, 1, 2}, []int{2, 4, 8}, runBusy, 2, "2.667 6.667", "3s"}, // (2+4/2)/1.5, (4/2+8)/1.5
		{"one point", []int{7}, []int{5}, runBusy, 3, "5 5 5", "1s"},
		{"not known, not 0", []int{0, 1, 2, 3}, []int{8, -1, -1, 0}, gpu, 4, "8 · · 0", "4s"},
		{"a gap: a point stands for three steps", []int{0, 1, 2, 12, 13}, []int{1, 1, 4, 2, 2}, runBusy, 14, "1 1 4 4 4 · · · · · · · 2 2", "14s"},
		{"a night: left out", []int{0, 1, 2, 30000, 30001}, []int{1, 1, 4, 2, 2}, runBusy, 5, "1 1 4 2 2", "5s"},
		{"a clock set back", []int{0, 1, 0, 1}, []int{1, 2, 3, 4}, runBusy, 3, "1 3 4", "3s"},
	} {
		s := seriesAt(c.at, c.busy)
		if got := numbers(s.columns(c.get, 0, s.end, c.w)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if got := span(s.end); got != c.span {
			t.Errorf("%s: the axis is %s long, want %s", c.name, got, c.span)
		}
	}
}

// A piece of the axis, and what the time left out comes to.
func TestSeriesPiece(t *testing.T) {
	s := seriesAt([]int{0, 1, 2, 3, 4, 5}, []int{1, 2, 3, 4, 5, 6})
	if got := numbers(s.columns(runBusy, 2*time.Second, s.end, 2)); got != "3.5 5.5" {
		t.Errorf("from second 2: %s", got)
	}
	s = seriesAt([]int{0, 1, 2, 3602, 3603}, []int{1, 1, 1, 1, 1})
	if len(s.breaks) != 1 || s.breaks[0] != 3*time.Second || s.away != 3599*time.Second {
		t.Errorf("breaks %v, away %v", s.breaks, s.away)
	}
	if newSeries(nil) != nil {
		t.Error("no points make a series")
	}
}

func TestBars(t *testing.T) {
	nan := math.NaN()
	text := func(l line) (s string) {
		for _, p := range l {
			s += p.text
		}
		return s
	}
	for _, c := range []struct {
		columns []float64
		full    float64
		want    string // rows, | between them
	}{
		{[]float64{0, 0.01, 1, 4, 7, 8}, 8, "▁▂▂▄▇█"},
		{[]float64{nan, 8, nan, 0}, 8, " █ ▁"},
		{[]float64{0, 0}, 0, "▁▁"},
		{[]float64{9}, 8, "█"},
		{[]float64{0, 1, 4, 6, 8}, 8, "   ▄█|▁▂███"},
	} {
		rows := []string{}
		for _, l := range bars(c.columns, c.full, strings.Count(c.want, "|")+1) {
			rows = append(rows, text(l))
		}
		if got := strings.Join(rows, "|"); got != c.want {
			t.Errorf("%v of %v: %q, want %q", c.columns, c.full, got, c.want)
		}
	}
	l := bars([]float64{0, 8, 8, 0}, 8, 1)[0]
	if l[1] != (seg{dim, "▁"}) || l[2] != (seg{live, "██"}) {
		t.Errorf("a zero is not faint: %v", l)
	}
}

func TestReadSeriesBroken(t *testing.T) {
	if _, err := readSeries([]json.RawMessage{json.RawMessage(`{"at":7}`)}); err == nil || !strings.HasPrefix(err.Error(), "read the time series of the run: ") {
		t.Errorf("a broken point gives %v", err)
	}
}

// The sparkline goes back ten minutes at most and says how far.
func TestSpark(t *testing.T) {
	at, busy := make([]int, 1200), make([]int, 1200)
	for i := range at {
		at[i], busy[i] = i, 8
		if i >= 900 {
			busy[i] = 4
		}
	}
	text := ""
	for _, p := range seriesAt(at, busy).spark(4) {
		text += p.text
	}
	if text != "run slots 10m ██▄▄" {
		t.Errorf("%q", text)
	}
	if l := (*series)(nil).spark(4); l != nil {
		t.Errorf("no series gives %v", l)
	}
}

// Where the engine was away the axis leaves the time out, and says so.
func TestChartBreak(t *testing.T) {
	s := seriesAt([]int{0, 1, 2, 3, 7203, 7204}, []int{8, 8, 8, 8, 4, 4})
	sec := viewSeries(s, 0, 2+chartName+3*chartCell+1+6, 1)
	got := ""
	for _, b := range sec.blocks {
		got += plainText(b.title) + b.text + "\n"
	}
	for _, want := range []string{"run busy      ████┊▄     4     8     8\n", "GPU           ████┊▄   50%  100%  100%\n", "┊ the engine was away, 1h59m in all: that time is left out.\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}
