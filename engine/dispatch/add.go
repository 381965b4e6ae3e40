package dispatch

import "errors"

// ErrOver says that nothing can be added any more: every item has ended, or the
// run has stopped.
var ErrOver = errors.New("the run has ended")

// Add n items, before Begin or while others are under way. They are the first that
// wait for init, in their order: somebody waits for them. It returns the first.
func (c *Core) Add(n int) (Item, []Action) {
	first := Item(len(c.items))
	for i := range n {
		c.items = append(c.items, item{})
		c.order = append(c.order, first+Item(i))
	}
	c.left += n
	c.bounds = resolve(c.policy, c.limits, len(c.items)) // limits are shown as what can be reached
	if !c.begun {
		return first, nil
	}
	for i := range n {
		c.waitInit.pushFront(first + Item(n-1-i))
	}
	return first, c.admit()
}

// Add n items, see Core. prepare is told of the first before any of them starts,
// and may call nothing of Live; an error of it adds none.
func (d *Live) Add(n int, prepare func(first Item) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over || d.ctx != nil && (d.ctx.Err() != nil || d.core.Left() == 0) {
		return ErrOver
	}
	if err := prepare(Item(len(d.core.items))); err != nil {
		return err
	}
	_, actions := d.core.Add(n)
	d.apply(actions)
	return nil
}
