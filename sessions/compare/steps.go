package compare

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"rollbench/sessions"
)

// Turns is what traces are read from; every sessions.Reader is one.
type Turns interface {
	Turns(ctx context.Context, key sessions.Key, attempt, from, to int, withIDs bool) ([]sessions.Turn, error)
}

// Texts kept of a call and of what came back; whether all of them are equal is known
// by their sums.
const (
	keepArgs = 4 << 10
	keepSaw  = 16 << 10
)

// readTurns is how many turns are in memory at once.
const readTurns = 8

// Step is one call of a trajectory, or a reply without one.
type Step struct {
	Turn int // from 1
	Call int // of the reply, from 0; −1 where it has none
	Tool string
	Args string // as the policy wrote them; of a reply without a call its text
	// Sign is equal for calls that are the same: of the same tool, with arguments that
	// are the same JSON. Like is equal for those of the same tool on the same file.
	Sign, Like string
	Problem    string // why it could not be used

	Answered bool
	Status   string // of the observation
	Exit     *int
	Saw      string // the start of what the model saw
	SawBytes int
	Wall     time.Duration
	Changed  bool // by a person
	sum      [32]byte
}

// Head is a turn as far as it is compared: the reply in effect.
type Head struct {
	Index       int
	First, Last int // its steps
	Complete    bool
	raw, parts  [32]byte // of the sampled text: with every marker, and as it was parsed
	hasRaw      bool
}

// Trace is a trajectory's calls in order. It is not changed once it was read.
type Trace struct {
	Key     sessions.Key
	Attempt int
	Heads   []Head
	Steps   []Step
}

// Follow reads the turns that are new in a trace, and those that were not complete
// or last in it, up to turn last. The trace it was stays as it is.
func Follow(ctx context.Context, r Turns, had Trace, key sessions.Key, attempt, last int) (Trace, error) {
	t := Trace{Key: key, Attempt: attempt}
	if had.Key == key && had.Attempt == attempt {
		for i, h := range had.Heads {
			if !h.Complete || i == len(had.Heads)-1 {
				break
			}
			t.Heads = append(t.Heads, h)
			t.Steps = append(t.Steps, had.Steps[h.First:h.Last]...)
		}
	}
	for from := len(t.Heads) + 1; from <= last; from += readTurns {
		turns, err := r.Turns(ctx, key, attempt, from, min(from+readTurns-1, last), false)
		if err != nil {
			return had, err
		}
		for i := range turns {
			if !turns[i].Superseded {
				t.add(&turns[i])
			}
		}
	}
	return t, nil
}

func (t *Trace) add(turn *sessions.Turn) {
	h := Head{Index: turn.Index, First: len(t.Steps), Complete: turn.Complete, hasRaw: turn.Raw != "", raw: sha256.Sum256([]byte(turn.Raw))}
	parts := sha256.New()
	for _, s := range []string{turn.Reasoning, turn.Content} {
		parts.Write([]byte(strconv.Itoa(len(s)) + ":" + s))
	}
	for i := range turn.Calls {
		s := stepOf(turn, i)
		parts.Write([]byte(s.Sign))
		t.Steps = append(t.Steps, s)
	}
	if len(turn.Calls) == 0 {
		text := strings.TrimSpace(turn.Content)
		t.Steps = append(t.Steps, Step{Turn: turn.Index, Call: -1, Args: head(text, keepArgs), Sign: "\x00" + text, Like: "\x00", Changed: turn.Source == sessions.FromOperator})
	}
	parts.Sum(h.parts[:0])
	h.Last = len(t.Steps)
	t.Heads = append(t.Heads, h)
}

func stepOf(turn *sessions.Turn, i int) Step {
	c := &turn.Calls[i]
	s := Step{Turn: turn.Index, Call: i, Tool: c.Name, Args: head(c.Arguments, keepArgs), Problem: c.Problem, Changed: turn.Source == sessions.FromOperator}
	args, like := normal(c.Arguments)
	s.Sign, s.Like = c.Name+"\x00"+args, c.Name+"\x00"+like
	for n := range turn.Observations {
		// Calls may lack ids, or share one: the observation of a call is then the one at its place.
		if o := &turn.Observations[n]; o.CallID == c.ID && (n == i || !sameID(turn.Calls, c.ID)) {
			s.Answered, s.Status, s.Exit, s.Wall = true, o.Status, o.Exit, o.Wall
			s.Saw, s.SawBytes, s.sum = head(o.Text, keepSaw), len(o.Text), sha256.Sum256([]byte(o.Text))
			s.Changed = s.Changed || o.Source == sessions.FromOperator
			break
		}
	}
	return s
}

func sameID(calls []sessions.Call, id string) bool {
	n := 0
	for i := range calls {
		if calls[i].ID == id {
			n++
		}
	}
	return n > 1
}

// normal is the arguments with sorted keys and no space between them, and what they
// work on: the command of an editor and its path. What is no JSON object is itself.
func normal(arguments string) (same, like string) {
	var args map[string]any
	d := json.NewDecoder(strings.NewReader(arguments))
	d.UseNumber() // 1e400 and 0.10 stay what they are
	if err := d.Decode(&args); err != nil || args == nil || d.More() {
		return strings.TrimSpace(arguments), ""
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b) // sorts the keys of maps
	e.SetEscapeHTML(false)
	if err := e.Encode(args); err != nil {
		return strings.TrimSpace(arguments), ""
	}
	if path, ok := args["path"].(string); ok {
		command, _ := args["command"].(string)
		like = command + " " + path
	}
	return strings.TrimSuffix(b.String(), "\n"), like
}

// head is the first n bytes of a text, not cut within a character.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}

// SameSaw reports whether both calls were answered with the same text and status.
func SameSaw(a, b *Step) bool {
	return a.Answered == b.Answered && a.Status == b.Status && a.SawBytes == b.SawBytes && a.sum == b.sum
}

// SawLine is the first line (from 1) in which what two calls saw differs, 0 where it
// is beyond what is kept of it, or nowhere.
func SawLine(a, b *Step) int {
	x, y := a.Saw, b.Saw
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	if n == len(x) && n == len(y) {
		return 0
	}
	return 1 + strings.Count(x[:n], "\n")
}

// Signs of the steps, as Align takes them: exact ones, and coarser ones.
func (t Trace) Signs() (sign, like []string) {
	for i := range t.Steps {
		sign, like = append(sign, t.Steps[i].Sign), append(like, t.Steps[i].Like)
	}
	return sign, like
}
