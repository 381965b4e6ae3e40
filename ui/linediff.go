package ui

import "strings"

// maxCells bounds the table of a diff (old lines × new lines): beyond it an
// edit is shown as all out, all in.
const maxCells = 1 << 20

// textLines of a text, none for the empty one.
func textLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// diffLines is the shortest way from old to new, line by line: "- " taken out,
// "+ " put in, "  " kept. The space keeps a line that starts with - or + from
// reading as a file header.
func diffLines(old, new []string) []string {
	var first, last []string
	for len(old) > 0 && len(new) > 0 && old[0] == new[0] {
		first = append(first, "  "+old[0])
		old, new = old[1:], new[1:]
	}
	for len(old) > 0 && len(new) > 0 && old[len(old)-1] == new[len(new)-1] {
		last = append(last, "  "+old[len(old)-1])
		old, new = old[:len(old)-1], new[:len(new)-1]
	}
	out := append(first, changedLines(old, new)...)
	for i := len(last) - 1; i >= 0; i-- {
		out = append(out, last[i])
	}
	return out
}

// changedLines walks the table of common subsequences. What goes comes before
// what takes its place.
func changedLines(old, new []string) []string {
	common := commonTable(old, new)
	var out []string
	i, j := 0, 0
	for i < len(old) || j < len(new) {
		switch {
		case common != nil && i < len(old) && j < len(new) && old[i] == new[j]:
			out = append(out, "  "+old[i])
			i++
			j++
		case i < len(old) && (common == nil || j == len(new) || common[i+1][j] >= common[i][j+1]):
			out = append(out, "- "+old[i])
			i++
		default:
			out = append(out, "+ "+new[j])
			j++
		}
	}
	return out
}

// commonTable holds at [i][j] how many lines old[i:] and new[j:] share in
// order, nil where it would be too large.
func commonTable(old, new []string) [][]int32 {
	if (len(old)+1)*(len(new)+1) > maxCells {
		return nil
	}
	t := make([][]int32, len(old)+1)
	for i := range t {
		t[i] = make([]int32, len(new)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(new) - 1; j >= 0; j-- {
			if old[i] == new[j] {
				t[i][j] = t[i+1][j+1] + 1
			} else {
				t[i][j] = max(t[i+1][j], t[i][j+1])
			}
		}
	}
	return t
}
