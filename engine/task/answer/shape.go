package answer

import "strings"

// The shapes of answers: what is in brackets, and lists.

// brackets compares tuples, intervals and sets. A parenthesis around one
// element is none of these.
func (c *comparison) brackets(a, b string) (same, decided bool) {
	x, kindA := inBrackets(a)
	y, kindB := inBrackets(b)
	if kindA == "" && kindB == "" {
		return false, false
	}
	if kindA == `\{\}` || kindB == `\{\}` {
		if kindA != kindB {
			// A list that is written without braces may stand for a set.
			x, y = bare(a, x, kindA), bare(b, y, kindB)
			if kindA != "" && kindA != `\{\}` || kindB != "" && kindB != `\{\}` {
				return false, true
			}
		}
		return c.unordered(x, y), true
	}
	if len(x) < 2 && len(y) < 2 {
		if kindA == "[]" && kindB == "[]" {
			return c.ordered(x, y), true
		}
		return false, false // (x+1)
	}
	return kindA == kindB && c.ordered(x, y), true
}

func bare(text string, elements []string, kind string) []string {
	if kind == "" {
		return splitTop(ungrouped(text), ",")
	}
	return elements
}

// inBrackets splits what one pair of brackets holds, and names the pair. Digits
// are grouped where that leaves one element less than it seems: (1,234).
func inBrackets(text string) ([]string, string) {
	if inner, ok := strings.CutPrefix(text, `\{`); ok {
		inner, closed := strings.CutSuffix(inner, `\}`)
		if !closed || strings.Contains(inner, `\}`) && !strings.Contains(inner, `\{`) {
			return nil, ""
		}
		if strings.TrimSpace(inner) == "" {
			return nil, `\{\}`
		}
		return splitTop(ungrouped(inner), ","), `\{\}`
	}
	if len(text) < 2 || !strings.ContainsAny(text[:1], "([") || !strings.ContainsAny(text[len(text)-1:], ")]") {
		return nil, ""
	}
	kind := text[:1] + text[len(text)-1:]
	inner := text[1 : len(text)-1]
	if !balanced(inner) {
		return nil, "" // (1,2),(3,4) or (x+1)(x+2)
	}
	elements := splitTop(inner, ",")
	if len(elements) == 1 && (kind == "(]" || kind == "[)") {
		return nil, ""
	}
	return elements, kind
}

// balanced: no bracket in it closes one that is outside of it.
func balanced(text string) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0
}

// splitTop splits at separators outside of brackets. \{ and \} are brackets, too.
func splitTop(text, separator string) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(text); {
		switch {
		case depth == 0 && strings.HasPrefix(text[i:], separator):
			parts = append(parts, text[start:i])
			i += len(separator)
			start = i
			continue
		case text[i] == '\\' && i+1 < len(text):
			i++
			depth += nesting(text[i], "{", "}")
		default:
			depth += nesting(text[i], "([{", ")]}")
		}
		i++
	}
	return append(parts, text[start:])
}

func nesting(c byte, open, closing string) int {
	switch {
	case strings.IndexByte(open, c) >= 0:
		return 1
	case strings.IndexByte(closing, c) >= 0:
		return -1
	}
	return 0
}

// maxElements of a list that is compared.
const maxElements = 200

func (c *comparison) ordered(x, y []string) bool {
	if len(x) != len(y) || len(x) > maxElements {
		return false
	}
	for i := range x {
		if !c.answers(x[i], y[i]) {
			return false
		}
	}
	return true
}

// unordered pairs the elements up, each with one of the other side. Equality is
// an equivalence, so the first that fits will do. Doubles count once.
func (c *comparison) unordered(x, y []string) bool {
	if len(x) > maxElements || len(y) > maxElements {
		return false
	}
	x, y = c.distinct(expanded(x)), c.distinct(expanded(y))
	if len(x) != len(y) {
		return false
	}
	return c.contained(x, y) && c.contained(y, x)
}

// expanded writes the two values of each \pm.
func expanded(elements []string) []string {
	var all []string
	for _, e := range elements {
		if strings.Count(e, `\pm`) == 1 {
			all = append(all, bothSigns(e)...)
		} else {
			all = append(all, e)
		}
	}
	return all
}

func (c *comparison) contained(x, y []string) bool {
	for _, a := range x {
		found := false
		for _, b := range y {
			if found = c.answers(a, b); found {
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

func (c *comparison) distinct(x []string) []string {
	var kept []string
	for _, a := range x {
		if !c.contained([]string{a}, kept) {
			kept = append(kept, a)
		}
	}
	return kept
}

// lists of answers without brackets are in order.
func (c *comparison) lists(a, b string) (same, decided bool) {
	x, y := splitTop(a, ","), splitTop(b, ",")
	if len(x) == 1 && len(y) == 1 {
		return false, false
	}
	if len(x) == 1 && strings.Contains(a, `\pm`) || len(y) == 1 && strings.Contains(b, `\pm`) {
		return c.unordered(x, y), true
	}
	return c.ordered(x, y), true
}
