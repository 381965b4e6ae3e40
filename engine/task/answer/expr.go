package answer

import (
	"math/big"
	"slices"
	"strings"
)

// parser evaluates a LaTeX (or plain) expression while it reads it. What it
// does not understand is an error, and the answer is then compared as text.
type parser struct {
	tokens []token
	at     int
	depth  int
	meter  *meter
}

const maxDepth = 60

// evaluate is the value of a whole expression.
func (m *meter) evaluate(text string) (value, error) {
	tokens, err := lex(text)
	if err != nil {
		return value{}, err
	}
	p := &parser{tokens: tokens, meter: m}
	v, err := p.sum()
	if err == nil && p.at < len(p.tokens) {
		err = errUnsupported
	}
	return v, err
}

func (p *parser) peek() token {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return token{}
}

func (p *parser) isMark(text string) bool {
	t := p.peek()
	return t.kind == mark && t.text == text
}

func (p *parser) isWord(texts ...string) bool {
	t := p.peek()
	return t.kind == word && slices.Contains(texts, t.text)
}

func (p *parser) take(text string) bool {
	if p.isMark(text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) sum() (value, error) {
	if p.depth++; p.depth > maxDepth {
		return value{}, errTooBig
	}
	defer func() { p.depth-- }()
	total, err := p.product()
	for err == nil {
		sign := int64(1)
		switch {
		case p.take("+"):
		case p.take("-"):
			sign = -1
		default:
			return total, nil
		}
		var next value
		if next, err = p.product(); err == nil {
			total, err = p.meter.addValues(total, next, sign)
		}
	}
	return value{}, err
}

// product reads factors, with and without a sign between them.
func (p *parser) product() (value, error) {
	total, err := p.signed()
	divided := false // by what stands behind a slash
	for err == nil {
		var next value
		switch {
		case p.take("*"), p.takeWord("cdot", "times", "ast"):
			divided = false
			if next, err = p.signed(); err == nil {
				total, err = p.meter.mulValues(total, next)
			}
		case p.take("/"), p.takeWord("div"):
			if next, err = p.signed(); err == nil {
				total, err = p.meter.divValues(total, next)
			}
			divided = true
		case p.startsFactor():
			// "x2" and "3 4" say nothing; "1/2x" says one of two things.
			if p.peek().kind == numeral || divided {
				return value{}, errUnsupported
			}
			if next, err = p.powered(); err == nil {
				total, err = p.meter.mulValues(total, next)
			}
		default:
			return total, nil
		}
	}
	return value{}, err
}

func (p *parser) takeWord(texts ...string) bool {
	if p.isWord(texts...) {
		p.at++
		return true
	}
	return false
}

func (p *parser) startsFactor() bool {
	t := p.peek()
	switch t.kind {
	case numeral, letter:
		return true
	case mark:
		return t.text == "(" || t.text == "{"
	case word:
		return !slices.Contains([]string{"cdot", "times", "ast", "div", "rfloor", "rceil", "rvert"}, t.text)
	}
	return false
}

func (p *parser) signed() (value, error) {
	negative := false
	for {
		switch {
		case p.take("-"):
			negative = !negative
			continue
		case p.take("+"):
			continue
		}
		break
	}
	v, err := p.powered()
	if err == nil && negative {
		v, err = p.meter.mulValues(number(big.NewRat(-1, 1)), v)
	}
	return v, err
}

// powered is an atom with its exponent: -x^2 is -(x^2), 2^3^2 is 2^(3^2).
func (p *parser) powered() (value, error) {
	if p.depth++; p.depth > maxDepth {
		return value{}, errTooBig
	}
	defer func() { p.depth-- }()
	base, err := p.atom()
	if err != nil {
		return value{}, err
	}
	for p.take("!") {
		if base, err = factorial(base); err != nil {
			return value{}, err
		}
	}
	stars := p.isMark("*") && p.at+1 < len(p.tokens) && p.tokens[p.at+1].kind == mark && p.tokens[p.at+1].text == "*"
	if !p.isMark("^") && !stars {
		return base, nil
	}
	exponent, err := p.exponent()
	if err != nil {
		return value{}, err
	}
	return p.meter.powValues(base, exponent)
}

func (p *parser) exponent() (value, error) {
	if !p.take("^") {
		p.at += 2 // **
	}
	if p.isMark("-") || p.isMark("+") {
		return p.signed()
	}
	return p.powered()
}

// factorials are computed to this number.
const maxFactorial = 300

func factorial(v value) (value, error) {
	r, ok := v.rational()
	if !ok {
		return opaque("factorial", v)
	}
	if !r.IsInt() || r.Sign() < 0 {
		return value{}, errUnsupported
	}
	if !r.Num().IsInt64() || r.Num().Int64() > maxFactorial {
		return value{}, errTooBig
	}
	return number(new(big.Rat).SetInt(new(big.Int).MulRange(1, r.Num().Int64()))), nil
}

func (p *parser) atom() (value, error) {
	t := p.peek()
	p.at++
	switch t.kind {
	case numeral:
		return p.numeral(t.text)
	case letter:
		return p.variable(t.text)
	case word:
		return p.command(t.text)
	case mark:
		switch t.text {
		case "(":
			return p.until(")")
		case "{":
			return p.until("}")
		case "|":
			v, err := p.until("|")
			if err != nil {
				return value{}, err
			}
			return absolute(v)
		}
	}
	return value{}, errUnsupported
}

func (p *parser) until(closing string) (value, error) {
	v, err := p.sum()
	if err == nil && !p.take(closing) {
		err = errUnsupported
	}
	return v, err
}

func absolute(v value) (value, error) {
	if r, ok := v.rational(); ok {
		return number(new(big.Rat).Abs(r)), nil
	}
	return opaque("abs", v)
}

// variable, with its subscript. Letters that usually name functions are not
// multiplied with what stands in parentheses behind them.
func (p *parser) variable(name string) (value, error) {
	if p.take("_") {
		sub, err := p.subscript()
		if err != nil {
			return value{}, err
		}
		name += "_" + sub
	}
	if strings.ContainsAny(name[:1], "fghFGHPQ") && p.isMark("(") && !p.peek().spaced {
		p.at++
		v, err := p.until(")")
		if err != nil {
			return value{}, err
		}
		return opaque(name, v)
	}
	return symbol(name), nil
}

func (p *parser) subscript() (string, error) {
	t := p.peek()
	p.at++
	if t.kind == letter || t.kind == numeral {
		return t.text, nil
	}
	if t.kind != mark || t.text != "{" {
		return "", errUnsupported
	}
	text := ""
	for !p.take("}") {
		t = p.peek()
		if t.kind != letter && t.kind != numeral {
			return "", errUnsupported
		}
		text += t.text
		p.at++
	}
	return text, nil
}
