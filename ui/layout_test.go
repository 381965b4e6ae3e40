package ui

import (
	"strings"
	"testing"
)

// drawBoxes writes a letter for each cell of a box, so that a layout can be
// compared with a picture of it.
func drawBoxes(a arrangement, w, h int) string {
	cells := make([][]byte, h)
	for i := range cells {
		cells[i] = []byte(strings.Repeat(".", w))
	}
	for letter, b := range map[byte]box{'H': a.head, 'L': a.list, 'V': a.view, 'B': a.bottom} {
		for y := b.y; y < b.y+b.h; y++ {
			for x := b.x; x < b.x+b.w; x++ {
				if cells[y][x] != '.' {
					return "overlap"
				}
				cells[y][x] = letter
			}
		}
	}
	rows := make([]string, h)
	for i, r := range cells {
		rows[i] = squeeze(string(r))
	}
	return squeezeRows(rows)
}

// squeeze writes runs as letter and length: LLLVV is L3V2.
func squeeze(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] == s[i] {
			j++
		}
		b.WriteByte(s[i])
		b.WriteString(thousands(int64(j - i)))
		i = j
	}
	return b.String()
}

func squeezeRows(rows []string) string {
	var b strings.Builder
	for i := 0; i < len(rows); {
		j := i
		for j < len(rows) && rows[j] == rows[i] {
			j++
		}
		b.WriteString(thousands(int64(j-i)) + "*" + rows[i] + " ")
		i = j
	}
	return strings.TrimSpace(b.String())
}

func TestArrange(t *testing.T) {
	for _, c := range []struct {
		name       string
		w, h, head int
		zoom       bool
		focus      pane
		want       string
	}{
		{"wide", 120, 40, 5, false, listFocus, "5*H120 34*L64V56 1*B120"},
		{"wide, list zoomed", 120, 40, 5, true, listFocus, "5*H120 34*L120 1*B120"},
		{"wide, view zoomed", 120, 40, 5, true, viewFocus, "5*H120 34*V120 1*B120"},
		{"huge", 200, 60, 4, false, viewFocus, "4*H200 55*L80V120 1*B200"},
		{"stacked", 80, 24, 5, false, listFocus, "3*H80 9*L80 11*V80 1*B80"},
		{"stacked, tall", 100, 60, 5, false, listFocus, "3*H100 16*L100 40*V100 1*B100"},
		{"wide but low", 200, 24, 5, false, listFocus, "3*H200 9*L200 11*V200 1*B200"},
		{"stacked, zoomed", 80, 24, 5, true, viewFocus, "3*H80 20*V80 1*B80"},
		{"single list", 60, 20, 5, false, listFocus, "2*H60 17*L60 1*B60"},
		{"single view", 79, 24, 5, false, viewFocus, "2*H79 21*V79 1*B79"},
		{"tiny", 39, 24, 5, false, listFocus, "23*.39 1*B39"},
		{"low", 120, 9, 5, false, listFocus, "8*.120 1*B120"},
		{"many gpus keep two thirds for the panes", 120, 30, 30, false, listFocus, "10*H120 19*L64V56 1*B120"},
	} {
		if got := drawBoxes(arrange(c.w, c.h, c.head, c.zoom, c.focus), c.w, c.h); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Every cell is used at every size from small up, and nothing overlaps.
func TestArrangeFills(t *testing.T) {
	for w := 40; w <= 210; w += 7 {
		for h := 10; h <= 70; h += 3 {
			for _, zoom := range []bool{false, true} {
				for _, f := range []pane{listFocus, viewFocus} {
					if got := drawBoxes(arrange(w, h, 5, zoom, f), w, h); strings.ContainsAny(got, ".") || got == "overlap" {
						t.Fatalf("%dx%d zoom %v: %s", w, h, zoom, got)
					}
				}
			}
		}
	}
}
