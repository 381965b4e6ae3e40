//go:build !linux

package sandbox

import (
	"context"
	"errors"
)

// Usage cannot walk a hostile tree safely here.
func Usage(context.Context, string, int64) (int64, error) {
	return 0, errors.ErrUnsupported
}

// Nameless is known on Linux only.
func Nameless(int) (int64, error) { return 0, errors.ErrUnsupported }
