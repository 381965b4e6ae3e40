package answer

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// letters of other alphabets, and constants, all of them symbols.
var symbols = strings.Fields(`pi infty alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau
	upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega`)

// functions whose values are opaque.
var functions = strings.Fields(`sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln exp lg`)

// command reads what belongs to \name, which is already taken.
func (p *parser) command(name string) (value, error) {
	switch name {
	case "frac", "dfrac", "tfrac", "cfrac":
		return p.fraction()
	case "sqrt":
		return p.squareRoot()
	case "binom", "dbinom", "tbinom":
		return p.binomial()
	case "inf":
		return symbol("infty"), nil
	case "lvert":
		v, err := p.sum()
		if err != nil || !p.takeWord("rvert") {
			return value{}, errUnsupported
		}
		return absolute(v)
	case "lfloor", "lceil":
		return p.rounded(name)
	}
	if slices.Contains(symbols, name) {
		if p.take("_") {
			sub, err := p.subscript()
			return symbol(name + "_" + sub), err
		}
		return symbol(name), nil
	}
	if slices.Contains(functions, name) {
		return p.function(name)
	}
	return value{}, errUnsupported
}

// argument in braces, or one token without: \frac12 is one half.
func (p *parser) argument() (value, error) {
	t := p.peek()
	if t.kind == numeral && !p.wholeNumeral() {
		// One digit of a longer number; the others follow.
		p.tokens = slices.Clone(p.tokens)
		p.tokens[p.at].text = t.text[1:]
		p.tokens[p.at].spaced = false
		r, err := decimal(t.text[:1])
		return number(r), err
	}
	if t.kind == numeral {
		p.at++
		r, err := decimal(t.text)
		return number(r), err
	}
	if t.kind == letter {
		p.at++
		return symbol(t.text), nil
	}
	if p.take("{") {
		return p.until("}")
	}
	if t.kind == word && slices.Contains(symbols, t.text) {
		p.at++
		return symbol(t.text), nil
	}
	return value{}, errUnsupported
}

func (p *parser) wholeNumeral() bool { return len(p.peek().text) == 1 }

func (p *parser) fraction() (value, error) {
	top, err := p.argument()
	if err != nil {
		return value{}, err
	}
	bottom, err := p.argument()
	if err != nil {
		return value{}, err
	}
	return p.meter.divValues(top, bottom)
}

func (p *parser) squareRoot() (value, error) {
	degree := int64(2)
	if p.take("[") {
		t := p.peek()
		n, err := strconv.ParseInt(t.text, 10, 64)
		if p.at++; t.kind != numeral || err != nil || !p.take("]") {
			return value{}, errUnsupported
		}
		degree = n
	}
	var v value
	var err error
	if p.take("(") { // sqrt(2)
		v, err = p.until(")")
	} else {
		v, err = p.argument()
	}
	if err != nil {
		return value{}, err
	}
	return p.meter.root(v, degree)
}

func (p *parser) binomial() (value, error) {
	n, err := p.argument()
	if err != nil {
		return value{}, err
	}
	k, err := p.argument()
	if err != nil {
		return value{}, err
	}
	a, ok := n.rational()
	b, good := k.rational()
	if !ok || !good {
		return opaque("binom", n, k)
	}
	if !a.IsInt() || !b.IsInt() || a.Sign() < 0 || b.Sign() < 0 || !a.Num().IsInt64() || a.Num().Int64() > maxFactorial || b.Cmp(a) > 0 {
		return value{}, errUnsupported
	}
	return number(new(big.Rat).SetInt(new(big.Int).Binomial(a.Num().Int64(), b.Num().Int64()))), nil
}

func (p *parser) rounded(name string) (value, error) {
	v, err := p.sum()
	if err != nil {
		return value{}, err
	}
	closing := map[string]string{"lfloor": "rfloor", "lceil": "rceil"}[name]
	if !p.takeWord(closing) {
		return value{}, errUnsupported
	}
	r, ok := v.rational()
	if !ok {
		return opaque(name, v)
	}
	floor := new(big.Int).Div(r.Num(), r.Denom())
	if name == "lceil" && !r.IsInt() {
		floor.Add(floor, big.NewInt(1))
	}
	return number(new(big.Rat).SetInt(floor)), nil
}

// function with its base, power and argument: \log_2 8, \sin^2 x, \cos 2x, sin(x).
func (p *parser) function(name string) (value, error) {
	if p.take("_") {
		base, err := p.argument()
		if err != nil {
			return value{}, err
		}
		name += "_" + base.text()
	}
	var exponent *value
	if p.isMark("^") {
		e, err := p.exponent()
		if err != nil {
			return value{}, err
		}
		if r, ok := e.rational(); !ok || r.Sign() <= 0 {
			return value{}, errUnsupported // sin^{-1} is another function
		}
		exponent = &e
	}
	arg, err := p.functionArgument()
	if err != nil {
		return value{}, err
	}
	v, err := opaque(name, arg)
	if err != nil || exponent == nil {
		return v, err
	}
	return p.meter.powValues(v, *exponent)
}

// functionArgument is what is in parentheses, else the factors up to the next
// sign or function.
func (p *parser) functionArgument() (value, error) {
	if p.take("(") {
		return p.until(")")
	}
	arg, err := p.powered()
	for err == nil {
		t := p.peek()
		if t.kind != letter && (t.kind != word || !slices.Contains(symbols, t.text)) {
			return arg, nil
		}
		var next value
		if next, err = p.powered(); err == nil {
			arg, err = p.meter.mulValues(arg, next)
		}
	}
	return value{}, err
}
