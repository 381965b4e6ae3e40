package answer

import (
	"math"
	"math/big"
	"strconv"
)

// value is a quotient; den is never the zero polynomial.
type value struct{ num, den poly }

func number(r *big.Rat) value { return value{constant(r), whole(1)} }
func symbol(name string) value {
	return value{atomPoly(name), whole(1)}
}

// rational is the exact number a value is, if it is one.
func (v value) rational() (*big.Rat, bool) {
	n, ok := v.num.rational()
	d, good := v.den.rational()
	if !ok || !good || d.Sign() == 0 {
		return nil, false
	}
	return new(big.Rat).Quo(n, d), true
}

func (m *meter) addValues(a, b value, sign int64) (value, error) {
	if a.den.equal(b.den) {
		num, err := m.add(a.num, b.num, sign)
		return value{num, a.den}, err
	}
	left, err := m.mul(a.num, b.den)
	if err != nil {
		return value{}, err
	}
	right, err := m.mul(b.num, a.den)
	if err != nil {
		return value{}, err
	}
	num, err := m.add(left, right, sign)
	if err != nil {
		return value{}, err
	}
	den, err := m.mul(a.den, b.den)
	return simple(value{num, den}), err
}

func (m *meter) mulValues(a, b value) (value, error) {
	num, err := m.mul(a.num, b.num)
	if err != nil {
		return value{}, err
	}
	den, err := m.mul(a.den, b.den)
	return simple(value{num, den}), err
}

func (m *meter) divValues(a, b value) (value, error) {
	if len(b.num) == 0 {
		return value{}, errZero
	}
	return m.mulValues(a, value{b.den, b.num})
}

// simple divides by a denominator that is a number, so that sums and the texts
// of opaque terms stay small and alike.
func simple(v value) value {
	d, ok := v.den.rational()
	if !ok || d.Sign() == 0 || d.Cmp(big.NewRat(1, 1)) == 0 {
		return v
	}
	num := make(poly, len(v.num))
	for key, t := range v.num {
		num[key] = term{new(big.Rat).Quo(t.coef, d), t.powers}
	}
	return value{num, whole(1)}
}

// equalValues compares crosswise: a/b = c/d when ad = bc.
func (m *meter) equalValues(a, b value) (bool, error) {
	left, err := m.mul(a.num, b.den)
	if err != nil {
		return false, err
	}
	right, err := m.mul(b.num, a.den)
	return err == nil && left.equal(right), err
}

func (v value) text() string {
	if d, ok := v.den.rational(); ok && d.Cmp(big.NewRat(1, 1)) == 0 {
		return v.num.text()
	}
	return v.num.text() + "/" + v.den.text()
}

// opaque is a term that is equal to another of the same name and arguments only.
func opaque(name string, args ...value) (value, error) {
	for _, a := range args {
		name += "(" + a.text() + ")"
	}
	if len(name) > 2000 {
		return value{}, errTooBig
	}
	return symbol("~" + name), nil
}

// powValues raises to any power: whole ones are multiplied out, fractional ones
// of positive numbers become roots of primes, all others are opaque.
func (m *meter) powValues(base, exponent value) (value, error) {
	e, ok := exponent.rational()
	if !ok {
		return opaque("pow", base, exponent)
	}
	if e.IsInt() {
		return m.powWhole(base, e.Num())
	}
	if b, ok := base.rational(); ok && b.Sign() > 0 {
		return m.powFraction(b, e)
	}
	return opaque("pow", base, exponent)
}

