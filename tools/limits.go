package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"rollbench/sandbox"
)

// maxFull bounds the Result.Full of a tool that prints nothing while it works.
const maxFull = 2 * maxHalf

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

// check that limits are of tools there are. Where not all are known yet (partly) nothing
// can be said of that.
func (l Limits) check(r *Registry, partly bool) error {
	for _, name := range slices.Sorted(maps.Keys(l.PerTool)) {
		switch {
		case r.find(name) == nil && !partly:
			return fmt.Errorf("a limit of characters is set for %q, and no tool of that name is enabled. %s", name, r.available())
		case l.PerTool[name] < 1:
			return fmt.Errorf("the limit of characters of %s is %d: it must be at least 1", name, l.PerTool[name])
		}
	}
	return nil
}

// held is how much of a command's output is held in memory until the command
// has ended, in bytes: well over what an observation shows, since escape
// sequences and redrawn lines are taken out of it.
func (l Limits) held() int { return max(sandbox.DefaultMaxOutput, 8*l.Observation) }

// clean makes what a program printed a text for the model.
func (l Limits) clean(raw []byte) string {
	if l.KeepEscapes {
		return strings.ToValidUTF8(string(raw), "\uFFFD")
	}
	return Clean(raw)
}

// cutMiddle keeps the head and the tail of text so that no more than limit
// characters remain, note included, and returns how many were cut. note
// formats that number.
func cutMiddle(text string, limit int, note string) (string, int) {
	if len(text) <= limit { // bytes are never fewer than characters
		return text, 0
	}
	n := utf8.RuneCountInString(text)
	if n <= limit {
		return text, 0
	}
	room := max(0, limit-noteLength(note, n))
	head := room / 2
	cut := n - room
	return firstRunes(text, head) + fmt.Sprintf(note, cut) + lastRunes(text, room-head), cut
}

// cutGap joins the two ends of a text whose middle, gap bytes long, is not
// there. Those bytes count as characters.
func cutGap(head, tail string, gap int64, limit int, note string) (string, int) {
	all := int(gap) + utf8.RuneCountInString(head) + utf8.RuneCountInString(tail)
	room := max(0, limit-noteLength(note, all))
	first := firstRunes(head, room/2)
	last := lastRunes(tail, room-room/2)
	cut := all - utf8.RuneCountInString(first) - utf8.RuneCountInString(last)
	return first + fmt.Sprintf(note, cut) + last, cut
}

func noteLength(note string, n int) int { return utf8.RuneCountInString(fmt.Sprintf(note, n)) }

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func lastRunes(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:]
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

// show makes the text of a program's output, within the limits.
func (r *Result) show(run sandbox.Result, t texts, l Limits) {
	room := l.Observation - utf8.RuneCountInString(t.first+t.last) - 1
	var text string
	var cut int
	if run.Dropped > 0 {
		at := min(max(run.Head, 0), len(run.Output))
		text, cut = cutGap(l.clean(run.Output[:at]), l.clean(run.Output[at:]), run.Dropped, room, t.cut)
		r.gap, r.head = run.Dropped, int64(at)
	} else {
		text = l.clean(run.Output)
		if text != string(run.Output) {
			r.Full = run.Output
		}
		text, cut = cutMiddle(text, room, t.cut)
	}
	if cut > 0 {
		r.Full, r.Dropped = run.Output, int64(cut)
	}
	if text == "" {
		text = t.none
	}
	if t.last != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	r.Text = t.first + text + t.last
}
