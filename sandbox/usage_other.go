//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"iter"
)

// Usage cannot walk a hostile tree safely here.
func Usage(context.Context, string, int64) (int64, error) {
	return 0, errors.ErrUnsupported
}

// Free is not known here.
func Free(string) (int64, error) { return 0, errors.ErrUnsupported }

// Nameless needs /proc.
func Nameless(iter.Seq[int], string) (int64, error) { return 0, errors.ErrUnsupported }

// Pids needs /proc.
func Pids() ([]int, error) { return nil, errors.ErrUnsupported }
