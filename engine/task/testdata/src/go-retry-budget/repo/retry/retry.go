// Package retry calls an operation again when it fails.
package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.invalid/again/backoff"
	"example.invalid/again/budget"
)

// Options of a call. Budget may be nil: then only Attempts limits.
type Options struct {
	Attempts int // at most, the first included
	Backoff  backoff.Policy
	Budget   *budget.Budget
	// Sleep waits for the delay or the end of the context; nil is real time.
	Sleep func(context.Context, time.Duration) error
}

// Permanent marks an error that is not worth another attempt.
func Permanent(err error) error { return &permanent{err} }

type permanent struct{ err error }

func (p *permanent) Error() string { return p.err.Error() }
func (p *permanent) Unwrap() error { return p.err }

// Stats of a call.
type Stats struct {
	Attempts int
	Waited   time.Duration
}

// Do runs the operation until it succeeds, fails for good, or may not be tried again.
func Do(ctx context.Context, o Options, operation func(context.Context) error) (Stats, error) {
	var stats Stats
	if err := o.Backoff.Check(); err != nil {
		return stats, err
	}
	sleep := o.Sleep
	if sleep == nil {
		sleep = wait
	}
	for {
		if o.Budget != nil && !o.Budget.Take() {
			return stats, errors.New("retry: budget exhausted")
		}
		stats.Attempts++
		err := operation(ctx)
		if err == nil {
			if o.Budget != nil {
				o.Budget.Success()
			}
			return stats, nil
		}
		var final *permanent
		if errors.As(err, &final) || stats.Attempts > o.Attempts {
			return stats, fmt.Errorf("retry: attempt %d: %w", stats.Attempts, err)
		}
		delay := o.Backoff.Delay(stats.Attempts)
		if err := sleep(ctx, delay); err != nil {
			return stats, err
		}
		stats.Waited += delay
	}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
