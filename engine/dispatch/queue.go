package dispatch

import "container/heap"

// rankQueue holds waiting items, the lowest rank first.
type rankQueue struct {
	rank []int
	heap []Item
}

func (q *rankQueue) Len() int           { return len(q.heap) }
func (q *rankQueue) Less(i, j int) bool { return q.rank[q.heap[i]] < q.rank[q.heap[j]] }
func (q *rankQueue) Swap(i, j int)      { q.heap[i], q.heap[j] = q.heap[j], q.heap[i] }
func (q *rankQueue) Push(x any)         { q.heap = append(q.heap, x.(Item)) }
func (q *rankQueue) Pop() any {
	last := q.heap[len(q.heap)-1]
	q.heap = q.heap[:len(q.heap)-1]
	return last
}

func (q *rankQueue) len() int     { return len(q.heap) }
func (q *rankQueue) push(it Item) { heap.Push(q, it) }
func (q *rankQueue) pop() Item    { return heap.Pop(q).(Item) }
func (q *rankQueue) peek() Item   { return q.heap[0] }

// remove takes an item out wherever it stands; a person's act, so a scan is fine.
func (q *rankQueue) remove(it Item) {
	for i, x := range q.heap {
		if x == it {
			heap.Remove(q, i)
			return
		}
	}
}
