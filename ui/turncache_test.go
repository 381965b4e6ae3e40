package ui

import (
	"testing"

	"rollbench/sessions"
)

// Turns too large for what is kept in memory are read once while they are on the
// screen: the first eight of 4 MiB, and the last one, take more than that.
func TestTurnCacheSettles(t *testing.T) {
	c := &turnCache{}
	c.point(sessions.Key{Instance: "long"}, 1)
	c.last = 50
	look := func(from, to int) {
		clear(c.shown)
		for n := from; n <= to; n++ {
			c.section(n - 1)
		}
		c.section(c.last - 1)
	}
	// read what is wanted until nothing is; it answers how often.
	settle := func(from, to int) (reads int) {
		for ; reads < 20; reads++ {
			look(from, to)
			first, last := c.ask(from)
			if first == 0 {
				return reads
			}
			views := map[int]*section{}
			for n := first; n <= last; n++ {
				views[n] = &section{bytes: 4 << 20}
			}
			look(from, to) // frames go on meanwhile
			c.put(nil, views, first, last)
			c.evict(keepBytes)
		}
		t.Errorf("turns %d to %d are read again and again", from, to)
		return reads
	}
	if n := settle(1, 8); n != 3 { // 1–4, 5–8, 50
		t.Errorf("%d reads", n)
	}
	settle(20, 22)
	for n := range c.turns {
		if n < 20 && n != c.last {
			t.Errorf("turn %d is kept", n)
		}
	}
	if c.bytes > keepBytes {
		t.Errorf("%d MiB are kept", c.bytes>>20)
	}
}
