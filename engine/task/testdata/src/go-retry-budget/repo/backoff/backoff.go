// Package backoff says how long to wait between attempts.
package backoff

import (
	"errors"
	"time"
)

// Policy of growing delays: Base, 2·Base, 4·Base, … and never more than Max.
type Policy struct {
	Base time.Duration
	Max  time.Duration
}

// Check says what is wrong with the policy.
func (p Policy) Check() error {
	switch {
	case p.Base <= 0:
		return errors.New("backoff: base must be positive")
	case p.Max < p.Base:
		return errors.New("backoff: max must not be less than base")
	}
	return nil
}

// Delay before the given retry. The first retry is number 1.
func (p Policy) Delay(retry int) time.Duration {
	d := p.Base << retry
	if d > p.Max {
		return p.Max
	}
	return d
}

// Total is how long the given number of retries waits altogether.
func (p Policy) Total(retries int) time.Duration {
	var sum time.Duration
	for i := 0; i < retries; i++ {
		sum += p.Delay(i)
	}
	return sum
}
