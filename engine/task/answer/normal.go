package answer

import (
	"regexp"
	"strings"
)

// The written form of an answer: what says how it is set and not what it is
// goes away.

var typesetting = strings.NewReplacer(
	`\\`, `\\`, // the end of a matrix's row stays
	`\left`, "", `\right`, "", `\big`, "", `\Big`, "", `\bigg`, "", `\displaystyle`, "", `\limits`, "",
	`\!`, "", `\,`, " ", `\;`, " ", `\:`, " ", `\ `, " ", `~`, " ", `\quad`, " ", `\qquad`, " ", "\n", " ", "\t", " ",
	`\(`, "", `\)`, "", `\[`, "", `\]`, "", `\$`, "", "$", "",
	`^{\circ}`, "", `^\circ`, "", "°", "", `\degree`, "", `{,}`, "",
	`\mathrm`, `\text`, `\mathbf`, `\text`, `\textbf`, `\text`, `\textit`, `\text`, `\mbox`, `\text`, `\operatorname`, `\text`, `\mathit`, `\text`, `\textrm`, `\text`,
	`\leq`, `\le`, `\geq`, `\ge`, `\neq`, `\ne`, `\lbrace`, `\{`, `\rbrace`, `\}`, `\varnothing`, `\emptyset`,
)

// thinSpace groups digits: 1,\! 000.
var thinSpace = regexp.MustCompile(`,\\!\s*`)

// arrows would lose their names to \left and \right.
var arrows = regexp.MustCompile(`\\(?:left|right|Left|Right|leftright)arrow`)

var (
	textOnly  = regexp.MustCompile(`^\s*\\text\s*\{([^{}]*)\}\s*\.?\s*$`)
	textPart  = regexp.MustCompile(`\\text\s*\{([^{}]*)\}`)
	grouped   = regexp.MustCompile(`\b\d{1,3}(?:,\d{3})+\b`)
	magnitude = regexp.MustCompile(`^(.*[\d}])\s*(million|billion|trillion)\b(.*)$`)
	unit      = regexp.MustCompile(`(^|[\s\d})])(degree|cm|mm|km|kg|mph|centimeter|kilometer|meter|mile|second|minute|hour|day|week|month|year|foot|feet|inche?|yard|liter|dollar|cent|pound|gram|unit|square unit|cubic unit)(?:es|s)?\s*(\^\s*\{?[0-9]\}?)?\s*$`)
)

// written is an answer in its normal form, and what was taken off it.
type written struct {
	text    string
	percent bool
	unit    string // "" when none was given
	word    bool   // the whole of it was text, no formula
}

// maxLength of an answer that is looked into. A longer one is compared as it is.
const maxLength = 4096

func normal(answer string) written {
	var w written
	text := strings.TrimSpace(answer)
	if arrows.MatchString(text) {
		return written{text: text, word: true}
	}
	text = strings.TrimSpace(typesetting.Replace(thinSpace.ReplaceAllString(text, "")))
	if strings.HasPrefix(text, `\boxed{`) && closes(text, 6) == len(text)-1 {
		text = text[7 : len(text)-1]
	}
	if m := textOnly.FindStringSubmatch(text); m != nil {
		text, w.word = m[1], true
	}
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "."))
	text = joiners(text)
	// Units and other words at the end; words elsewhere stay.
	text, w.unit = cutText(text)
	if before, ok := cutPercent(text); ok {
		text, w.percent = before, true
	}
	if m := unit.FindStringSubmatchIndex(text); m != nil && m[4] > 0 {
		if w.unit == "" {
			w.unit = text[m[4]:m[5]]
			if m[6] >= 0 {
				w.unit += strings.Trim(text[m[6]:m[7]], "^{} ")
			}
		}
		text = strings.TrimSpace(text[:m[4]])
	}
	if m := magnitude.FindStringSubmatch(text); m != nil {
		text = m[1] + " * " + map[string]string{"million": "10^{6}", "billion": "10^{9}", "trillion": "10^{12}"}[m[2]] + m[3]
	}
	text = textPart.ReplaceAllString(text, "$1")
	w.text = strings.TrimSpace(unbrace(strings.TrimSpace(text)))
	return w
}

var (
	joinText = regexp.MustCompile(`\s*,?\s*\\text\s*\{\s*,?\s*(?:and|or)\s*\}\s*`)
	joinWord = regexp.MustCompile(`\s*,?\s+(?:and|or)\s+`)
)

// joiners makes commas of "and" and "or".
func joiners(text string) string {
	return joinWord.ReplaceAllString(joinText.ReplaceAllString(text, " , "), " , ")
}

// cutText takes \text{…} off the end of a formula: a unit.
func cutText(text string) (string, string) {
	at := strings.LastIndex(text, `\text`)
	if at <= 0 {
		return text, ""
	}
	m := textPart.FindStringSubmatchIndex(text[at:])
	if m == nil || m[0] != 0 {
		return text, ""
	}
	rest := strings.TrimSpace(text[at+m[1]:])
	name := strings.TrimSpace(text[at+m[2] : at+m[3]])
	if exponent := strings.Trim(rest, "^{} "); rest != "" && (!strings.HasPrefix(rest, "^") || len(exponent) != 1 || !isDigit(exponent[0])) {
		return text, ""
	} else {
		name += exponent
	}
	return strings.TrimSpace(text[:at]), unitName(name)
}

// unitName without its plural.
func unitName(name string) string {
	name = strings.ToLower(strings.TrimSpace(strings.TrimSuffix(name, ".")))
	switch {
	case strings.HasSuffix(name, "inches"):
		return strings.TrimSuffix(name, "es")
	case len(name) > 3 && strings.HasSuffix(name, "s") && !strings.HasSuffix(name, "ss"):
		return strings.TrimSuffix(name, "s")
	}
	return name
}

func cutPercent(text string) (string, bool) {
	for _, sign := range []string{`\%`, "%", "percent"} {
		if before, ok := strings.CutSuffix(text, sign); ok {
			return strings.TrimSpace(before), true
		}
	}
	return text, false
}

// unbrace drops braces around the whole.
func unbrace(text string) string {
	for len(text) > 1 && text[0] == '{' && closes(text, 0) == len(text)-1 {
		text = strings.TrimSpace(text[1 : len(text)-1])
	}
	return text
}

// closes is the index of the bracket that closes the one at i, by its own kind;
// -1 when none does. Escaped ones are other brackets.
func closes(text string, i int) int {
	pairs := map[byte]byte{'{': '}', '(': ')', '[': ']'}
	open, closing := text[i], pairs[text[i]]
	depth := 0
	for ; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == open:
			depth++
		case text[i] == closing:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// ungrouped takes the commas out of 1,234,567.
func ungrouped(text string) string {
	return grouped.ReplaceAllStringFunc(text, func(n string) string { return strings.ReplaceAll(n, ",", "") })
}

// folded is the text by which words are compared: in lower case and squeezed.
func folded(text string) string { return squeezed(strings.ToLower(text)) }

// isText: words, alone or in what is otherwise a formula.
func isText(text string) bool {
	_, err := lex(text)
	return err != nil || lettersOnly(text)
}

// squeezed has no blanks but those between two digits, where they tell 7 3/4
// from 73/4.
func squeezed(text string) string {
	var b strings.Builder
	last := byte(0)
	for _, word := range strings.Fields(text) {
		if isDigit(last) && isDigit(word[0]) {
			b.WriteByte(' ')
		}
		b.WriteString(word)
		last = word[len(word)-1]
	}
	return b.String()
}
