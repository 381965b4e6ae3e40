package tools

import (
	"fmt"
	"strings"
	"time"

	"rollbench/sandbox"
)

// maxFull bounds Result.Full: 16 MiB.
const maxFull = 16 << 20

func (l Limits) withDefaults() Limits {
	if l.Command == 0 {
		l.Command = 300 * time.Second
	}
	if l.Idle == 0 {
		l.Idle = 30 * time.Second
	}
	if l.Observation == 0 {
		l.Observation = 30000
	}
	if l.File == 0 {
		l.File = 10000
	}
	return l
}

// cutMiddle keeps the head and the tail of text so that no more than limit
// characters remain, note included, and returns how many were cut. note
// formats that number.
func cutMiddle(text string, limit int, note string) (string, int) {
	if len(text) <= limit { // bytes are never fewer than characters
		return text, 0
	}
	runes := []rune(text)
	if len(runes) <= limit {
		return text, 0
	}
	room := max(0, limit-len([]rune(fmt.Sprintf(note, len(runes)))))
	head := room / 2
	tail := room - head
	cut := len(runes) - room
	return string(runes[:head]) + fmt.Sprintf(note, cut) + string(runes[len(runes)-tail:]), cut
}

// bounded is Full: at most maxFull bytes, with room in memory for no more.
func bounded(raw []byte) []byte {
	if len(raw) > maxFull {
		raw = raw[:maxFull]
	}
	return append([]byte(nil), raw...)
}

// texts of an observation besides the output.
type texts struct {
	first, last string // before and after it
	none        string // where nothing was printed
	cut         string // where the middle is cut out: a format for how many characters
}

// show makes the text of a program's output, of at most limit characters.
func (r *Result) show(run sandbox.Result, t texts, limit int) {
	output := run.Output
	if run.Dropped > 0 {
		head := min(max(run.Head, 0), len(output))
		missing := fmt.Sprintf("\n[... %d bytes of output were not kept ...]\n", run.Dropped)
		output = append(append(append([]byte(nil), output[:head]...), missing...), output[head:]...)
	}
	text, cut := cutMiddle(Clean(output), limit-len([]rune(t.first+t.last))-1, t.cut)
	if cut > 0 || run.Dropped > 0 {
		r.Full = bounded(output)
		r.Dropped = int64(cut) + run.Dropped
	}
	if text == "" {
		text = t.none
	}
	if t.last != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	r.Text = t.first + text + t.last
}
