package ui

import (
	"slices"
	"sort"

	"rollbench/sessions"
)

// Bounds of the turn caches: text that those of all views keep in memory, and turns
// asked for at once.
const (
	keepBytes = 16 << 20
	askTurns  = 4
)

// turnCache holds the laid-out turns of one attempt of one trajectory. It is a
// document: asking for a turn that is not there notes that it is wanted.
type turnCache struct {
	key     sessions.Key
	attempt int
	last    int // highest turn that exists
	turns   map[int]*section
	stale   map[int]bool // shown until their new form arrives
	wanted  map[int]bool
	bytes   int
	tail    *section               // what is going on, or how it ended; nil: nothing to say
	waits   []sessions.Call        // calls of the last reply, none of them answered
	answers []sessions.Observation // of the last turn
	replies int                    // to its prompt
	// answered: the last reply had calls, and all have an answer.
	answered bool
	find     string // looked for: marked where it stands
	near     int    // turn that was looked at when the last read was asked for
	// shown are the turns asked for by the last frame: what is on the screen is never
	// given up for what is not.
	shown map[int]bool
	// lead stands above turn leadTurn, of a fork the first of its own.
	lead     []block
	leadTurn int
	leadSign string // what it was made of
}

// point the cache at a trajectory. It reports whether everything was dropped.
func (c *turnCache) point(key sessions.Key, attempt int) bool {
	if c.key == key && c.attempt == attempt && c.turns != nil {
		return false
	}
	*c = turnCache{key: key, attempt: attempt, turns: map[int]*section{}, stale: map[int]bool{}, wanted: map[int]bool{}, shown: map[int]bool{}}
	return true
}

func (c *turnCache) count() int {
	if c.tail != nil {
		return c.last + 1
	}
	return c.last
}

// A stale turn is shown until its new form is there: nothing flickers.
func (c *turnCache) section(i int) *section {
	if i == c.last {
		return c.tail
	}
	c.shown[i+1] = true
	s := c.turns[i+1]
	if s == nil || c.stale[i+1] {
		c.wanted[i+1] = true
	}
	if s != nil {
		s.find = c.find
	}
	return s
}

// outdated says that a turn has changed. It is read again when it is looked at.
func (c *turnCache) outdated(key sessions.Key, turn int) {
	if c.key == key && c.turns != nil {
		c.stale[turn] = true
	}
}

// ask takes a range of wanted turns near the one looked at, 0,0 when none is.
func (c *turnCache) ask(near int) (from, to int) {
	if len(c.wanted) == 0 {
		return 0, 0
	}
	c.near = near
	list := make([]int, 0, len(c.wanted))
	for n := range c.wanted {
		list = append(list, n)
	}
	sort.Slice(list, func(i, j int) bool { return distance(list[i], near) < distance(list[j], near) })
	from, to = list[0], list[0]
	for to-from+1 < askTurns && (c.wanted[from-1] || c.wanted[to+1]) {
		if c.wanted[from-1] {
			from--
		} else {
			to++
		}
	}
	clear(c.wanted)
	for n := from; n <= to; n++ {
		delete(c.stale, n) // from here on a change makes it stale again
	}
	return from, to
}

func distance(a, b int) int { return max(a-b, b-a) }

// put turns that were read; from and to say what was asked for, so that a turn
// the store does not have is not asked for again.
func (c *turnCache) put(turns []sessions.Turn, views map[int]*section, from, to int) {
	for n := from; n <= to; n++ {
		delete(c.wanted, n)
		if old := c.turns[n]; old != nil {
			c.bytes -= old.bytes
		}
		v := views[n]
		if v == nil {
			v = &section{blocks: []block{{id: "none", label: "turn", labelRole: dim, body: dim, text: "not recorded"}}}
		}
		if n == c.leadTurn {
			v.blocks = append(slices.Clone(c.lead), v.blocks...)
		}
		c.turns[n] = v
		c.bytes += v.bytes
	}
	for _, t := range turns {
		if t.Index >= c.last && t.Version == 1 {
			c.replies = 0
		}
		if c.last = max(c.last, t.Index); t.Index == c.last {
			c.replies++
		}
		if t.Index == c.last && !t.Superseded {
			c.answers = t.Observations
			c.waits, c.answered = nil, len(t.Calls) > 0 && len(t.Observations) >= len(t.Calls)
			if !t.Complete && !c.answered {
				c.waits = t.Calls
			}
		}
	}
}

// evict the turns farthest from the one looked at, until no more than so many bytes
// are kept. The last one stays, too: what can be done with a held trajectory is told
// by it.
func (c *turnCache) evict(keep int) {
	for c.bytes > keep {
		far := 0
		for n := range c.turns {
			if n != c.last && !c.shown[n] && (far == 0 || distance(n, c.near) > distance(far, c.near)) {
				far = n
			}
		}
		if far == 0 {
			break
		}
		c.bytes -= c.turns[far].bytes
		delete(c.turns, far)
	}
}

// byTurn groups the versions of each turn into its section.
func byTurn(turns []sessions.Turn, view func([]sessions.Turn) *section) map[int]*section {
	views := map[int]*section{}
	for from := 0; from < len(turns); {
		to := from + 1
		for to < len(turns) && turns[to].Index == turns[from].Index {
			to++
		}
		views[turns[from].Index] = view(turns[from:to])
		from = to
	}
	return views
}
