package dispatch

import (
	"cmp"
	"slices"
)

// SetLimits changes limits while items are under way. A lowered limit kills
// nothing: what is busy drains. Where items are evaluated stays.
func (c *Core) SetLimits(l Limits) []Action {
	l.OnePlace = c.limits.OnePlace
	c.limits, c.bounds = l, resolve(c.policy, l, len(c.items))
	return c.admit()
}

// SetPolicy changes the policy while items are under way. What is above the limits
// as the new one means them drains; places that the old one kept stay kept.
func (c *Core) SetPolicy(p Policy) []Action {
	c.policy, c.bounds = p, resolve(p, c.limits, len(c.items))
	return c.admit()
}

// Reorder what waits for init. Items that order does not name stay before all
// others, as they stand: somebody waits for them.
func (c *Core) Reorder(order []Item) {
	rank := make(map[Item]int, len(order))
	for i, it := range order {
		rank[it] = i + 1
	}
	before := func(a, b Item) int { return cmp.Compare(rank[a], rank[b]) }
	slices.SortStableFunc(c.order, before)
	slices.SortStableFunc(c.waitInit.items[c.waitInit.head:], before)
}

// SetLimits changes the limits, see Core.
func (d *Live) SetLimits(l Limits) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.apply(d.core.SetLimits(l))
}

// SetPolicy changes the policy, see Core.
func (d *Live) SetPolicy(p Policy) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.apply(d.core.SetPolicy(p))
}

// Reorder what waits for init, see Core.
func (d *Live) Reorder(order []Item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.core.Reorder(order)
}
