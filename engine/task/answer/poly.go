package answer

import (
	"errors"
	"math/big"
	"slices"
	"strings"
)

// Exact arithmetic. A value is a quotient of two polynomials with rational
// coefficients over symbols, roots of primes, and terms that are opaque (sin x).
// Roots of primes are linearly independent over the rationals, so numbers with
// roots have one form; opaque terms are treated as unknowns of their own. Two
// values with the same form are equal; two equal values may differ in form when
// the reason is a property of an opaque term.

// Limits on what hostile answers can cost.
const (
	maxTerms    = 400
	maxBits     = 20_000 // of a coefficient
	maxExponent = 1_000
	maxSteps    = 20_000 // products of terms in one comparison
)

var (
	errTooBig      = errors.New("too large to compute")
	errUnsupported = errors.New("not an expression that is understood")
	errZero        = errors.New("division by zero")
)

// power of one atom in a product: name to the num/den. Names of primes are "#p",
// with exponents between 0 and 1; all others have whole, positive exponents.
type power struct {
	atom     string
	num, den int64
}

// term is a product with its coefficient.
type term struct {
	coef   *big.Rat
	powers []power // by atom
}

// poly is a sum by the key of its products. It is never changed once made.
type poly map[string]term

func keyOf(powers []power) string {
	var b strings.Builder
	for _, p := range powers {
		b.WriteString(p.atom)
		b.WriteByte('^')
		b.WriteString(big.NewRat(p.num, p.den).RatString())
		b.WriteByte(';')
	}
	return b.String()
}

func constant(c *big.Rat) poly {
	if c.Sign() == 0 {
		return poly{}
	}
	return poly{"": {coef: c}}
}

func whole(n int64) poly { return constant(big.NewRat(n, 1)) }

func atomPoly(name string) poly {
	p := []power{{name, 1, 1}}
	return poly{keyOf(p): {big.NewRat(1, 1), p}}
}

// rational is the value of a polynomial without symbols and roots.
func (p poly) rational() (*big.Rat, bool) {
	if len(p) == 0 {
		return new(big.Rat), true
	}
	t, ok := p[""]
	return t.coef, ok && len(p) == 1
}

// meter bounds the work of one comparison.
type meter struct{ steps int }

func (m *meter) spend(n int) error {
	if m.steps += n; m.steps > maxSteps {
		return errTooBig
	}
	return nil
}

func tooBig(r *big.Rat) bool { return r.Num().BitLen() > maxBits || r.Denom().BitLen() > maxBits }

func (m *meter) add(a, b poly, sign int64) (poly, error) {
	if err := m.spend(len(a) + len(b)); err != nil {
		return nil, err
	}
	sum := make(poly, len(a)+len(b))
	for key, t := range a {
		sum[key] = t
	}
	for key, t := range b {
		if err := sum.accumulate(key, t.powers, new(big.Rat).Mul(t.coef, big.NewRat(sign, 1))); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// accumulate adds a term to a sum under construction.
func (p poly) accumulate(key string, powers []power, coef *big.Rat) error {
	if old, ok := p[key]; ok {
		coef = new(big.Rat).Add(old.coef, coef)
	}
	if tooBig(coef) {
		return errTooBig
	}
	if coef.Sign() == 0 {
		delete(p, key)
		return nil
	}
	if p[key] = (term{coef, powers}); len(p) > maxTerms {
		return errTooBig
	}
	return nil
}

func (m *meter) mul(a, b poly) (poly, error) {
	product := poly{}
	for _, x := range a {
		for _, y := range b {
			if err := m.spend(1 + len(x.powers) + len(y.powers) + (x.coef.Num().BitLen()+y.coef.Num().BitLen())/256); err != nil {
				return nil, err
			}
			powers, factor, err := join(x.powers, y.powers)
			if err != nil {
				return nil, err
			}
			coef := new(big.Rat).Mul(x.coef, y.coef)
			if err := product.accumulate(keyOf(powers), powers, coef.Mul(coef, factor)); err != nil {
				return nil, err
			}
		}
	}
	return product, nil
}

// join multiplies two products. What is whole of a prime's power is a factor.
func join(a, b []power) ([]power, *big.Rat, error) {
	factor := big.NewRat(1, 1)
	var all []power
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].atom < b[0].atom:
			all, a = append(all, a[0]), a[1:]
		case len(a) == 0 || b[0].atom < a[0].atom:
			all, b = append(all, b[0]), b[1:]
		default:
			sum := new(big.Rat).Add(big.NewRat(a[0].num, a[0].den), big.NewRat(b[0].num, b[0].den))
			atom := a[0].atom
			a, b = a[1:], b[1:]
			if prime, ok := strings.CutPrefix(atom, "#"); ok && sum.Cmp(big.NewRat(1, 1)) >= 0 {
				n, good := new(big.Rat).SetString(prime)
				if !good {
					return nil, nil, errUnsupported
				}
				factor.Mul(factor, n)
				sum.Sub(sum, big.NewRat(1, 1))
			}
			if !sum.Num().IsInt64() || !sum.Denom().IsInt64() || sum.Num().Int64() > maxExponent*maxExponent || sum.Denom().Int64() > maxExponent {
				return nil, nil, errTooBig
			}
			if sum.Sign() != 0 {
				all = append(all, power{atom, sum.Num().Int64(), sum.Denom().Int64()})
			}
		}
	}
	return all, factor, nil
}

func (p poly) equal(q poly) bool {
	if len(p) != len(q) {
		return false
	}
	for key, t := range p {
		if other, ok := q[key]; !ok || t.coef.Cmp(other.coef) != 0 {
			return false
		}
	}
	return true
}

// ratio is the constant c with p = c·q, if there is one.
func (p poly) ratio(q poly) (*big.Rat, bool) {
	if len(p) != len(q) || len(p) == 0 {
		return nil, false
	}
	var c *big.Rat
	for key, t := range p {
		other, ok := q[key]
		if !ok {
			return nil, false
		}
		quotient := new(big.Rat).Quo(t.coef, other.coef)
		if c != nil && c.Cmp(quotient) != 0 {
			return nil, false
		}
		c = quotient
	}
	return c, true
}

// text is the polynomial in a fixed form, by which opaque terms are told apart.
func (p poly) text() string {
	keys := make([]string, 0, len(p))
	for key := range p {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var b strings.Builder
	for _, key := range keys {
		b.WriteString(p[key].coef.RatString())
		b.WriteByte('*')
		b.WriteString(key)
		b.WriteByte('+')
	}
	return b.String()
}
