package retry

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.invalid/again/backoff"
)

func options() Options {
	return Options{
		Attempts: 5,
		Backoff:  backoff.Policy{Base: time.Second, Max: time.Minute},
		Sleep:    func(context.Context, time.Duration) error { return nil },
	}
}

func TestFirstAttemptSucceeds(t *testing.T) {
	stats, err := Do(context.Background(), options(), func(context.Context) error { return nil })
	if err != nil || stats.Attempts != 1 || stats.Waited != 0 {
		t.Errorf("%+v, %v", stats, err)
	}
}

func TestPermanentErrorIsNotRetried(t *testing.T) {
	bad := errors.New("no such user")
	stats, err := Do(context.Background(), options(), func(context.Context) error { return Permanent(bad) })
	if !errors.Is(err, bad) || stats.Attempts != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
}

func TestSucceedsLater(t *testing.T) {
	calls := 0
	stats, err := Do(context.Background(), options(), func(context.Context) error {
		if calls++; calls < 3 {
			return errors.New("busy")
		}
		return nil
	})
	if err != nil || stats.Attempts != 3 {
		t.Errorf("%+v, %v", stats, err)
	}
}
