package ui

// mode is how much of the workbench the terminal has room for.
type mode uint8

const (
	tiny    mode = iota // one line
	single              // one pane, chosen by tabs
	stacked             // list over transcript
	wide                // list beside transcript, framed
)

// box is a rectangle of the screen, frame included.
type box struct{ x, y, w, h int }

// pane is what has the keys.
type pane uint8

const (
	listFocus pane = iota
	viewFocus
)

// arrangement is where everything goes. A box of height 0 is not drawn.
type arrangement struct {
	mode       mode
	head       box
	list, view box
	bottom     box
}

// arrange divides w×h. headRows is what the full header would take.
func arrange(w, h, headRows int, zoom bool, focus pane) arrangement {
	switch {
	case w < 40 || h < 10:
		return arrangement{mode: tiny, bottom: box{0, max(h-1, 0), w, min(h, 1)}}
	case w >= 120 && h >= 30:
		return arrangeWide(w, h, min(headRows, h/3), zoom, focus)
	case w >= 80 && h >= 24:
		return arrangeStacked(w, h, zoom, focus)
	}
	a := arrangement{mode: single, head: box{0, 0, w, 2}, bottom: box{0, h - 1, w, 1}}
	a.only(box{0, 2, w, h - 3}, focus)
	return a
}

func (a *arrangement) only(b box, focus pane) {
	if focus == listFocus {
		a.list = b
	} else {
		a.view = b
	}
}

// arrangeWide gives the list what its columns need and the transcript the rest.
func arrangeWide(w, h, headRows int, zoom bool, focus pane) arrangement {
	a := arrangement{mode: wide, head: box{0, 0, w, headRows}, bottom: box{0, h - 1, w, 1}}
	body := box{0, headRows, w, h - headRows - 1}
	if zoom {
		a.only(body, focus)
		return a
	}
	lw := min(max(w*42/100, 64), 80)
	a.list = box{0, body.y, lw, body.h}
	a.view = box{lw, body.y, w - lw, body.h}
	return a
}

// arrangeStacked keeps the list short: the transcript is what is read.
func arrangeStacked(w, h int, zoom bool, focus pane) arrangement {
	a := arrangement{mode: stacked, head: box{0, 0, w, 3}, bottom: box{0, h - 1, w, 1}}
	body := box{0, 3, w, h - 4}
	if zoom {
		a.only(body, focus)
		return a
	}
	lh := min(body.h*45/100, 16)
	a.list = box{0, body.y, w, lh}
	a.view = box{0, body.y + lh, w, body.h - lh}
	return a
}

// inner is where a pane's rows go: inside its frame, or below its title row.
func (a arrangement) inner(b box) box {
	if b.h == 0 {
		return box{}
	}
	if a.mode == wide {
		return box{b.x + 1, b.y + 1, max(b.w-2, 0), max(b.h-2, 0)}
	}
	return box{b.x, b.y + 1, b.w, max(b.h-1, 0)}
}
