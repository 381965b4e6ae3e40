// Package breaks is the breakpoints of a run: how they are written, where they
// are true, and the set of them that every trajectory asks at its gates.
//
// In: texts of a person, places of trajectories. Out: which breakpoints a place
// meets. It holds nothing and records nothing itself.
package breaks

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"rollbench/sessions"
)

// Breakpoint is one of a set, as screens show it.
type Breakpoint struct {
	ID      int           `json:"id"`
	Text    string        `json:"text"`
	At      sessions.Gate `json:"at"` // "": when the reward is known
	Off     bool          `json:"off"`
	Log     bool          `json:"log"` // holds nothing
	Hits    int           `json:"hits"`
	Matches int           `json:"matches"`
}

// Place as the state line says it.
func (b Breakpoint) String() string { return fmt.Sprintf("#%d %s", b.ID, b.Text) }

// Set may be used from any goroutine. The zero value is empty.
type Set struct {
	on   atomic.Int32 // breakpoints that are looked at
	mu   sync.Mutex   // guards all below
	list []entry      // by ID
	last int          // highest ID so far; none is given twice
}

type entry struct {
	Breakpoint
	c *Condition
}

// Any reports whether a place needs to be looked at. It takes no lock.
func (s *Set) Any() bool { return s.on.Load() > 0 }

// List of all, by ID.
func (s *Set) List() []Breakpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Breakpoint, len(s.list))
	for i := range s.list {
		out[i] = s.list[i].Breakpoint
	}
	return out
}

// NextID is the ID of the next new breakpoint.
func (s *Set) NextID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	return s.last
}

// Put a breakpoint into the set, or in the place of the one with its ID, whose
// counts stay.
func (s *Set) Put(b sessions.Breakpoint) error {
	c, err := Parse(b.Text)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := entry{Breakpoint{ID: b.ID, Text: b.Text, At: c.At, Off: b.Off, Log: c.Log}, c}
	i, there := s.find(b.ID)
	if there {
		e.Hits, e.Matches = s.list[i].Hits, s.list[i].Matches
		s.list[i] = e
	} else {
		s.list = slices.Insert(s.list, i, e)
	}
	s.last = max(s.last, b.ID)
	s.count()
	return nil
}

// Get the breakpoint with that ID.
func (s *Set) Get(id int) (Breakpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, there := s.find(id)
	if !there {
		return Breakpoint{}, fmt.Errorf("there is no breakpoint #%d", id)
	}
	return s.list[i].Breakpoint, nil
}

// Remove the breakpoint with that ID, if it is there.
func (s *Set) Remove(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, there := s.find(id); there {
		s.list = slices.Delete(s.list, i, i+1)
		s.count()
	}
}

// Recall the counts that an earlier part of the run recorded.
func (s *Set) Recall(h sessions.BreakpointHit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, there := s.find(h.ID); there {
		s.list[i].Hits, s.list[i].Matches = h.Hits, h.Matches
	}
}

// find the place of an ID; mu is held.
func (s *Set) find(id int) (int, bool) {
	return slices.BinarySearchFunc(s.list, id, func(e entry, id int) int { return e.ID - id })
}

// count those that are on; mu is held.
func (s *Set) count() {
	n := int32(0)
	for i := range s.list {
		if !s.list[i].Off {
			n++
		}
	}
	s.on.Store(n)
}

// Meet says which breakpoints the place hits, and counts them.
func (s *Set) Meet(p Place) []sessions.BreakpointHit {
	s.mu.Lock()
	on := slices.Clone(s.list)
	s.mu.Unlock()
	var hits []sessions.BreakpointHit
	for i := range on { // expressions are matched without the lock: many trajectories ask at once
		if on[i].Off || slices.Contains(p.Met, on[i].ID) || !on[i].c.Match(&p) {
			continue
		}
		if b, hit := s.met(on[i].ID, max(on[i].c.Every, 1)); hit {
			hits = append(hits, sessions.BreakpointHit{ID: b.ID, Text: b.Text, Turn: p.Turn, At: p.At, Log: b.Log, Hits: b.Hits, Matches: b.Matches})
		}
	}
	return hits
}

// met counts a match; every n-th is a hit.
func (s *Set) met(id, every int) (Breakpoint, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, there := s.find(id)
	if !there || s.list[i].Off {
		return Breakpoint{}, false // removed meanwhile
	}
	b := &s.list[i].Breakpoint
	b.Matches++
	if b.Matches%every != 0 {
		return *b, false
	}
	b.Hits++
	return *b, true
}
