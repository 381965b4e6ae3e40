package answer

import (
	"regexp"
	"strings"
)

// Strictness of a comparison.
type Strictness int

const (
	// ByValue: equal is what has the same value.
	ByValue Strictness = iota
	// ByForm also wants whole numbers as whole numbers and fractions in the same
	// terms: 4/2 is not 2, 2/4 is not 1/2.
	ByForm
)

// Equal reports whether two mathematical answers are the same, exactly: it
// never rounds. It knows numbers (decimals, percent, grouped digits, repeating
// decimals, mixed numbers, fractions), algebra over rationals, roots and
// symbols, tuples, sets, intervals and their unions, matrices, equations and
// inequalities, and takes everything else as text, without blanks, and words
// without case.
// That two answers are not found equal does not prove that they are not.
func Equal(given, truth string, strict Strictness) bool {
	if len(given) > maxLength || len(truth) > maxLength {
		return strings.TrimSpace(given) == strings.TrimSpace(truth)
	}
	a, b := normal(given), normal(truth)
	if a.unit != "" && b.unit != "" && folded(unitName(a.unit)) != folded(unitName(b.unit)) {
		return false
	}
	if a.text == "" || b.text == "" {
		return folded(given) == folded(truth)
	}
	if squeezed(a.text) == squeezed(b.text) || folded(a.text) == folded(b.text) && (a.word || b.word || isText(a.text)) {
		return true
	}
	if choice(a.text) != "" && choice(a.text) == choice(b.text) {
		return true
	}
	if a.word || b.word || lettersOnly(a.text) || lettersOnly(b.text) {
		return false
	}
	c := comparison{meter: &meter{}, strict: strict}
	if c.answers(a.text, b.text) {
		return true
	}
	// Above, 50 % was 50. It is 0.5 as well.
	if a.percent != b.percent {
		c.strict = ByValue
		hundredth := func(w written) string {
			if w.percent {
				return "(" + w.text + ")/100"
			}
			return w.text
		}
		return c.answers(hundredth(a), hundredth(b))
	}
	return false
}

var choicePattern = regexp.MustCompile(`^\(?\s*([A-Za-z])\s*\)?[.:]?$`)

// choice is the letter of "B", "(B)" or "b.".
func choice(text string) string {
	if m := choicePattern.FindStringSubmatch(text); m != nil {
		return strings.ToUpper(m[1])
	}
	return ""
}

// lettersOnly: words of a language, which algebra would take for products.
func lettersOnly(text string) bool {
	return strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ,.'!?") == ""
}

type comparison struct {
	meter  *meter
	strict Strictness
	depth  int
}

// answers compares by shape first: matrices, unions, brackets, relations, lists,
// and then values.
func (c *comparison) answers(a, b string) bool {
	if c.depth++; c.depth > 12 || c.meter.spend(1+(len(a)+len(b))/16) != nil {
		c.depth--
		return false
	}
	defer func() { c.depth-- }()
	a, b = strings.TrimSpace(unbrace(strings.TrimSpace(a))), strings.TrimSpace(unbrace(strings.TrimSpace(b)))
	if a == "" || b == "" {
		return a == b
	}
	if strings.Contains(a, `\begin`) || strings.Contains(b, `\begin`) {
		return c.matrices(a, b)
	}
	if x, y := splitTop(a, `\cup`), splitTop(b, `\cup`); len(x) > 1 || len(y) > 1 {
		return c.unordered(x, y)
	}
	if relatedTop(a) || relatedTop(b) {
		same, decided := c.relations(a, b)
		return decided && same
	}
	if same, decided := c.brackets(a, b); decided {
		return same
	}
	if same, decided := c.lists(ungrouped(a), ungrouped(b)); decided {
		return same
	}
	return c.values(ungrouped(a), ungrouped(b))
}

func (c *comparison) values(a, b string) bool {
	if (squeezed(a) == squeezed(b) || folded(a) == folded(b) && isText(a)) && !strings.Contains(a, `\pm`) {
		return true
	}
	if strings.Count(a, `\pm`) == 1 && strings.Count(b, `\pm`) == 1 {
		return c.unordered([]string{a}, []string{b})
	}
	x, err := c.meter.evaluate(a)
	if err != nil {
		return false
	}
	y, err := c.meter.evaluate(b)
	if err != nil {
		return false
	}
	if c.strict == ByForm && !sameForm(a, b) {
		return false
	}
	same, err := c.meter.equalValues(x, y)
	return err == nil && same
}

// bothSigns are the two values of an expression with \pm.
func bothSigns(text string) []string {
	return []string{strings.Replace(text, `\pm`, "+", 1), strings.Replace(text, `\pm`, "-", 1)}
}

var (
	wholeForm    = regexp.MustCompile(`^[-+]?\s*\d+(?:\.0*)?$`)
	fractionForm = regexp.MustCompile(`^([-+]?)\s*(?:\\[dtc]?frac\s*\{\s*(-?\d+)\s*\}\s*\{\s*(\d+)\s*\}|\\[dtc]?frac(\d)(\d)|(\d+)\s*/\s*(\d+))$`)
)

// sameForm: a whole number wants a whole number, and a fraction the same one.
func sameForm(a, b string) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	if wholeForm.MatchString(a) != wholeForm.MatchString(b) {
		return false
	}
	x, y := fractionForm.FindStringSubmatch(a), fractionForm.FindStringSubmatch(b)
	if x == nil || y == nil {
		return true
	}
	terms := func(m []string) (string, string) {
		top, bottom := m[2]+m[4]+m[6], m[3]+m[5]+m[7]
		negative := (m[1] == "-") != strings.HasPrefix(top, "-")
		top = strings.TrimPrefix(top, "-")
		if negative {
			top = "-" + top
		}
		return top, bottom
	}
	t1, b1 := terms(x)
	t2, b2 := terms(y)
	return t1 == t2 && b1 == b2
}

var matrixPattern = regexp.MustCompile(`^\s*\\begin\{([bpvB]?matrix|array)\}(?:\{[lcr|]*\})?(.*)\\end\{([a-zA-Z]+)\}\s*$`)

func (c *comparison) matrices(a, b string) bool {
	x, y := matrixPattern.FindStringSubmatch(a), matrixPattern.FindStringSubmatch(b)
	if x == nil || y == nil || x[1] != x[3] || y[1] != y[3] || strings.HasPrefix(x[1], "v") != strings.HasPrefix(y[1], "v") {
		return false
	}
	rowsX, rowsY := rows(x[2]), rows(y[2])
	if len(rowsX) != len(rowsY) {
		return false
	}
	for i := range rowsX {
		if !c.ordered(splitTop(rowsX[i], "&"), splitTop(rowsY[i], "&")) {
			return false
		}
	}
	return true
}

func rows(text string) []string {
	all := strings.Split(text, `\\`)
	if len(all) > 1 && strings.TrimSpace(all[len(all)-1]) == "" {
		all = all[:len(all)-1]
	}
	return all
}
