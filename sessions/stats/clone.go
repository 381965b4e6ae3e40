package stats

import (
	"maps"
	"slices"
)

// Clone is the run as it stands; what either sees from here on does not change
// the other.
func (r *Run) Clone() *Run {
	c := *r
	c.clocks = slices.Clone(r.clocks)
	for i := range c.clocks {
		c.clocks[i].called = maps.Clone(c.clocks[i].called)
	}
	for i := range c.stages { // the index and the limits are replaced, never changed
		c.stages[i].service.counts = slices.Clone(c.stages[i].service.counts)
		c.stages[i].wait.counts = slices.Clone(c.stages[i].wait.counts)
	}
	c.tools = slices.Clone(r.tools)
	for i := range c.tools {
		c.tools[i].wall.counts = slices.Clone(c.tools[i].wall.counts)
	}
	return &c
}
