package answer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind of a token.
type kind int

const (
	atEnd   kind = iota
	numeral      // 12, 1.5, .5
	letter       // one letter
	word         // \frac, or a name such as sqrt that is written without \
	mark         // one character
)

type token struct {
	kind   kind
	text   string
	spaced bool // blanks come before it
}

// names that may be written without a backslash.
var names = []string{"arcsin", "arccos", "arctan", "sqrt", "sin", "cos", "tan", "cot", "sec", "csc", "log", "exp", "ln", "pi", "infty", "inf"}

// spelled are characters that stand for a command or a mark.
var spelled = strings.NewReplacer(
	"√", `\sqrt `, "π", `\pi `, "∞", `\infty `, "∪", `\cup `, "·", "*", "×", "*", "⋅", "*", "÷", "/", "−", "-", "–", "-",
	"≤", `\le `, "≥", `\ge `, "≠", `\ne `, "±", `\pm `, "²", "^{2}", "³", "^{3}", "½", `\frac{1}{2}`, "¼", `\frac{1}{4}`, "¾", `\frac{3}{4}`, "°", "", "∈", `\in `,
	"θ", `\theta `, "α", `\alpha `, "β", `\beta `, "γ", `\gamma `, "λ", `\lambda `, "μ", `\mu `, "σ", `\sigma `, "φ", `\phi `, "ω", `\omega `, "Δ", `\Delta `,
)

// lex splits an expression. Runs of three and more letters that are no known
// name are words of a language, which no algebra may rearrange.
func lex(text string) ([]token, error) {
	text = spelled.Replace(text)
	var tokens []token
	spaced := false
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case unicode.IsSpace(r):
			text, spaced = text[size:], true
			continue
		case r >= '0' && r <= '9' || r == '.' && len(text) > 1 && isDigit(text[1]):
			n := numeralLength(text)
			tokens, text = append(tokens, token{numeral, text[:n], spaced}), text[n:]
		case r == '\\':
			n := commandLength(text)
			tokens, text = append(tokens, token{word, text[1:n], spaced}), text[n:]
		case isLetter(r):
			n := lettersLength(text)
			run := text[:n]
			name := ""
			for _, known := range names {
				if strings.HasPrefix(run, known) {
					name = known
					break
				}
			}
			switch {
			case name != "":
				tokens, text = append(tokens, token{word, name, spaced}), text[len(name):]
			case n > 2:
				return nil, errUnsupported
			default:
				tokens, text = append(tokens, token{letter, text[:1], spaced}), text[1:]
			}
		case r < utf8.RuneSelf && unicode.IsGraphic(r):
			tokens, text = append(tokens, token{mark, text[:1], spaced}), text[1:]
		default:
			return nil, errUnsupported
		}
		spaced = false
	}
	return tokens, nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isLetter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

func numeralLength(text string) int {
	n, dot := 0, false
	for n < len(text) && (isDigit(text[n]) || text[n] == '.' && !dot) {
		dot = dot || text[n] == '.'
		n++
	}
	return n
}

func lettersLength(text string) int {
	n := 0
	for n < len(text) && isLetter(rune(text[n])) {
		n++
	}
	return n
}

func commandLength(text string) int {
	n := 1 + lettersLength(text[1:])
	if n == 1 && len(text) > 1 {
		_, size := utf8.DecodeRuneInString(text[1:])
		n += size
	}
	return n
}