func (m *meter) powWhole(base value, exponent *big.Int) (value, error) {
	b, isNumber := base.rational()
	if !exponent.IsInt64() || abs(exponent.Int64()) > maxExponent && !(isNumber && isUnit(b)) {
		return value{}, errTooBig
	}
	if isNumber && isUnit(b) {
		if b.Sign() < 0 && exponent.Bit(0) == 1 {
			return number(big.NewRat(-1, 1)), nil
		}
		return number(big.NewRat(1, 1)), nil
	}
	n := exponent.Int64()
	if n <= 0 && len(base.num) == 0 {
		return value{}, errZero // 0^0 as well
	}
	if isNumber && (abs(n)*int64(b.Num().BitLen()) > maxBits || abs(n)*int64(b.Denom().BitLen()) > maxBits) {
		return value{}, errTooBig
	}
	if n < 0 {
		base, n = value{base.den, base.num}, -n
	}
	result := number(big.NewRat(1, 1))
	for ; n > 0; n >>= 1 {
		var err error
		if n&1 == 1 {
			if result, err = m.mulValues(result, base); err != nil {
				return value{}, err
			}
		}
		if n > 1 {
			if base, err = m.mulValues(base, base); err != nil {
				return value{}, err
			}
		}
	}
	return simple(result), nil
}

func isUnit(r *big.Rat) bool { return r.IsInt() && r.Num().CmpAbs(big.NewInt(1)) == 0 }

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// maxRoot bounds the numbers whose roots are taken: they are factored by trial.
const maxRoot = 1_000_000_000_000

// powFraction is a positive number to the power of a fraction.
func (m *meter) powFraction(b, e *big.Rat) (value, error) {
	if !e.Num().IsInt64() || abs(e.Num().Int64()) > maxExponent || !e.Denom().IsInt64() || e.Denom().Int64() > maxExponent {
		return value{}, errTooBig
	}
	result := number(big.NewRat(1, 1))
	for _, side := range []struct {
		n    *big.Int
		sign int64
	}{{b.Num(), 1}, {b.Denom(), -1}} {
		if side.n.CmpAbs(big.NewInt(maxRoot)) > 0 {
			return value{}, errTooBig
		}
		if err := m.spend(1 + int(math.Sqrt(float64(side.n.Int64()))/500)); err != nil {
			return value{}, err
		}
		for prime, count := range factor(side.n.Int64()) {
			exponent := new(big.Rat).Mul(e, big.NewRat(side.sign*count, 1))
			v, err := m.primePower(prime, exponent)
			if err != nil {
				return value{}, err
			}
			if result, err = m.mulValues(result, v); err != nil {
				return value{}, err
			}
		}
	}
	return result, nil
}

// primePower splits an exponent into its whole part and what remains.
func (m *meter) primePower(prime int64, e *big.Rat) (value, error) {
	floor := new(big.Int).Div(e.Num(), e.Denom()) // Euclidean: rounds down
	v, err := m.powWhole(number(big.NewRat(prime, 1)), floor)
	if err != nil {
		return value{}, err
	}
	rest := new(big.Rat).Sub(e, new(big.Rat).SetInt(floor))
	if rest.Sign() == 0 {
		return v, nil
	}
	p := []power{{"#" + strconv.FormatInt(prime, 10), rest.Num().Int64(), rest.Denom().Int64()}}
	return m.mulValues(v, value{poly{keyOf(p): {big.NewRat(1, 1), p}}, whole(1)})
}

// factor by trial; n is at most maxRoot.
func factor(n int64) map[int64]int64 {
	primes := map[int64]int64{}
	for p := int64(2); p*p <= n; p++ {
		for n%p == 0 {
			primes[p]++
			n /= p
		}
	}
	if n > 1 {
		primes[n]++
	}
	return primes
}

// root of a value. An odd root of a negative number is the negative root; an
// even one is i times the root.
func (m *meter) root(v value, degree int64) (value, error) {
	r, ok := v.rational()
	if degree < 2 || degree > maxExponent {
		return value{}, errUnsupported
	}
	e := big.NewRat(1, degree)
	switch {
	case !ok:
		return opaque("pow", v, number(e))
	case r.Sign() == 0:
		return v, nil
	case r.Sign() > 0:
		return m.powFraction(r, e)
	case degree%2 == 0 && degree != 2:
		return value{}, errUnsupported
	}
	positive, err := m.powFraction(new(big.Rat).Neg(r), e)
	if err != nil {
		return value{}, err
	}
	factor := number(big.NewRat(-1, 1))
	if degree == 2 {
		factor = symbol("i")
	}
	return m.mulValues(positive, factor)
}
