package answer

import (
	"math/big"
	"strconv"
	"strings"
)

// numeral with what may follow it: a repeating part, or the fraction of a mixed
// number. A subscript is a base, of which nothing is known.
func (p *parser) numeral(text string) (value, error) {
	if p.isMark("_") {
		return value{}, errUnsupported
	}
	r, err := decimal(text)
	if err != nil {
		return value{}, err
	}
	if p.isWord("overline", "bar") && strings.Contains(text, ".") {
		p.at++
		return p.repeating(text, r)
	}
	part, ok, err := p.mixed(text)
	if err != nil || !ok {
		return number(r), err
	}
	return number(new(big.Rat).Add(r, part)), nil
}

func decimal(text string) (*big.Rat, error) {
	if strings.HasPrefix(text, ".") {
		text = "0" + text
	}
	r, ok := new(big.Rat).SetString(strings.TrimSuffix(text, "."))
	if !ok {
		return nil, errUnsupported
	}
	if tooBig(r) {
		return nil, errTooBig
	}
	return r, nil
}

// repeating reads the braces of 0.1\overline{6}.
func (p *parser) repeating(text string, r *big.Rat) (value, error) {
	if !p.take("{") || p.peek().kind != numeral {
		return value{}, errUnsupported
	}
	digits := p.peek().text
	p.at++
	if !p.take("}") || strings.Contains(digits, ".") || len(digits) > 60 {
		return value{}, errUnsupported
	}
	places := int64(len(text) - 1 - strings.Index(text, "."))
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok || places > maxExponent {
		return value{}, errUnsupported
	}
	ten := big.NewInt(10)
	nines := new(big.Int).Sub(new(big.Int).Exp(ten, big.NewInt(int64(len(digits))), nil), big.NewInt(1))
	tail := new(big.Rat).SetFrac(n, nines.Mul(nines, new(big.Int).Exp(ten, big.NewInt(places), nil)))
	return number(tail.Add(tail, r)), nil
}

// mixed looks for "3/4" after "7 " and for \frac{3}{4} after "7". An improper
// fraction there may as well be a factor: not understood.
func (p *parser) mixed(text string) (*big.Rat, bool, error) {
	var top, bottom string
	next := p.tokens[p.at:]
	switch {
	case len(next) >= 3 && next[0].kind == numeral && next[0].spaced && next[1].kind == mark && next[1].text == "/" && next[2].kind == numeral:
		top, bottom = next[0].text, next[2].text
		next = next[3:]
	case len(next) >= 7 && next[0].kind == word && next[0].text == "frac" && braced(next[1:4]) && braced(next[4:7]):
		top, bottom = next[2].text, next[5].text
		next = next[7:]
	default:
		return nil, false, nil
	}
	a, err := strconv.ParseInt(top, 10, 64)
	b, err2 := strconv.ParseInt(bottom, 10, 64)
	if err != nil || err2 != nil || strings.Contains(text, ".") || a <= 0 || a >= b {
		return nil, false, errUnsupported
	}
	p.at = len(p.tokens) - len(next)
	return big.NewRat(a, b), true, nil
}

func braced(t []token) bool {
	return t[0].kind == mark && t[0].text == "{" && t[1].kind == numeral && t[2].kind == mark && t[2].text == "}"
}
