package dispatch

import "slices"

// queue holds waiting items, first come first served.
type queue struct {
	items []Item
	head  int // of what is left in items
}

func (q *queue) len() int     { return len(q.items) - q.head }
func (q *queue) push(it Item) { q.items = append(q.items, it) }
func (q *queue) peek() Item   { return q.items[q.head] }

func (q *queue) pop() Item {
	it := q.items[q.head]
	q.head++
	if q.head > 64 && q.head > len(q.items)/2 { // let go of what is through
		q.items = slices.Clone(q.items[q.head:])
		q.head = 0
	}
	return it
}

// pushFront puts an item before all others.
func (q *queue) pushFront(it Item) {
	if q.head > 0 {
		q.head--
		q.items[q.head] = it
		return
	}
	q.items = slices.Insert(q.items, 0, it)
}

// remove takes an item out wherever it stands; a person's act, so a scan is fine.
func (q *queue) remove(it Item) {
	if i := slices.Index(q.items[q.head:], it); i >= 0 {
		q.items = slices.Delete(q.items, q.head+i, q.head+i+1)
	}
}

// take the first item that is right out of the queue.
func (q *queue) take(right func(Item) bool) (Item, bool) {
	for _, it := range q.items[q.head:] {
		if right(it) {
			q.remove(it)
			return it, true
		}
	}
	return 0, false
}
