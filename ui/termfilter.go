package ui

import "io"

// termFilter passes on what a shell shows, but for the strings by which a program
// could reach beyond the screen: OSC (title, clipboard, links), DCS, APC, PM and SOS,
// in both their forms. What moves the cursor and colours the text stays, which is what
// a shell is for.
type termFilter struct {
	to    io.Writer
	state filterState
	more  int // bytes of a UTF-8 character still to come
	out   []byte
}

type filterState uint8

const (
	filterText   filterState = iota
	filterEscape             // after ESC
	filterC2                 // after the first byte of a C1 control
	filterString             // within a string
	filterStringEscape
	filterStringC2
)

const (
	bell, cancelByte, substitute, escape = 0x07, 0x18, 0x1a, 0x1b
)

func (f *termFilter) Write(p []byte) (int, error) {
	f.out = f.out[:0]
	for _, b := range p {
		f.take(b)
	}
	if len(f.out) > 0 {
		if _, err := f.to.Write(f.out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (f *termFilter) take(b byte) {
	switch f.state {
	case filterText:
		f.text(b)
	case filterEscape:
		switch b {
		case ']', 'P', '_', '^', 'X':
			f.state = filterString
		case escape: // it begins anew
		default:
			f.out = append(f.out, escape, b)
			f.state = filterText
		}
	case filterC2:
		switch b {
		case 0x90, 0x98, 0x9d, 0x9e, 0x9f:
			f.state = filterString
		default:
			if f.out, f.state = append(f.out, 0xc2), filterText; b&0xc0 == 0x80 {
				f.out = append(f.out, b)
			} else { // the byte before it was none of a character
				f.take(b)
			}
		}
	case filterString:
		switch b {
		case bell, cancelByte, substitute, 0x9c:
			f.state = filterText
		case escape:
			f.state = filterStringEscape
		case 0xc2:
			f.state = filterStringC2
		}
	case filterStringEscape: // ESC \ ends it, another sequence does so as well
		if f.state = filterText; b != '\\' {
			f.state = filterEscape
			f.take(b)
		}
	case filterStringC2:
		f.state = filterString
		f.take(b)
	}
}

// text outside of sequences. A C1 control may stand as one byte, which is none within
// a character.
func (f *termFilter) text(b byte) {
	if f.more > 0 && b&0xc0 == 0x80 {
		f.more--
		f.out = append(f.out, b)
		return
	}
	f.more = 0
	switch {
	case b == escape:
		f.state = filterEscape
		return
	case b == 0xc2:
		f.state = filterC2
		return
	case b == 0x90 || b == 0x98 || b >= 0x9d && b <= 0x9f:
		f.state = filterString
		return
	case b >= 0xf0 && b < 0xf8:
		f.more = 3
	case b >= 0xe0 && b < 0xf0:
		f.more = 2
	case b > 0xc2 && b < 0xe0:
		f.more = 1
	}
	f.out = append(f.out, b)
}
