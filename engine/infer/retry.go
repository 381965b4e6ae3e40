package infer

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Waits before the next attempt: doubling from the first to the longest, each
// shortened at random by up to a half so that clients do not come back at once.
const (
	firstWait   = 500 * time.Millisecond
	longestWait = 30 * time.Second
)

// retry calls try until it succeeds, fails for good, or attempts or time are
// used up. A failed attempt gave no reply: whatever it had sampled is dropped
// whole, so a reply is always one sample. The last attempt's error is returned.
func (c *Client) retry(ctx context.Context, try func(n int) error) error {
	for n := 0; ; n++ {
		err := try(n)
		c.countError(err)
		if err == nil || !retriable(err) {
			return err
		}
		if n >= c.opt.Retries {
			if n > 0 {
				var e *Error
				if errors.As(err, &e) {
					e.Message += fmt.Sprintf(" (after %d attempts)", n+1)
				}
			}
			return err
		}
		timer := time.NewTimer(c.pause(n, err))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			var limit LimitReached
			if errors.As(context.Cause(ctx), &limit) {
				return err // what was wrong says more than that time ran out
			}
			return c.failed(ctx, err)
		}
	}
}

// countError counts an attempt that failed by the endpoint's fault or load: not one
// that the caller ended, nor a prompt that is too long.
func (c *Client) countError(err error) {
	var e *Error
	if errors.As(err, &e) && e.Kind != Overflow {
		c.errors.Add(1)
	}
}

// Errors is how many attempts have failed so far, also those that were tried again.
func (c *Client) Errors() int64 { return c.errors.Load() }

func retriable(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Kind == Unavailable || e.Kind == Busy)
}

// pause before attempt n+1, or what the server asked for when that is longer.
func (c *Client) pause(n int, err error) time.Duration {
	wait := longestWait
	if n < 6 {
		wait = min(longestWait, firstWait<<n)
	}
	wait -= time.Duration(c.opt.Rand() * float64(wait) / 2)
	var asked waitFor
	if errors.As(err, &asked) {
		wait = max(wait, time.Duration(asked))
	}
	return wait
}
