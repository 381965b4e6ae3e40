package compare

import "slices"

// maxCells bounds the table of an alignment (rows × steps, 32 MiB). What is longer is
// laid side by side in its order, and said to be so.
const maxCells = 1 << 23

// Align lays sequences of signatures beside each other. A row has, for each
// sequence, the position of its element, −1 where it has none; every element stands
// in one row, in order. Sequences come one after the other: each is matched with
// the rows so far by a longest common subsequence, of several the one whose next match
// is always the nearest: so what is added at an end mostly leaves the rows before it
// as they are. What is left between
// two matches is matched by like, where given (a coarser signature), and else shares
// rows in its order. exact is false where a sequence was too long to be matched.
func Align(seqs [][]string, like [][]string) (rows [][]int, exact bool) {
	a := aligner{seqs: seqs, levels: [][][]int{intern(seqs)}, exact: true}
	if like != nil {
		a.levels = append(a.levels, intern(like))
	}
	for n := range seqs {
		a.add(n)
	}
	return a.rows, a.exact
}

// intern gives equal texts equal numbers.
func intern(seqs [][]string) [][]int {
	ids := map[string]int{}
	out := make([][]int, len(seqs))
	for i, seq := range seqs {
		out[i] = make([]int, len(seq))
		for j, s := range seq {
			id, there := ids[s]
			if !there {
				id = len(ids)
				ids[s] = id
			}
			out[i][j] = id
		}
	}
	return out
}

type aligner struct {
	seqs   [][]string
	levels [][][]int // numbers of the elements, by level and sequence
	rows   [][]int
	exact  bool
}

// add sequence n to the rows of those before it.
func (a *aligner) add(n int) {
	next := make([][]int, 0, max(len(a.rows), len(a.seqs[n])))
	a.gap(n, 0, len(a.rows), 0, len(a.seqs[n]), 0, &next)
	a.rows = next
}

// gap lays elements j0…j1 of sequence n beside rows i0…i1, by the signatures of a
// level, and writes the rows that come of it.
func (a *aligner) gap(n, i0, i1, j0, j1, level int, out *[][]int) {
	if level == len(a.levels) || i0 == i1 || j0 == j1 {
		a.zip(n, i0, i1, j0, j1, out)
		return
	}
	for _, m := range a.matches(n, i0, i1, j0, j1, level) {
		a.gap(n, i0, m[0], j0, m[1], level+1, out)
		*out = append(*out, a.with(n, m[0], m[1]))
		i0, j0 = m[0]+1, m[1]+1
	}
	a.gap(n, i0, i1, j0, j1, level+1, out)
}

// zip puts what has no counterpart into rows one after the other.
func (a *aligner) zip(n, i0, i1, j0, j1 int, out *[][]int) {
	for i0 < i1 || j0 < j1 {
		i, j := -1, -1
		if i0 < i1 {
			i, i0 = i0, i0+1
		}
		if j0 < j1 {
			j, j0 = j0, j0+1
		}
		*out = append(*out, a.with(n, i, j))
	}
}

// with is row i (−1: a new one) with element j (−1: none) of sequence n.
func (a *aligner) with(n, i, j int) []int {
	var row []int
	if i >= 0 {
		row = a.rows[i]
	} else {
		row = make([]int, len(a.seqs))
		for k := range row {
			row[k] = -1
		}
	}
	row[n] = j
	return row
}

// same reports whether a row has an element like element j of sequence n.
func (a *aligner) same(n, i, j, level int) bool {
	ids := a.levels[level]
	for k := range n {
		if at := a.rows[i][k]; at >= 0 && ids[k][at] == ids[n][j] {
			return true
		}
	}
	return false
}

// matches are the pairs of a longest common subsequence. Equal starts are matched at
// once: no subsequence is longer for leaving them out. So are equal ends, but only
// where the table would be too large: they may be nearer to something else.
func (a *aligner) matches(n, i0, i1, j0, j1, level int) (pairs [][2]int) {
	for i0 < i1 && j0 < j1 && a.same(n, i0, j0, level) {
		pairs = append(pairs, [2]int{i0, j0})
		i0, j0 = i0+1, j0+1
	}
	var ends [][2]int
	for i0 < i1 && j0 < j1 && (i1-i0+1)*(j1-j0+1) > maxCells && a.same(n, i1-1, j1-1, level) {
		i1, j1 = i1-1, j1-1
		ends = append(ends, [2]int{i1, j1})
	}
	slices.Reverse(ends)
	return append(append(pairs, a.middle(n, i0, i1, j0, j1, level)...), ends...)
}

// middle walks the table of common subsequences: at [i][j] how many of the rows
// from i and the elements from j can be matched in order.
func (a *aligner) middle(n, i0, i1, j0, j1, level int) (pairs [][2]int) {
	h, w := i1-i0, j1-j0
	switch {
	case h == 0 || w == 0:
		return nil
	case (h+1)*(w+1) > maxCells:
		a.exact = false
		return nil
	}
	cells := make([]int32, (h+1)*(w+1))
	at := func(i, j int) *int32 { return &cells[i*(w+1)+j] }
	for i := h - 1; i >= 0; i-- {
		for j := w - 1; j >= 0; j-- {
			if a.same(n, i0+i, j0+j, level) {
				*at(i, j) = *at(i+1, j+1) + 1
			} else {
				*at(i, j) = max(*at(i+1, j), *at(i, j+1))
			}
		}
	}
	for i, j := 0, 0; *at(i, j) > 0; {
		i, j = nearest(i, j, h, w, func(x, y int) bool { return *at(x, y) == *at(i, j) && a.same(n, i0+x, j0+y, level) })
		pairs = append(pairs, [2]int{i0 + i, j0 + j})
		i, j = i+1, j+1
	}
	return pairs
}

// nearest good pair from a corner on, of those as near the one that moves both sides
// most alike. There is one.
func nearest(i, j, h, w int, good func(i, j int) bool) (int, int) {
	for far := 0; ; far++ {
		for near := far; near >= 0; near-- {
			for _, at := range [2][2]int{{i + far, j + near}, {i + near, j + far}} {
				if at[0] < h && at[1] < w && good(at[0], at[1]) {
					return at[0], at[1]
				}
			}
		}
	}
}
