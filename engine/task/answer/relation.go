package answer

import (
	"regexp"
	"strings"
)

// relation is an equation or inequality: sides with a sign between each two.
type relation struct {
	sides []string
	signs []string // = < > ≤ ≥ ≠ ∈
}

var relationSign = regexp.MustCompile(`<=|>=|!=|\\le\b|\\ge\b|\\ne\b|\\lt\b|\\gt\b|\\in\b|[<>=]`)

var signNames = map[string]string{"<=": "≤", ">=": "≥", "!=": "≠", `\le`: "≤", `\ge`: "≥", `\ne`: "≠", `\lt`: "<", `\gt`: ">", `\in`: "∈"}

// turned is the sign that says the same with the sides exchanged.
var turned = map[string]string{"<": ">", ">": "<", "≤": "≥", "≥": "≤", "=": "=", "≠": "≠"}

func parseRelation(text string) (relation, bool) {
	text = strings.NewReplacer("≤", `\le `, "≥", `\ge `, "≠", `\ne `, "∈", `\in `).Replace(text)
	at := relationSign.FindAllStringIndex(text, 4)
	if len(at) == 0 || len(at) > 3 {
		return relation{}, false
	}
	var r relation
	start := 0
	for _, m := range at {
		sign := text[m[0]:m[1]]
		if name := signNames[sign]; name != "" {
			sign = name
		}
		r.sides, r.signs = append(r.sides, strings.TrimSpace(text[start:m[0]])), append(r.signs, sign)
		start = m[1]
	}
	r.sides = append(r.sides, strings.TrimSpace(text[start:]))
	return r, true
}

var unknown = regexp.MustCompile(`^\([a-z](?:\s*,\s*[a-z])+\)$|^(?:[a-zA-Z]|\\[a-zA-Z]+)(?:_(?:[a-zA-Z0-9]|\{[a-zA-Z0-9]+\}))?(?:\([a-z]\))?$`)

// relatedTop reports a relation sign outside of brackets.
func relatedTop(text string) bool {
	if !relationSign.MatchString(text) {
		return false
	}
	for _, sign := range []string{"<", ">", "=", `\le`, `\ge`, `\ne`, `\lt`, `\gt`, `\in`} {
		for _, part := range splitTop(text, sign)[1:] {
			// \le begins \left, too, and \in begins \infty.
			if sign[0] != '\\' || part == "" || !isLetter(rune(part[0])) {
				return true
			}
		}
	}
	return false
}

// relations compares what has relation signs. "x = 5" and "x ∈ S" are 5 and S
// where the other side says no more than that; a chain that ends in the truth
// is taken for it when it is the given answer that is a chain.
func (c *comparison) relations(a, b string) (same, decided bool) {
	if len(splitTop(ungrouped(a), ",")) > 1 || len(splitTop(ungrouped(b), ",")) > 1 {
		return c.solutionLists(a, b)
	}
	x, isA := parseRelation(a)
	y, isB := parseRelation(b)
	switch {
	case !isA && !isB:
		return false, false
	case isA && isB:
		return c.sameRelation(x, y), true
	case isA:
		rest, ok := x.solution(true)
		return ok && c.answers(rest, b), true
	}
	rest, ok := y.solution(false)
	return ok && c.answers(a, rest), true
}

// solution is what a relation says an unknown is.
func (r relation) solution(chain bool) (string, bool) {
	last := len(r.signs) - 1
	for _, sign := range r.signs {
		if sign != "=" && (sign != "∈" || last > 0) {
			return "", false
		}
	}
	if last > 0 && !chain || last == 0 && !unknown.MatchString(r.sides[0]) {
		return "", false
	}
	return r.sides[last+1], true
}

// solutionLists: "x = 1, x = 2" is a list, of which every part is compared.
func (c *comparison) solutionLists(a, b string) (same, decided bool) {
	x, y := splitTop(ungrouped(a), ","), splitTop(ungrouped(b), ",")
	if len(x) != len(y) {
		// "x = 1, 2" names the unknown once.
		if r, ok := parseRelation(a); ok && len(r.signs) == 1 && r.signs[0] == "=" && unknown.MatchString(r.sides[0]) {
			return c.answers(r.sides[1], b), true
		}
		if r, ok := parseRelation(b); ok && len(r.signs) == 1 && r.signs[0] == "=" && unknown.MatchString(r.sides[0]) {
			return c.answers(a, r.sides[1]), true
		}
		return false, true
	}
	return c.ordered(x, y), true
}

func (c *comparison) sameRelation(x, y relation) bool {
	if len(x.signs) != len(y.signs) {
		return false
	}
	if len(x.signs) == 1 {
		return c.samePair(x, y)
	}
	return c.sameChain(x, y) || c.sameChain(x, y.reversed())
}

func (r relation) reversed() relation {
	var out relation
	for i := len(r.sides) - 1; i >= 0; i-- {
		out.sides = append(out.sides, r.sides[i])
		if i > 0 {
			out.signs = append(out.signs, turned[r.signs[i-1]])
		}
	}
	return out
}

func (c *comparison) sameChain(x, y relation) bool {
	for i := range x.signs {
		if x.signs[i] != y.signs[i] || x.signs[i] == "" {
			return false
		}
	}
	return c.ordered(x.sides, y.sides)
}

// samePair: left minus right of the one is a multiple of that of the other, by
// a positive number where there is an order.
func (c *comparison) samePair(x, y relation) bool {
	if x.signs[0] == "∈" || y.signs[0] == "∈" {
		return x.signs[0] == y.signs[0] && c.ordered(x.sides, y.sides)
	}
	if x.signs[0] == y.signs[0] && c.ordered(x.sides, y.sides) {
		return true
	}
	p, ok := c.difference(x)
	q, good := c.difference(y)
	if !ok || !good {
		return false
	}
	left, err := c.meter.mul(p.num, q.den)
	if err != nil {
		return false
	}
	right, err := c.meter.mul(q.num, p.den)
	if err != nil {
		return false
	}
	factor, ok := left.ratio(right)
	if !ok {
		return false
	}
	sign := y.signs[0]
	if factor.Sign() < 0 {
		sign = turned[sign]
	}
	return x.signs[0] == sign
}

func (c *comparison) difference(r relation) (value, bool) {
	left, err := c.meter.evaluate(ungrouped(r.sides[0]))
	if err != nil {
		return value{}, false
	}
	right, err := c.meter.evaluate(ungrouped(r.sides[1]))
	if err != nil {
		return value{}, false
	}
	v, err := c.meter.addValues(left, right, -1)
	return v, err == nil
}
