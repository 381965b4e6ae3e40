// Package names decides what files in a bundle may be called.
package names

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// ErrBad is wrapped by every refusal.
var ErrBad = errors.New("bad name")

// Clean brings a name into its canonical form: parts joined by single slashes,
// no "." or ".." in it. A backslash separates parts as well, because bundles
// are made on Windows too.
func Clean(name string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("%w: empty", ErrBad)
	}
	if strings.HasPrefix(name, "/") {
		return "", fmt.Errorf("%w: %q is absolute", ErrBad, name)
	}
	if strings.HasPrefix(name, "..") {
		return "", fmt.Errorf("%w: %q leaves the tree", ErrBad, name)
	}
	name = strings.ReplaceAll(name, `\`, "/")
	return path.Clean(name), nil
}

// Within reports whether the name is the folder or is inside it. Both are
// canonical; the folder "" holds everything.
func Within(name, folder string) bool {
	return strings.HasPrefix(name, folder)
}
